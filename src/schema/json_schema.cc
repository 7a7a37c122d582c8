#include "rill/json_schema.h"

#include <utility>

#include "base/error.h"
#include "schema/compiled_schema.h"

namespace rill {
namespace {

std::string listed(const std::vector<schema::Remark>& remarks) {
  std::string list;
  for (const schema::Remark& remark : remarks) list += format("{} {}: {}", list.empty() ? "" : ";", remark.pointer, remark.reason);
  return list;
}

}  // namespace

const char* to_string(Validity validity) noexcept {
  switch (validity) {
    case Validity::valid: return "valid";
    case Validity::incomplete: return "incomplete";
    case Validity::invalid: return "invalid";
  }
  return "unknown";
}

JsonSchema::JsonSchema(std::shared_ptr<const schema::CompiledSchema> compiled) : compiled_(std::move(compiled)) {}

const std::vector<SchemaNote>& JsonSchema::notes() const noexcept { return compiled_->notes; }

Result<JsonSchema> JsonSchema::compile(std::string_view text, const JsonSchemaOptions& options) {
  if (options.limits.max_errors == 0) return Error{ErrorCode::invalid_argument, "max_errors = 0"};
  return guarded([&]() -> Result<JsonSchema> {
    RILL_ASSIGN(const auto document, schema::SchemaDocument::parse(text, {.documents = options.documents,
                                                                          .max_schemas = options.limits.max_subschemas,
                                                                          .stop = options.stop}));
    if (options.strict_unknown && !document->annotations().empty()) {
      return make_error(ErrorCode::unsupported, "schema: unknown keywords or formats:{}",
                        listed(document->annotations()));
    }
    auto compiled = std::make_shared<schema::CompiledSchema>();
    RILL_ASSIGN(compiled->validator, schema::Validator::create(document, options.stop));
    std::vector<schema::Remark> open = document->not_enforced();
    open.insert(open.end(), compiled->validator->not_enforced().begin(), compiled->validator->not_enforced().end());
    if (!open.empty() && !options.lenient) {
      return make_error(ErrorCode::unsupported, "schema: constraints that cannot be enforced:{}", listed(open));
    }
    for (const schema::Remark& r : open) compiled->notes.push_back({r.pointer, r.keyword, r.reason, false});
    for (const schema::Remark& r : document->annotations())
      compiled->notes.push_back({r.pointer, r.keyword, r.reason, true});
    RILL_ASSIGN(compiled->checks, schema::FieldChecks::create(options.checks, *document));
    compiled->limits = options.limits;
    return JsonSchema(std::move(compiled));
  });
}

Result<Validation> JsonSchema::validate(std::string_view json, const StopToken& stop) const {
  return guarded([&]() -> Result<Validation> {
    const JsonSchemaLimits& limits = compiled_->limits;
    bool cut_off = false;
    const auto document = schema::JsonDocument::parse(
        json, {.max_bytes = limits.max_bytes, .max_depth = limits.max_depth, .max_values = limits.max_values},
        &cut_off);
    if (!document) {
      if (document.error().code != ErrorCode::malformed) return document.error();
      return Validation{cut_off ? Validity::incomplete : Validity::invalid, {{"", "", document.error().message}}};
    }
    StepBudget budget("max_steps", limits.max_steps, stop);
    schema::ValidationRun run(*compiled_->validator, budget);
    Validation result;
    if (run.holds(schema::SchemaId{}, document->root())) {
      result.errors = compiled_->checks.run(json, document->root(), run, limits.max_errors, budget);
      if (!result.errors.empty()) result.status = Validity::invalid;
      return result;
    }
    result.status = Validity::invalid;
    result.errors = run.explain(schema::SchemaId{}, document->root(), limits.max_errors);
    return result;
  });
}

}  // namespace rill
