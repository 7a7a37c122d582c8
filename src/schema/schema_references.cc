#include <algorithm>

#include "schema/metaschemas.h"
#include "schema/schema_parser.h"

namespace rill::schema {

Result<std::optional<SchemaParser::Target>> SchemaParser::find(const std::string& uri) {
  if (const auto anchor = anchors_.find(uri); anchor != anchors_.end()) return std::optional(anchor->second);
  const auto [document, fragment] = split_fragment(uri);
  auto resource = resources_.find(std::string(document));
  if (resource == resources_.end()) {
    if (!fetched_.emplace(document).second) return std::optional<Target>();
    const auto given = options_.documents.find(std::string(document));
    const auto text = given != options_.documents.end() ? std::optional(given->second) : metaschema(document);
    if (!text) return std::optional<Target>();
    RILL_TRY(add_document(*text, std::string(document)));
    return find(uri);
  }
  Target target = resource->second;
  const auto tokens = pointer_tokens(percent_decoded(fragment));
  if (!tokens) return std::optional<Target>();
  for (std::size_t i = 0; i < tokens->size(); ++i) {
    const std::string& token = (*tokens)[i];
    std::optional<JsonView> next = target.view.find(token);
    if (target.view.is(JsonKind::array)) {
      if (const auto place = array_index(token); place && *place < target.view.size()) next = target.view[*place];
    }
    if (!next) return std::optional<Target>();
    target.view = *next;
    target.pointer += '/' + pointer_token(token);
    const auto inner = target.view.find("$id");
    if (inner && inner->is(JsonKind::string) && i + 1 < tokens->size()) {
      target.base = std::string(split_fragment(resolve_uri(target.base, inner->text())).first);
    }
  }
  return std::optional(target);
}

Result<void> SchemaParser::resolve(const Reference& reference) {
  RILL_ASSIGN(const std::optional<Target> target, find(reference.uri));
  if (!target) {
    return make_error(ErrorCode::not_found, "schema: {} refers to {}, which is not there", reference.pointer,
                      reference.uri);
  }
  if (reference.dynamic) {
    const std::string_view anchor = split_fragment(reference.uri).second;
    const auto known = dynamic_anchors_.find(std::string(anchor));
    const std::size_t targets = anchor.empty()                    ? recursive_anchors_
                                : known == dynamic_anchors_.end() ? 0
                                                                  : known->second;
    if (targets > 1) {
      const std::string keyword(reference.pointer.substr(reference.pointer.rfind('/') + 1));
      result_.not_enforced_.push_back({reference.pointer, keyword, "several resources have the anchor that it names"});
      return {};
    }
  }
  RILL_ASSIGN(const SchemaId id, id_of({target->view, target->pointer, target->base, target->document}));
  Schema& from = schema(reference.from);
  if (from.reference) {
    from.all_of.push_back(id);
  } else {
    from.reference = id;
  }
  return read_pending();
}

// A schema that asks for itself of the same value would never be decided.
Result<void> SchemaParser::refuse_rings() {
  enum class Mark : std::uint8_t { unseen, open, done };
  std::vector<Mark> marks(result_.schemas_.size(), Mark::unseen);
  std::vector<SchemaId> path;
  for (std::size_t first = 0; first < marks.size(); ++first) {
    path.push_back(static_cast<SchemaId>(first));
    while (!path.empty()) {
      const SchemaId id = path.back();
      Mark& mark = marks[index(id)];
      if (mark != Mark::unseen) {
        mark = Mark::done;
        path.pop_back();
        continue;
      }
      mark = Mark::open;
      const Schema& s = schema(id);
      bool ring = false;
      const auto follow = [&](SchemaId next) {
        ring |= marks[index(next)] == Mark::open;
        if (marks[index(next)] == Mark::unseen) path.push_back(next);
      };
      for (const auto* list : {&s.all_of, &s.any_of, &s.one_of}) std::for_each(list->begin(), list->end(), follow);
      for (const auto* one : {&s.negated, &s.condition, &s.consequence, &s.alternative, &s.reference}) {
        if (*one) follow(**one);
      }
      for (const auto& [name, dependent] : s.dependent_schemas) follow(dependent);
      if (ring) {
        return make_error(ErrorCode::malformed, "schema: \"{}\" refers to itself without an end", s.pointer);
      }
    }
  }
  return {};
}

}  // namespace rill::schema
