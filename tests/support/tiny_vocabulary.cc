#include "support/tiny_vocabulary.h"

#include <set>
#include <span>
#include <string_view>

namespace rill::test {
namespace {

constexpr std::string_view kBlank = "\xe2\x96\x81";  // U+2581

constexpr std::string_view kChatMl =
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + "
    "'\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

// Pairs that English text is full of, in order of rank. `_` stands for the blank.
constexpr std::string_view kPairs[][2] = {
    {"_", "t"},  {"h", "e"},  {"_", "a"}, {"i", "n"},  {"r", "e"}, {"o", "n"},  {"_t", "he"}, {"e", "r"},   {"_", "s"},
    {"a", "t"},  {"_", "w"},  {"o", "r"}, {"e", "n"},  {"_", "c"}, {"i", "t"},  {"i", "s"},   {"a", "n"},   {"_", "i"},
    {"e", "s"},  {"_a", "n"}, {"l", "l"}, {"_", "o"},  {"o", "u"}, {"_", "b"},  {"in", "g"},  {"_an", "d"}, {"_o", "f"},
    {"_t", "o"}, {"e", "d"},  {"_", "p"}, {"_i", "s"}, {"_", "f"}, {"_w", "or"}};

std::string utf8(std::uint32_t code) {
  if (code < 0x80) return std::string(1, static_cast<char>(code));
  return {static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 0x3f))};
}

// GPT-2's printable stand-ins: bytes that print stand for themselves, the others for U+0100 and on, in order.
std::string byte_stand_in(std::uint32_t byte) {
  const auto prints = [](std::uint32_t b) { return (b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b <= 0xac) || b >= 0xae; };
  if (prints(byte)) return utf8(byte);
  std::uint32_t index = 0;
  for (std::uint32_t b = 0; b < byte; ++b) index += prints(b) ? 0 : 1;
  return utf8(0x100 + index);
}

class Builder {
 public:
  explicit Builder(TinyTokenizer kind) { vocabulary_.kind = kind; }

  void add(std::string token, std::int32_t type, float score) {
    known_.insert(token);
    vocabulary_.tokens.push_back(std::move(token));
    vocabulary_.types.push_back(type);
    vocabulary_.scores.push_back(score);
  }

  // Adds the token that `left` and `right` make, both with `_` for the blank, unless there is one.
  void merge(std::string_view left, std::string_view right) {
    const std::string blank = vocabulary_.kind == TinyTokenizer::bpe ? byte_stand_in(' ') : std::string(kBlank);
    const auto spelled = [&](std::string_view text) {
      return text.starts_with('_') ? blank + std::string(text.substr(1)) : std::string(text);
    };
    const std::string merged = spelled(left) + spelled(right);
    if (known_.contains(merged)) return;
    vocabulary_.merges.push_back(spelled(left) + " " + spelled(right));
    add(merged, 1, -static_cast<float>(vocabulary_.merges.size()));
  }

  // Merges until there are `size` tokens: the pairs above, then any two letters.
  TinyVocabulary fill(std::size_t size) {
    for (const auto& pair : kPairs) {
      if (vocabulary_.tokens.size() < size) merge(pair[0], pair[1]);
    }
    for (char left = 'a'; left <= 'z'; ++left) {
      for (char right = 'a'; right <= 'z' && vocabulary_.tokens.size() < size; ++right) {
        merge(std::string_view(&left, 1), std::string_view(&right, 1));
      }
    }
    return vocabulary_;
  }

 private:
  TinyVocabulary vocabulary_;
  std::set<std::string> known_;
};

}  // namespace

TinyVocabulary tiny_vocabulary(TinyTokenizer kind, std::size_t size) {
  Builder builder(kind);
  if (kind == TinyTokenizer::bpe) {
    for (const char* token : {"<|endoftext|>", "<|im_start|>", "<|im_end|>"}) builder.add(token, 3, 0);
    for (std::uint32_t byte = 0; byte < 256; ++byte) builder.add(byte_stand_in(byte), 1, 0);
    return builder.fill(size);
  }
  for (const char* token : {"<pad>", "<eos>", "<bos>"}) builder.add(token, 3, -1000);
  builder.add("<unk>", 2, -1000);
  for (const char* token : {"<|im_start|>", "<|im_end|>"}) builder.add(token, 3, -1000);
  constexpr std::string_view kHex = "0123456789ABCDEF";
  for (std::size_t byte = 0; byte < 256; ++byte) {
    builder.add(std::string("<0x") + kHex[byte / 16] + kHex[byte % 16] + ">", 6, -1000);
  }
  builder.add(std::string(kBlank), 1, -900);
  for (char letter = '!'; letter <= '~'; ++letter) builder.add(std::string(1, letter), 1, -900);
  return builder.fill(size);
}

void add_token(TinyVocabulary& vocabulary, std::string_view text, bool control) {
  std::string spelled;
  for (const char byte : text) {
    if (control) {
      spelled += byte;
    } else if (vocabulary.kind == TinyTokenizer::bpe) {
      spelled += byte_stand_in(static_cast<unsigned char>(byte));
    } else {
      spelled += byte == ' ' ? std::string(kBlank) : std::string(1, byte);
    }
  }
  vocabulary.tokens.push_back(std::move(spelled));
  vocabulary.types.push_back(control ? 3 : 1);
  vocabulary.scores.push_back(-1000);
}

void add_vocabulary(GgufWriter& writer, const TinyVocabulary& vocabulary, bool space_prefix) {
  const bool bpe = vocabulary.kind == TinyTokenizer::bpe;
  writer.add("tokenizer.ggml.model", bpe ? "gpt2" : "llama");
  writer.add("tokenizer.ggml.pre", bpe ? "smollm" : "default");
  writer.add("tokenizer.ggml.tokens", std::span(vocabulary.tokens));
  writer.add("tokenizer.ggml.token_type", std::span(vocabulary.types));
  if (bpe) {
    writer.add("tokenizer.ggml.merges", std::span(vocabulary.merges));
  } else {
    writer.add("tokenizer.ggml.scores", std::span(vocabulary.scores));
    writer.add("tokenizer.ggml.padding_token_id", std::uint32_t{0});
    writer.add("tokenizer.ggml.eot_token_id", std::uint32_t{5});
  }
  writer.add("tokenizer.ggml.bos_token_id", std::uint32_t{bpe ? 1u : 2u});
  writer.add("tokenizer.ggml.eos_token_id", std::uint32_t{bpe ? 2u : 1u});
  writer.add("tokenizer.ggml.unknown_token_id", std::uint32_t{bpe ? 0u : 3u});
  writer.add("tokenizer.ggml.add_bos_token", !bpe);
  writer.add("tokenizer.ggml.add_space_prefix", space_prefix);
  writer.add("tokenizer.chat_template", kChatMl);
}

}  // namespace rill::test
