#include "schema/json_reader.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/utf8.h"
#include "schema/decimal.h"

namespace rill::schema {

Error JsonReader::expected(std::string_view what) {
  cut_off_ = done();
  if (cut_off_)
    return make_error(ErrorCode::malformed, "JSON ends after {} bytes, where {} is expected", position_, what);
  return make_error(ErrorCode::malformed, "JSON is malformed at byte {}: {} is expected", position_, what);
}

bool JsonReader::take(char c) {
  if (done() || text_[position_] != c) return false;
  ++position_;
  return true;
}

void JsonReader::skip_space() {
  while (peek() == ' ' || peek() == '\n' || peek() == '\r' || peek() == '\t') ++position_;
}

Result<void> JsonReader::read() {
  skip_space();
  RILL_TRY(read_value());
  while (!levels_.empty()) {
    const Level level = levels_.back();
    const bool first = children_.size() == level.first;
    skip_space();
    if (take(nodes_.nodes[level.node].kind == JsonKind::object ? '}' : ']')) {
      close();
    } else {
      RILL_TRY(read_member(level, first));
    }
  }
  skip_space();
  if (!done()) return expected("the end");
  return {};
}

// Up to its value, which may be the begin of a container.
Result<void> JsonReader::read_member(const Level& level, bool first) {
  const bool object = nodes_.nodes[level.node].kind == JsonKind::object;
  if (!first && !take(',')) return expected(object ? "\",\" or \"}\"" : "\",\" or \"]\"");
  skip_space();
  if (object) {
    if (peek() != '"') return expected(first ? "a name or \"}\"" : "a name");
    RILL_ASSIGN(name_, add(JsonKind::string, position_));
    RILL_TRY(read_string());
    end(name_);
    skip_space();
    if (!take(':')) return expected("\":\"");
    skip_space();
  }
  return read_value();
}

Result<std::uint32_t> JsonReader::add(JsonKind kind, std::size_t begin) {
  if (nodes_.nodes.size() >= limits_.max_values) {
    return make_error(ErrorCode::limit_exceeded, "JSON has more than max_values = {} values and names",
                      limits_.max_values);
  }
  JsonNodes::Node& node = nodes_.nodes.emplace_back();
  node.kind = kind;
  node.text = static_cast<std::uint32_t>(nodes_.text.size());
  node.begin = static_cast<std::uint32_t>(begin);
  return static_cast<std::uint32_t>(nodes_.nodes.size() - 1);
}

void JsonReader::end(std::uint32_t number) {
  JsonNodes::Node& node = nodes_.nodes[number];
  node.end = static_cast<std::uint32_t>(position_);
  node.text_size = static_cast<std::uint32_t>(nodes_.text.size()) - node.text;
}

Result<void> JsonReader::read_value() {
  const char c = peek();
  const JsonKind kind = c == '{'               ? JsonKind::object
                        : c == '['             ? JsonKind::array
                        : c == '"'             ? JsonKind::string
                        : c == 't' || c == 'f' ? JsonKind::boolean
                        : c == 'n'             ? JsonKind::null
                                               : JsonKind::number;
  if (kind == JsonKind::number && c != '-' && !at_digit()) return expected("a value");
  const bool container = kind == JsonKind::object || kind == JsonKind::array;
  if (container && levels_.size() >= limits_.max_depth) {
    return make_error(ErrorCode::limit_exceeded, "JSON is nested deeper than max_depth = {}", limits_.max_depth);
  }
  RILL_ASSIGN(const std::uint32_t node, add(kind, position_));
  if (!levels_.empty()) {
    children_.push_back(node);
    if (nodes_.nodes[levels_.back().node].kind == JsonKind::object) nodes_.nodes[node].name = name_;
  }
  switch (kind) {
    case JsonKind::null: RILL_TRY(read_literal("null")); break;
    case JsonKind::boolean: RILL_TRY(read_literal(c == 't' ? "true" : "false")); break;
    case JsonKind::number: RILL_TRY(read_number()); break;
    case JsonKind::string: RILL_TRY(read_string()); break;
    default: ++position_, levels_.push_back({node, children_.size()});
  }
  nodes_.nodes[node].truth = c == 't';
  end(node);
  return {};
}

Result<void> JsonReader::read_literal(std::string_view literal) {
  for (const char c : literal) {
    if (!take(c)) return expected(literal);
  }
  return {};
}

Result<void> JsonReader::read_digits() {
  if (!at_digit()) return expected("a digit");
  while (at_digit()) ++position_;
  return {};
}

Result<void> JsonReader::read_number() {
  const std::size_t begin = position_;
  take('-');
  if (!take('0')) RILL_TRY(read_digits());
  if (take('.')) RILL_TRY(read_digits());
  if (take('e') || take('E')) {
    if (!take('+')) take('-');
    RILL_TRY(read_digits());
    if (!Decimal::parse(text_.substr(begin, position_ - begin))) {
      return make_error(ErrorCode::limit_exceeded, "JSON has a number whose exponent is beyond max_exponent = {}", kMaxExponent);
    }
  }
  nodes_.text += text_.substr(begin, position_ - begin);
  return {};
}

Result<void> JsonReader::read_string() {
  ++position_;
  while (!take('"')) {
    const std::size_t begin = position_;
    while (!done() && static_cast<unsigned char>(peek()) >= 0x20 && static_cast<unsigned char>(peek()) < 0x80 &&
           peek() != '"' && peek() != '\\') {
      ++position_;
    }
    nodes_.text += text_.substr(begin, position_ - begin);
    if (done()) return expected("the end of a string");
    if (peek() == '"') continue;
    if (peek() == '\\') {
      RILL_TRY(read_escape());
      continue;
    }
    if (static_cast<unsigned char>(peek()) < 0x20) return expected("a character of a string, not a control character,");
    const utf8::Character character = utf8::decode(text_, position_);
    if (character.status == utf8::Status::incomplete) position_ = text_.size();
    if (character.status != utf8::Status::valid) return expected("a character in UTF-8");
    nodes_.text += text_.substr(position_, character.length);
    position_ += character.length;
  }
  return {};
}

// Four hexadecimal digits, as soon as it is sure that they are between `low` and `high`.
Result<char32_t> JsonReader::read_hex(std::uint32_t low, std::uint32_t high) {
  std::uint32_t value = 0;
  for (std::uint32_t after = 4; after-- > 0; ++position_) {
    const int digit = ascii::hex_digit(peek());
    if (digit < 0) return expected("a hexadecimal digit");
    value = value << 4 | static_cast<std::uint32_t>(digit);
    if (value < low >> 4 * after || value > high >> 4 * after)
      return expected("the other half of a pair of surrogates");
  }
  return char32_t{value};
}

Result<void> JsonReader::read_escape() {
  constexpr std::string_view kEscaped = "\"\\/bfnrt", kMeant = "\"\\/\b\f\n\r\t";
  ++position_;
  if (const std::size_t known = done() ? std::string_view::npos : kEscaped.find(peek());
      known != std::string_view::npos) {
    nodes_.text += kMeant[known];
    ++position_;
    return {};
  }
  if (!take('u')) return expected("an escape");
  const bool low_half =
      (peek() == 'd' || peek() == 'D') && position_ + 1 < text_.size() && (text_[position_ + 1] | 32) >= 'c';
  if (low_half && (text_[position_ + 1] | 32) <= 'f') {
    ++position_;
    return expected("a surrogate that begins a pair");
  }
  RILL_ASSIGN(char32_t code, read_hex());
  if (code >= 0xD800 && code < 0xDC00) {
    if (!take('\\') || !take('u')) return expected("the other half of a pair of surrogates");
    RILL_ASSIGN(const char32_t low, read_hex(0xDC00, 0xDFFF));
    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
  }
  utf8::append(nodes_.text, code);
  return {};
}

void JsonReader::close() {
  const auto [number, first] = levels_.back();
  levels_.pop_back();
  JsonNodes::Node& node = nodes_.nodes[number];
  node.end = static_cast<std::uint32_t>(position_);
  if (node.kind == JsonKind::object) {
    node.by_name = static_cast<std::uint32_t>(nodes_.by_name.size());
    order_by_name(first);
  }
  node.first = static_cast<std::uint32_t>(nodes_.children.size());
  node.count = static_cast<std::uint32_t>(children_.size() - first);
  nodes_.children.insert(nodes_.children.end(), children_.begin() + static_cast<std::ptrdiff_t>(first),
                         children_.end());
  children_.resize(first);
}

// The last value of a name takes the place of the first.
void JsonReader::order_by_name(std::size_t first) {
  const auto name = [&](std::size_t i) { return JsonView(nodes_, children_[i]).name(); };
  std::vector<std::size_t> order(children_.size() - first);
  std::iota(order.begin(), order.end(), first);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return name(a) < name(b); });
  constexpr auto kGone = static_cast<std::uint32_t>(-1);
  std::size_t kept = first;
  for (const std::size_t i : order) {
    if (i != order[0] && name(i) == name(kept)) {
      children_[kept] = nodes_.by_name.back() = std::exchange(children_[i], kGone);
    } else {
      nodes_.by_name.push_back(children_[i]);
      kept = i;
    }
  }
  children_.erase(std::remove(children_.begin() + static_cast<std::ptrdiff_t>(first), children_.end(), kGone),
                  children_.end());
}

}  // namespace rill::schema
