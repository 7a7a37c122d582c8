// Any bytes as text for small vocabularies of both kinds: what is encoded comes back, and streams as valid UTF-8.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "rill/detokenizer.h"
#include "tokenizer/toy_vocabulary.h"

namespace rill::tokenizer {
namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

std::vector<ToyToken> with_specials(std::vector<ToyToken> tokens) {
  for (const char* text : {"<|im_start|>", "<|im_end|>", "<|"}) tokens.push_back({text, TokenKind::control});
  for (const char* text : {"<b>", "  ", "\n\n"}) tokens.push_back({text, TokenKind::user_defined});
  return tokens;
}

std::vector<Tokenizer> make_tokenizers() {
  std::vector<Tokenizer> tokenizers;
  std::vector<ToyToken> tokens = with_specials(byte_alphabet());
  for (const char* text : {"in", "ing", "Ġt", "the", "th", "he", "ĠĠ", "åĲ"}) tokens.push_back({text});
  for (const char* name : {"gpt-2", "smollm", "llama-bpe", "qwen2"}) {
    VocabularyData data = toy_bpe(tokens, {"Ġ t", "h e", "i n", "in g", "t he", "Ġ Ġ", "å Ĳ"});
    data.pre_tokenizer = name;
    data.ignore_merges = data.pre_tokenizer == "llama-bpe";
    tokenizers.push_back(create(data).value());
  }
  tokens = with_specials(byte_tokens());
  for (const char* text : {"▁", "t", "h", "e", "▁t", "he", "▁the", "th", "▁▁", "é"}) {
    tokens.push_back({text, TokenKind::normal, -static_cast<float>(tokens.size() % 5)});
  }
  tokenizers.push_back(create(toy_sentencepiece(tokens, false)).value());
  tokenizers.push_back(create(toy_sentencepiece(tokens, true)).value());
  return tokenizers;
}

void check(const Tokenizer& tokenizer, std::string_view text, std::span<const ByteRange> untrusted) {
  const std::vector<Token> tokens = tokenizer.encode_rendered(text, untrusted).value();
  require(tokenizer.decode(tokens, {.show_special = true}).value() == text);

  Detokenizer detokenizer(tokenizer, {.show_special = true});
  std::string streamed;
  for (const Token token : tokens) streamed += detokenizer.push(token).value();
  streamed += detokenizer.flush();
  std::string valid;
  for (std::size_t at = 0, length; at < text.size(); at += length) {
    const utf8::Character character = utf8::decode(text, at);
    length = character.length;
    valid += character.status == utf8::Status::valid ? text.substr(at, length) : utf8::kReplacementBytes;
  }
  require(streamed == valid);

  const std::vector<Token> plain = tokenizer.encode(text).value();
  for (const Token token : plain) require(!tokenizer.is_control(token));
}

}  // namespace
}  // namespace rill::tokenizer

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rill::tokenizer;
  static const std::vector<rill::Tokenizer> tokenizers = make_tokenizers();
  if (size < 2) return 0;
  // The first two bytes say which part of the rest came from a message.
  const std::size_t length = size - 2;
  const std::size_t begin = data[0] % (length + 1);
  const rill::ByteRange untrusted = {begin, begin + data[1] % (length - begin + 1)};
  std::string text(reinterpret_cast<const char*>(data + 2), length);
  for (std::size_t mark; (mark = text.find(kSpaceMark)) != text.npos;)
    text.replace(mark, kSpaceMark.size(), "   ");  // the one lossy character
  for (const rill::Tokenizer& tokenizer : tokenizers) check(tokenizer, text, {&untrusted, 1});
  return 0;
}
