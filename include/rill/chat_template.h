// Chat templates: a conversation rendered by a model's own Jinja template, and which bytes of the result are whose.
#pragma once

#include <cstddef>
#include <ctime>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rill/byte_range.h"
#include "rill/export.h"
#include "rill/json.h"
#include "rill/message.h"
#include "rill/result.h"
#include "rill/token.h"
#include "rill/tokenizer.h"

namespace rill {

namespace chat {
struct Program;
}

// A template is code of unknown origin. Each limit, when reached, is a limit_exceeded error that names it.
struct ChatTemplateLimits {
  std::size_t source_bytes = 1 << 20;         // length of the template
  std::size_t nesting_depth = 100;            // nested blocks and expressions in the source; at most 250
  std::size_t recursion_depth = 250;          // nested evaluation, through macros too; at most 1000
  std::size_t steps = 4'000'000;              // evaluated nodes and visited elements, a render
  std::size_t range_items = 100'000;          // length of one range()
  std::size_t output_bytes = 64 << 20;        // length of the rendered text
  std::size_t memory_bytes = 512 << 20;       // bytes of all strings and lists made, a render
};

struct RenderOptions {
  bool add_generation_prompt = true;
  std::string bos_token = "";  // empty: not defined in the template
  std::string eos_token = "";
  JsonArray tools = {};        // JSON schemas of functions; empty: `tools` is none
  JsonObject variables = {};   // further variables, e.g. enable_thinking; they may replace any of the above
  // Local time for strftime_now(). Without a clock strftime_now is not defined, which templates can test.
  std::function<std::tm()> clock = nullptr;
  // Accepted besides system, user, assistant, tool and developer. A message with another role is an invalid_argument
  // error.
  std::vector<std::string> extra_roles = {};
  bool any_role = false;  // accept every role; one that is not listed is untrusted text like the content
};

struct RenderedPrompt {
  std::string text;
  // The bytes that derive from message fields, tools or variables: ascending, disjoint, not adjacent. Only bytes
  // outside may form control tokens. A listed role counts as the template's own, since some templates build their
  // markers from it.
  std::vector<ByteRange> untrusted;
};

// A compiled template, rendered as jinja2 does under Hugging Face's conventions (trim_blocks, lstrip_blocks, loop
// controls, immutable sandbox, tojson without escaping, `tools` and `documents` none by default). It has no access to
// the host. Immutable and thread-safe; copies share one program.
class RILL_EXPORT ChatTemplate {
 public:
  // Errors: malformed (syntax, with line and column), unsupported (a construct that rill lacks, named with its line),
  // limit_exceeded, invalid_argument (limits out of range).
  static Result<ChatTemplate> compile(std::string source, const ChatTemplateLimits& limits = {});

  // Errors: template_refused (raise_exception; the message is the template's own), invalid_argument (role, arguments
  // that are not JSON), malformed (an operation that fails, with its line), unsupported, limit_exceeded.
  Result<RenderedPrompt> render(std::span<const Message> messages, const RenderOptions& options = {}) const;

  const std::string& source() const noexcept;

 private:
  explicit ChatTemplate(std::shared_ptr<const chat::Program> program) : program_(std::move(program)) {}
  std::shared_ptr<const chat::Program> program_;
};

// Tokens of a rendered prompt: its control tokens come from trusted bytes alone, and it begins with exactly one BOS if
// the model wants one (Tokenizer::adds_bos), be it the template's or, where that has none, added here. Nothing else is
// added. Errors: invalid_argument for two BOS at the start, and what Tokenizer::encode_rendered reports. Thread-safe.
RILL_EXPORT Result<std::vector<Token>> encode_chat(const Tokenizer& tokenizer, const RenderedPrompt& prompt,
                                                   Unencodable unencodable = Unencodable::error);

}  // namespace rill
