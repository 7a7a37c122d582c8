#include "grammar/text_room.h"

#include <algorithm>
#include <array>
#include <vector>

namespace rill::grammar {
namespace {

constexpr std::size_t kMostInside = 64;  // expressions inside a character: more are not those of plain text
constexpr std::uint32_t kAnyNumber = kUnbounded;

ByteSet first_bytes_of(TextKind kind) {
  ByteSet bytes;
  for (unsigned byte = 0; byte < 256; ++byte) {
    if (next_of_text(kind, kBoundary, static_cast<std::uint8_t>(byte)) != 0) bytes.add(byte);
  }
  return bytes;
}

const ByteSet& first_bytes_of_all(TextKind kind) {
  static const auto kBytes = [] {
    std::array<ByteSet, kTextKinds.size()> bytes;
    std::ranges::transform(kTextKinds, bytes.begin(), first_bytes_of);
    return bytes;
  }();
  return kBytes[index(kind)];
}

bool begins_with_all(const Expressions& e, Expr expr, TextKind kind) {
  return (first_bytes_of_all(kind) & ~e.first_bytes(expr)).empty();
}

bool begins_with_none(const Expressions& e, Expr expr, TextKind kind) {
  return (first_bytes_of_all(kind) & e.first_bytes(expr)).empty();
}

}  // namespace

TextRoom TextRooms::of(Expr expr) {
  TextRoom room;
  steps_ = 0;
  const std::uint8_t letters = length(expr, TextKind::letters);
  if (letters == 0) return room;  // they are of every kind
  const std::uint8_t any = length(expr, TextKind::string_body);
  for (const TextKind kind : kTextKinds) {
    const bool known = any == kAnyLength || kind == TextKind::string_body;
    room.set(kind, known ? any : kind == TextKind::letters ? letters : length(expr, kind));
  }
  return room;
}

std::uint8_t TextRooms::length(Expr expr, TextKind kind) {
  const auto fits = [&](std::uint32_t most) { return core(expr, kind, most, 0).has_value(); };
  if (fits(kAnyNumber)) return kAnyLength;
  if (!fits(1)) return 0;
  std::uint32_t length = 1, too_long = kMostCounted + 1u;  // each length up to the largest that fits does
  while (too_long - length > 1) {
    const std::uint32_t middle = (length + too_long) / 2;
    (fits(middle) ? length : too_long) = middle;
  }
  return static_cast<std::uint8_t>(length);
}

// What certainly still matches behind every text of up to `most` characters: a subset of its derivative.
std::optional<Expr> TextRooms::core(Expr expr, TextKind kind, std::uint32_t most, std::size_t depth) {
  if (depth > kMaxDepth || ++steps_ > kMaxSteps || !begins_with_all(e_, expr, kind)) return std::nullopt;
  switch (e_.node(expr).kind) {
    case Kind::concat: {
      const Expr rest = e_.second(expr);
      const auto head = core(e_.first(expr), kind, most, depth + 1);
      return head ? std::optional(e_.concat(*head, rest)) : std::nullopt;
    }
    case Kind::either:
      for (std::size_t i = 0; i < e_.node(expr).second; ++i) {
        if (auto one = core(e_.operands(e_.node(expr))[i], kind, most, depth + 1)) return one;
      }
      return std::nullopt;
    case Kind::both: return core_of_all(expr, kind, most, depth);
    case Kind::repeat: return core_of_repeat(expr, kind, most);
    case Kind::complement: return loops(expr, kind) ? std::optional(expr) : std::nullopt;
    default: return std::nullopt;
  }
}

std::optional<Expr> TextRooms::core_of_all(Expr expr, TextKind kind, std::uint32_t most, std::size_t depth) {
  std::vector<Expr> parts;
  for (std::size_t i = 0; i < e_.node(expr).second; ++i) {
    const auto part = core(e_.operands(e_.node(expr))[i], kind, most, depth + 1);
    if (!part) return std::nullopt;
    parts.push_back(*part);
  }
  const Expr all = e_.both(parts);
  return has_match_(all) ? std::optional(all) : std::nullopt;
}

std::optional<Expr> TextRooms::core_of_repeat(Expr expr, TextKind kind, std::uint32_t most) {
  const Expressions::Node n = e_.node(expr);
  const bool unlimited = n.third == kUnbounded;
  if (!unlimited && (most == kAnyNumber || n.third < most || n.third - most < n.second)) return std::nullopt;
  if (!loops(e_.repeat(e_.first(expr), 0), kind)) return std::nullopt;
  return e_.repeat(e_.first(expr), n.second, unlimited ? kUnbounded : n.third - most);
}

bool TextRooms::loops(Expr expr, TextKind kind) {
  while (e_.node(expr).kind == Kind::concat && begins_with_none(e_, e_.second(expr), kind)) expr = e_.first(expr);
  const std::uint64_t key = std::uint64_t{static_cast<std::uint32_t>(expr)} << 2 | index(kind);
  const auto known = loops_.find(key);
  if (known != loops_.end()) return known->second;
  return loops_[key] = find_loops(expr, kind);
}

bool TextRooms::counts(Expr expr) {
  constexpr TextKind kBody = TextKind::string_body;
  if (begins_with_none(e_, expr, kBody)) return true;
  if (e_.node(expr).kind != Kind::concat || e_.node(e_.first(expr)).kind != Kind::repeat) return loops(expr, kBody);
  return begins_with_none(e_, e_.second(expr), kBody) && loops(e_.repeat(e_.first(e_.first(expr)), 0), kBody);
}

bool TextRooms::find_loops(Expr expr, TextKind kind) {
  std::vector<std::pair<Expr, std::uint8_t>> inside{{expr, kBoundary}};  // a character
  for (std::size_t i = 0; i < inside.size(); ++i) {
    const auto [from, text] = inside[i];
    std::vector<std::pair<ByteSet, Expr>> known;
    for (unsigned value = 0; value < 256; ++value) {
      const std::uint8_t text_after = next_of_text(kind, text, static_cast<std::uint8_t>(value));
      if (text_after == 0) continue;
      auto found = std::find_if(known.begin(), known.end(), [&](const auto& k) { return k.first.contains(value); });
      if (found == known.end()) {
        ByteSet alike;
        const Expr to = e_.derivative(from, {Kind::bytes, value}, &alike);
        found = known.emplace(known.end(), alike, to);
      }
      const Expr to = found->second;
      if (to == Expr::nothing || (text_after == kBoundary && to != expr)) return false;
      const std::pair after{to, text_after};
      if (text_after == kBoundary || std::find(inside.begin(), inside.end(), after) != inside.end()) continue;
      if (inside.size() == kMostInside) return false;
      inside.push_back(after);
    }
  }
  return true;
}

}  // namespace rill::grammar
