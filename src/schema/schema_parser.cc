#include "schema/schema_parser.h"

#include <algorithm>

#include "base/hash.h"

namespace rill::schema {

bool one_edit_apart(std::string_view a, std::string_view b) {
  if (a.size() > b.size()) std::swap(a, b);
  if (b.size() - a.size() > 1 || a == b) return false;
  std::size_t i = 0;
  while (i < a.size() && a[i] == b[i]) ++i;
  if (a.size() < b.size()) return a.substr(i) == b.substr(i + 1);
  if (a.substr(i + 1) == b.substr(i + 1)) return true;
  return i + 1 < a.size() && a[i] == b[i + 1] && a[i + 1] == b[i] && a.substr(i + 2) == b.substr(i + 2);  // swapped
}

Result<SchemaId> SchemaParser::id_of(const Place& place) {
  const auto [known, is_new] = ids_.try_emplace({place.document, place.view.number()},
                                                static_cast<SchemaId>(result_.schemas_.size()));
  if (!is_new) return known->second;
  if (result_.schemas_.size() >= options_.max_schemas) {
    return make_error(ErrorCode::limit_exceeded, "schema: more than max_subschemas = {} subschemas",
                      options_.max_schemas);
  }
  result_.schemas_.push_back({.pointer = place.pointer});
  pending_.emplace_back(known->second, place);
  return known->second;
}

// Notes what the subschema can be referred to by; `place.base` becomes its own URI if it has one.
void SchemaParser::enter_resource(Place& place) {
  const auto text_of = [&](std::string_view keyword) -> std::optional<std::string> {
    const auto value = place.view.find(keyword);
    return value && value->is(JsonKind::string) ? std::optional(std::string(value->text())) : std::nullopt;
  };
  auto id = text_of("$id");
  if (!id) id = text_of("id");
  const bool shadowed = is_old_[place.document] && place.view.find("$ref");  // up to draft 7, $ref hides it
  if (id && !shadowed) {
    const auto [uri, fragment] = split_fragment(*id);
    const std::string whole = resolve_uri(place.base, *id);
    if (!uri.empty()) {
      place.base = std::string(split_fragment(whole).first);
      resources_.try_emplace(place.base, Target{place.document, place.view, place.pointer, place.base});
    }
    if (!fragment.empty()) anchors_.try_emplace(whole, Target{place.document, place.view, place.pointer, place.base});
  }
  for (const std::string_view keyword : {"$anchor", "$dynamicAnchor"}) {
    const auto name = text_of(keyword);
    if (!name) continue;
    anchors_.try_emplace(place.base + '#' + *name, Target{place.document, place.view, place.pointer, place.base});
    if (keyword == "$dynamicAnchor") ++dynamic_anchors_[*name];
  }
  if (const auto recursive = place.view.find("$recursiveAnchor"); recursive && recursive->truth()) ++recursive_anchors_;
}

Result<void> SchemaParser::read(SchemaId id, const Place& given) {
  Place place = given;
  if (place.view.is(JsonKind::boolean)) {
    schema(id).never = !place.view.truth();
    return {};
  }
  if (!place.view.is(JsonKind::object)) {
    return make_error(ErrorCode::malformed, "schema: \"{}\" is no schema: neither an object nor a boolean",
                      place.pointer);
  }
  enter_resource(place);
  exclusive_.clear();
  for (std::size_t i = 0; i < place.view.size(); ++i) {
    const JsonView member = place.view[i];
    const auto all = keywords();
    const auto keyword =
        std::find_if(all.begin(), all.end(), [&](const Keyword& k) { return k.name == member.name(); });
    if (keyword == all.end()) {
      note_unknown(member, place);
    } else if (keyword->read != nullptr) {
      RILL_TRY((this->*keyword->read)(member, place, id));
    }
  }
  for (const auto& apply : exclusive_) apply();
  return {};
}

void SchemaParser::note_unknown(JsonView member, const Place& place) {
  Remark remark{place.pointer + '/' + pointer_token(member.name()), std::string(member.name()),
                "no draft defines this keyword"};
  for (const Keyword& keyword : keywords()) {
    if (keyword.read != nullptr && one_edit_apart(keyword.name, member.name())) {
      remark.reason += format("; \"{}\" is one edit away", keyword.name);
      break;
    }
    const bool same =
        std::ranges::equal(keyword.name, member.name(), [](char a, char b) { return (a | 32) == (b | 32); });
    if (same) {
      remark.reason += format("; \"{}\" is spelled otherwise", keyword.name);
      break;
    }
  }
  result_.annotations_.push_back(std::move(remark));
}

Result<void> SchemaParser::read_pending() {
  while (!pending_.empty()) {
    if (options_.stop.stop_requested()) return Error{ErrorCode::cancelled, "the reading of a schema was cancelled"};
    const auto [id, place] = std::move(pending_.front());
    pending_.pop_front();
    RILL_TRY(read(id, place));
  }
  return {};
}

Result<void> SchemaParser::add_document(std::string_view text, std::string uri) {
  const Result<JsonDocument> parsed = JsonDocument::parse(text, {.max_depth = 256, .max_values = 1'000'000});
  if (!parsed) {
    const Error& error = parsed.error();
    return make_error(error.code, "schema{}{}: {}", uri.empty() ? "" : " ", uri, error.message);
  }
  const JsonDocument& document = *parsed;
  const auto number = static_cast<std::uint32_t>(result_.documents_.size());
  result_.digest_ = result_.digest_ * 31 + checksum(std::as_bytes(std::span(text)));
  result_.documents_.push_back(document);
  const auto draft = document.root().find("$schema");
  const std::string_view version = draft && draft->is(JsonKind::string) ? draft->text() : "";
  is_old_.push_back(draft ? version.find("/draft-0") != version.npos : document.root().find("definitions").has_value());
  const std::string pointer = uri.empty() ? "" : uri + '#';
  const Place place{document.root(), pointer, std::move(uri), number};
  resources_.try_emplace(place.base, Target{number, place.view, pointer, place.base});
  RILL_TRY(id_of(place));
  return read_pending();
}

Result<void> SchemaParser::parse(std::string_view text) {
  RILL_TRY(add_document(text, ""));
  for (std::size_t i = 0; i < references_.size(); ++i) {  // which may read further schemas with references
    const Reference reference = references_[i];
    RILL_TRY(resolve(reference));
  }
  return refuse_rings();
}

Result<std::shared_ptr<const SchemaDocument>> SchemaDocument::parse(std::string_view text,
                                                                    const ParseOptions& options) {
  return guarded([&]() -> Result<std::shared_ptr<const SchemaDocument>> {
    auto document = std::make_shared<SchemaDocument>();
    RILL_TRY(SchemaParser(*document, options).parse(text));
    return std::shared_ptr<const SchemaDocument>(std::move(document));
  });
}

}  // namespace rill::schema
