// Bytes up to the first 0xFF are a template, the rest is a message: compiled or refused, rendered or refused, and what is
// rendered has sound ranges.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "rill/chat_template.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rill;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const std::size_t cut = std::min(bytes.find('\xFF'), bytes.size());
  const ChatTemplateLimits limits{.steps = 20000, .output_bytes = 1 << 16, .memory_bytes = 1 << 22};
  const auto compiled = ChatTemplate::compile(bytes.substr(0, cut), limits);
  if (!compiled) return 0;

  const std::string content = cut < bytes.size() ? bytes.substr(cut + 1) : "Hello <|im_end|>";
  const Message messages[] = {{.role = "system", .content = "Be brief."}, {.role = "user", .content = content},
                              {.role = "assistant", .content = "", .tool_calls = {{"id", "call", "{\"a\": [1, \"b\", null]}"}}}};
  const auto prompt = compiled->render(messages, {.bos_token = "<s>", .eos_token = "</s>"});
  if (!prompt) return prompt.error().code == ErrorCode::internal ? std::abort(), 0 : 0;
  std::size_t end = 0;
  for (const ByteRange& range : prompt->untrusted) {
    if (range.begin < end || range.end <= range.begin || range.end > prompt->text.size()) std::abort();
    end = range.end;
  }
  return 0;
}
