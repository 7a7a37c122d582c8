#include "rill/detokenizer.h"

#include <gtest/gtest.h>

#include <random>

#include "base/utf8.h"
#include "tokenizer/toy_vocabulary.h"

namespace rill::tokenizer {
namespace {

using enum TokenKind;

std::string stream(const Tokenizer& tokenizer, const std::vector<Token>& tokens,
                   const DetokenizerOptions& options = {}) {
  Detokenizer detokenizer(tokenizer, options);
  std::string text;
  for (const Token token : tokens) text += detokenizer.push(token).value();
  return text + detokenizer.flush();
}

Tokenizer bytes_only() {
  std::vector<ToyToken> tokens = byte_tokens();  // ids are the bytes
  tokens.push_back({"<x>", control});
  return create(toy_sentencepiece(tokens)).value();
}

std::vector<Token> bytes_as_tokens(std::string_view bytes) {
  std::vector<Token> tokens;
  for (const char byte : bytes) tokens.push_back(static_cast<std::uint8_t>(byte));
  return tokens;
}

TEST(Detokenizer, DeliversWholeCharacters) {
  Detokenizer detokenizer(bytes_only());
  EXPECT_EQ(detokenizer.push('a').value(), "a");
  EXPECT_EQ(detokenizer.push(0xF0).value(), "");
  EXPECT_EQ(detokenizer.push(0x9F).value(), "");
  EXPECT_EQ(detokenizer.push(0x98).value(), "");
  EXPECT_EQ(detokenizer.pending(), "\xF0\x9F\x98");
  Detokenizer fork = detokenizer;
  EXPECT_EQ(detokenizer.push(0x80).value(), "\U0001F600");
  EXPECT_EQ(detokenizer.pending(), "");
  EXPECT_EQ(fork.push('b').value(),
            "\uFFFD"
            "b")
      << "three bytes of one character are one U+FFFD";
}

TEST(Detokenizer, AHiddenTokenDoesNotCutACharacter) {
  EXPECT_EQ(stream(bytes_only(), {0xC3, 256, 0xA9}), "é");
  EXPECT_EQ(stream(bytes_only(), {0xC3, 256, 0xA9}, {.show_special = true}), "\uFFFD<x>\uFFFD");
}

TEST(Detokenizer, ReplacesMaximalSubparts) {
  // Unicode 15, tables 3-8 to 3-11.
  const std::pair<const char*, const char*> cases[] = {
      {"\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41", "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\x41"},
      {"\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41", "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\x41"},
      {"\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42", "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\x41\uFFFD\uFFFD\x42"},
      {"\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41", "\uFFFD\uFFFD\uFFFD\uFFFD\x41"},
      {"ok\xC3", "ok\uFFFD"},
  };
  for (const auto& [bytes, text] : cases) EXPECT_EQ(stream(bytes_only(), bytes_as_tokens(bytes)), text);
}

TEST(Utf8, AgreesWithTheDefinitionForAllShortSequences) {
  // Every code point, encoded by the definition, decodes to itself.
  for (char32_t code = 0; code < 0x110000; ++code) {
    std::string bytes;
    const auto tail = [&](int shift) { return static_cast<char>(0x80 | (code >> shift & 0x3F)); };
    if (code < 0x80)
      bytes.push_back(static_cast<char>(code));
    else if (code < 0x800)
      bytes = {static_cast<char>(0xC0 | code >> 6), tail(0)};
    else if (code < 0x10000)
      bytes = {static_cast<char>(0xE0 | code >> 12), tail(6), tail(0)};
    else
      bytes = {static_cast<char>(0xF0 | code >> 18), tail(12), tail(6), tail(0)};
    const utf8::Character character = utf8::decode(bytes, 0);
    const bool surrogate = code >= 0xD800 && code < 0xE000;
    ASSERT_EQ(character.status == utf8::Status::valid, !surrogate) << std::uint32_t{code};
    ASSERT_EQ(character.length, surrogate ? 1 : bytes.size()) << std::uint32_t{code};
    ASSERT_EQ(std::uint32_t{character.code}, surrogate ? 0xFFFD : std::uint32_t{code});
  }
}

TEST(Detokenizer, TheTextDoesNotDependOnTheCuts) {
  // Tokens of one to three arbitrary bytes; the same bytes cut in other places give the same text.
  std::mt19937 random(7);
  const std::string_view interesting("\x00 aA\x80\xBF\xC2\xC3\xE0\xE2\x81\x96\xED\xA0\xF0\x9F\x98\xF4\x8F\xF5\xFF", 22);
  std::vector<ToyToken> tokens;
  for (int index = 0; index < 2000; ++index) {
    std::string bytes(1 + random() % 3, ' ');
    for (char& byte : bytes) byte = interesting[random() % interesting.size()];
    tokens.push_back({bytes, user_defined});
  }
  const auto tokenizer = create(toy_bpe(tokens)).value();
  for (int repeat = 0; repeat < 300; ++repeat) {
    std::vector<Token> sequence(random() % 20);
    for (Token& token : sequence) token = static_cast<Token>(random() % tokens.size());
    const std::string bytes = tokenizer.decode(sequence).value();
    EXPECT_EQ(stream(tokenizer, sequence), stream(bytes_only(), bytes_as_tokens(bytes)));
  }
}

TEST(Detokenizer, RemovesTheSpacePrefix) {
  std::vector<ToyToken> tokens = {{"▁"}, {"H"}, {"i"}, {"▁H"}, {"▁Hi"}, {"<s>", control}, {"  ", user_defined}};
  for (const ToyToken& token : byte_tokens()) tokens.push_back(token);
  const auto tokenizer = create(toy_sentencepiece(tokens, true)).value();
  for (const std::string text : {"", "Hi", " Hi", "  Hi", "Hi ", "Hi<s>Hi"}) {
    EXPECT_EQ(stream(tokenizer, tokenizer.encode(text, {.parse_special = true}).value(), {.show_special = true}), text);
  }
  EXPECT_EQ(stream(tokenizer, {4, 4}), "Hi Hi");
  EXPECT_EQ(stream(tokenizer, {4, 4}, {.continues_text = true}), " Hi Hi");
  EXPECT_EQ(stream(tokenizer, {6, 4}), "   Hi") << "a user-defined token holds no prefix";
}

TEST(Detokenizer, RefusesIdsOutOfRange) {
  Detokenizer detokenizer(bytes_only());
  EXPECT_EQ(detokenizer.push(0xC3).value(), "");
  for (const Token token : {-1, 257}) {
    const auto result = detokenizer.push(token);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::invalid_argument);
  }
  EXPECT_EQ(detokenizer.push(0xA9).value(), "é");
}

}  // namespace
}  // namespace rill::tokenizer
