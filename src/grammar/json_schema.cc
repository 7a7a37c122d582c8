#include "grammar/json_schema.h"

#include <string>
#include <utility>

#include "base/error.h"
#include "grammar/schema_compiler.h"

namespace rill::grammar {

Result<std::vector<schema::Remark>> compile_schema(std::shared_ptr<const schema::Validator> validator,
                                           const JsonGrammarOptions& options, Rules& rules) {
  std::vector<schema::Remark> open = validator->document().not_enforced();
  open.insert(open.end(), validator->not_enforced().begin(), validator->not_enforced().end());
  if (!open.empty() && !options.lenient) {
    std::string list;
    for (const schema::Remark& remark : open) list += format("\n  {}: {}", remark.pointer, remark.reason);
    return make_error(ErrorCode::unsupported, "schema: constraints that cannot be enforced:{}", list);
  }
  SchemaCompiler(std::move(validator), options, rules).compile();
  return open;
}

}  // namespace rill::grammar
