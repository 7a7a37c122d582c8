// Small inputs that other tokenizers got wrong, and what is malformed.
#include <gtest/gtest.h>

#include <limits>

#include "tokenizer/toy_vocabulary.h"

namespace rill::tokenizer {
namespace {

using enum TokenKind;

std::vector<ToyToken> abc() { return {{"a"}, {"b"}, {"c"}, {"ab"}, {"bc"}, {"abc"}}; }

TEST(BpeCases, AWholeWordNeedsMergesUnlessTheyAreIgnored) {
  VocabularyData data = toy_bpe(abc(), {"b c"});
  EXPECT_EQ(encode_pieces(create(data).value(), "abc"), (Pieces{"a", "bc"}));
  data.ignore_merges = true;
  EXPECT_EQ(encode_pieces(create(data).value(), "abc"), (Pieces{"abc"}));
}

TEST(BpeCases, TheLowestRankMergesFirst) {
  EXPECT_EQ(encode_pieces(create(toy_bpe(abc(), {"b c", "a b"})).value(), "abc"), (Pieces{"a", "bc"}));
  EXPECT_EQ(encode_pieces(create(toy_bpe(abc(), {"a b", "b c"})).value(), "abc"), (Pieces{"ab", "c"}));
}

TEST(BpeCases, EqualRanksMergeFromTheLeft) {
  const auto tokenizer = create(toy_bpe({{"a"}, {"aa"}, {"aaaa"}}, {"a a", "aa aa"})).value();
  EXPECT_EQ(encode_pieces(tokenizer, "aaaaaaa"), (Pieces{"aaaa", "aa", "a"}));
}

TEST(BpeCases, BytesThatAreNotUtf8ComeBack) {
  const auto tokenizer = create(toy_bpe(byte_alphabet())).value();
  for (const std::string text : {"\xE3\x81", "\x80", "\xF5", "ok\xC3", "\xED\xA0\x80", "\xF0\x9F\x98 x", "\xC0\xAF"}) {
    const auto tokens = tokenizer.encode(text).value();
    EXPECT_EQ(tokens.size(), text.size());
    EXPECT_EQ(tokens, tokenizer.encode(text).value());
    EXPECT_EQ(tokenizer.decode(tokens).value(), text);
  }
}

TEST(BpeCases, EscapesAreText) {
  const auto tokenizer = create(toy_bpe(byte_alphabet())).value();
  const auto escaped = tokenizer.encode("\\n").value(), line_end = tokenizer.encode("\n").value();
  EXPECT_EQ(escaped.size(), 2u);
  EXPECT_EQ(line_end.size(), 1u);
  EXPECT_EQ(tokenizer.decode(escaped).value(), "\\n");
  EXPECT_EQ(tokenizer.decode(line_end).value(), "\n");
}

TEST(BpeCases, AByteThatTheVocabularyLacksIsRefusedOrReplaced) {
  std::vector<ToyToken> tokens = byte_alphabet();
  std::erase_if(tokens, [](const ToyToken& token) { return token.text == "\u00F1" || token.text == "\u0104"; });
  const auto tokenizer = create(toy_bpe(tokens)).value();
  EXPECT_EQ(std::vector(tokenizer.missing_bytes().begin(), tokenizer.missing_bytes().end()),
            (std::vector<std::uint8_t>{0x04, 0xF1}));

  const auto refused = tokenizer.encode("abc \x04");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(refused.error().message, "byte 0x04 at offset 4 of the text has no token in this vocabulary");

  const auto decoded = [&](std::string_view text) {
    return tokenizer.decode(tokenizer.encode(text, {.unencodable = Unencodable::replace}).value()).value();
  };
  EXPECT_EQ(decoded("a\x04\x04z"), "a\uFFFD\uFFFDz");
  EXPECT_EQ(decoded("a\U00040000z"), "a\uFFFDz");  // the whole character, not only its byte F1
  EXPECT_EQ(decoded("a\xF1z"), "a\uFFFDz");
}

TEST(BpeCases, ReplacementNeedsItsOwnBytes) {
  const auto result = create(toy_bpe({{"a"}})).value().encode("ab", {.unencodable = Unencodable::replace});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "byte 0x62 at offset 1 of the text has no token in this vocabulary");
}

TEST(BpeCases, UnknownPreTokenizerIsNamed) {
  VocabularyData data = toy_bpe({{"a"}});
  data.pre_tokenizer = "tekken";
  const auto result = create(data);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::unsupported);
  EXPECT_NE(result.error().message.find("'tekken'"), std::string::npos);
}

TEST(BpeCases, MalformedMergesAreRefused) {
  for (const std::string merge : {"ab", "a", "", " ", "a ", "a x", "x a", "b a", "a \n"}) {
    const auto result = create(toy_bpe(abc(), {"a b", merge}));
    ASSERT_FALSE(result) << merge;
    EXPECT_EQ(result.error().code, ErrorCode::malformed);
    EXPECT_NE(result.error().message.find("merge 1"), std::string::npos) << result.error().message;
  }
}

TEST(BpeCases, MergesCannotFormAControlToken) {
  EXPECT_FALSE(create(toy_bpe({{"a"}, {"b"}, {"ab", control}}, {"a b"})));
}

TEST(SentencePieceCases, NoSpaceIsInvented) {
  VocabularyData data =
      toy_sentencepiece({{"<s>", control}, {"</s>", control}, {"w"}, {"o"}, {"r"}, {"d"}, {"wo"}, {"rd"}, {"word"}});
  const auto tokenizer = create(data).value();
  const auto tokens =
      tokenizer.encode("<s>word</s>", {.parse_special = true, .add_special = AddSpecial::never}).value();
  EXPECT_EQ(tokens, (std::vector<Token>{0, 8, 1}));
  EXPECT_EQ(tokenizer.decode(tokens, {.show_special = true}).value(), "<s>word</s>");
  EXPECT_EQ(tokenizer.decode(tokens).value(), "word");
}

std::vector<ToyToken> hi_tokens() {
  std::vector<ToyToken> tokens = {{"<s>", control},     {"▁"}, {"H"}, {"i"}, {"▁H"}, {"Hi"}, {"▁Hi"}, {"▁▁"},
                                  {"<b>", user_defined}};
  for (const ToyToken& token : byte_tokens()) tokens.push_back(token);
  return tokens;
}

TEST(SentencePieceCases, TheSpacePrefixIsTakenAway) {
  const auto tokenizer = create(toy_sentencepiece(hi_tokens(), true)).value();
  for (const std::string text : {"", "Hi", " Hi", "  Hi", "Hi ", " ", "   ", "<b>", " <b> Hi", "<b>Hi", "\xFF", "\n"}) {
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text).value()).value(), text);
  }
  EXPECT_EQ(encode_pieces(tokenizer, "Hi"), (Pieces{" Hi"}));
  EXPECT_EQ(encode_pieces(tokenizer, "Hi<b>Hi"), (Pieces{" Hi", "<b>", "Hi"}));
  EXPECT_EQ(encode_pieces(tokenizer, "<b>Hi"), (Pieces{" ", "<b>", "Hi"}));
}

TEST(SentencePieceCases, ASpacePrefixFollowsEachControlToken) {
  const auto tokenizer = create(toy_sentencepiece(hi_tokens(), true)).value();
  const auto tokens = tokenizer.encode("<s>Hi<s> Hi", {.parse_special = true}).value();
  EXPECT_EQ(pieces_of(tokenizer, tokens), (Pieces{"<s>", " Hi", "<s>", "  ", "Hi"}));
  EXPECT_EQ(tokenizer.decode(tokens, {.show_special = true}).value(), "<s>Hi<s> Hi");
}

TEST(SentencePieceCases, ScoresDecideNotLengths) {
  const auto tokenizer =
      create(toy_sentencepiece({{"a"}, {"b"}, {"c"}, {"ab", normal, -2}, {"bc", normal, -1}})).value();
  EXPECT_EQ(encode_pieces(tokenizer, "abc"), (Pieces{"a", "bc"}));
}

TEST(SentencePieceCases, ScoresOfEitherSignAreOrdered) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float ascending[] = {-kInfinity, -2.5f, -1e-40f, 0.0f, 1e-40f, 0.5f, 3.0f, kInfinity};
  for (std::size_t low = 0; low < std::size(ascending); ++low) {
    for (std::size_t high = low + 1; high < std::size(ascending); ++high) {
      const auto tokenizer =
          create(
              toy_sentencepiece({{"a"}, {"b"}, {"c"}, {"ab", normal, ascending[low]}, {"bc", normal, ascending[high]}}))
              .value();
      EXPECT_EQ(encode_pieces(tokenizer, "abc"), (Pieces{"a", "bc"}));
    }
  }
  const auto zeros =
      create(toy_sentencepiece({{"a"}, {"b"}, {"c"}, {"ab", normal, -0.0f}, {"bc", normal, 0.0f}})).value();
  EXPECT_EQ(encode_pieces(zeros, "abc"), (Pieces{"ab", "c"}));
}

TEST(SentencePieceCases, ALiteralSpaceMarkIsASpace) {
  const auto tokenizer = create(toy_sentencepiece(hi_tokens())).value();
  EXPECT_EQ(encode_pieces(tokenizer, "▁Hi"), (Pieces{" Hi"}));
}

TEST(SentencePieceCases, WhatNoPieceCoversFallsBackToBytes) {
  const auto tokenizer = create(toy_sentencepiece(hi_tokens())).value();
  EXPECT_TRUE(tokenizer.missing_bytes().empty());
  for (const std::string text : {"é", "\xE3\x81", "\x80", "\xF5", "ok\xC3"}) {
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text).value()).value(), text);
  }
}

TEST(SentencePieceCases, WithoutByteTokensTextIsRefusedOrReplaced) {
  std::vector<ToyToken> tokens = {{"<unk>", unknown}, {"a"}, {"▁"}, {"é"}};
  VocabularyData data = toy_sentencepiece(tokens);
  data.unknown = 0;
  data.add_space_prefix = true;
  const auto tokenizer = create(data).value();
  EXPECT_EQ(encode_pieces(tokenizer, "aé"), (Pieces{" ", "a", "é"}));
  const auto refused = tokenizer.encode("▁a\nb");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "byte 0x0A at offset 4 of the text has no token in this vocabulary");
  const EncodeOptions replace = {.unencodable = Unencodable::replace};
  EXPECT_EQ(encode_pieces(tokenizer, "aßa", replace), (Pieces{" ", "a", "<unk>", "a"}));
  add_tokens(data, {{"\uFFFD"}});
  EXPECT_EQ(encode_pieces(create(data).value(), "aßa", replace), (Pieces{" ", "a", "\uFFFD", "a"}));
}

TEST(SentencePieceCases, MergesFormNoControlByteOrUnusedToken) {
  const auto tokenizer =
      create(toy_sentencepiece({{"<"}, {"s"}, {">"}, {"<s"}, {"<s>", control}, {"ss", unused}})).value();
  EXPECT_EQ(encode_pieces(tokenizer, "<s>ss"), (Pieces{"<s", ">", "s", "s"}));
}

TEST(SentencePieceCases, MalformedByteTokensAreNamed) {
  for (const std::string name : {"<0x-7>", "<0xG1>", "<0x1>", "<0x100>", "0x41", "", "<0x41", "<0x 1>"}) {
    const auto result = create(toy_sentencepiece({{"a"}, {name, byte}}));
    ASSERT_FALSE(result) << name;
    EXPECT_EQ(result.error().code, ErrorCode::malformed);
    EXPECT_NE(result.error().message.find("byte token 1 is called '" + name + "'"), std::string::npos);
  }
}

TEST(VocabularyCases, TheLowestOfEqualTokensIsUsed) {
  for (VocabularyData data : {toy_bpe({{"a"}, {"b"}, {"a"}}), toy_sentencepiece({{"a"}, {"b"}, {"a"}})}) {
    std::string warning;
    const auto tokenizer = create(data, [&](LogLevel level, std::string_view text) {
                             EXPECT_EQ(level, LogLevel::warning);
                             warning = text;
                           }).value();
    EXPECT_EQ(warning.substr(0, 8), "1 tokens");
    EXPECT_EQ(tokenizer.encode("aba").value(), (std::vector<Token>{0, 1, 0}));
    const Token both[] = {0, 2};
    EXPECT_EQ(tokenizer.decode(both).value(), "aa");
  }
}

TEST(VocabularyCases, MalformedVocabulariesAreRefused) {
  EXPECT_FALSE(create(toy_bpe({})));
  VocabularyData kinds = toy_bpe({{"a"}, {"b"}});
  kinds.kinds.pop_back();
  EXPECT_EQ(create(kinds).error().message, "1 token types for 2 tokens");
  VocabularyData scores = toy_sentencepiece({{"a"}, {"b"}});
  scores.scores.pop_back();
  EXPECT_EQ(create(scores).error().message, "1 token scores for 2 tokens");
  scores.scores.push_back(std::numeric_limits<float>::quiet_NaN());
  EXPECT_EQ(create(scores).error().message, "the score of token 1 is not a number");
  for (const Token token : {-1, 2, std::numeric_limits<Token>::max()}) {
    VocabularyData data = toy_bpe({{"a"}, {"b"}});
    data.eot = token;
    EXPECT_EQ(create(data).error().message,
              "the eot token " + std::to_string(token) + " is outside the vocabulary of 2");
  }
  VocabularyData no_bos = toy_bpe({{"a"}});
  no_bos.add_bos = true;
  EXPECT_FALSE(create(no_bos));
  EXPECT_EQ(create(toy_bpe({{std::string(1025, 'x'), control}})).error().code, ErrorCode::limit_exceeded);
}

TEST(VocabularyCases, IdsOutOfRangeAreRefused) {
  const auto tokenizer = create(toy_bpe({{"a"}, {"b"}})).value();
  for (const Token token : {-1, 2, std::numeric_limits<Token>::max(), std::numeric_limits<Token>::min()}) {
    const Token tokens[] = {0, token};
    const auto result = tokenizer.decode(tokens);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(result.error().message.find("index 1"), std::string::npos);
    EXPECT_EQ(tokenizer.token_bytes(token), "");
    EXPECT_EQ(tokenizer.kind(token), unused);
    EXPECT_FALSE(tokenizer.is_control(token));
    EXPECT_FALSE(tokenizer.is_end(token));
  }
}

// A megabyte of one character is one piece: quadratic time would not end, and recursion on it would not fit a stack.
TEST(LongInputs, OneMegabyteOfOneCharacter) {
  std::vector<ToyToken> tokens = byte_alphabet();
  std::vector<std::string> merges;
  for (std::size_t size = 1; size < 16; size *= 2) {
    tokens.push_back({std::string(2 * size, 'a')});
    merges.push_back(std::string(size, 'a') + ' ' + std::string(size, 'a'));
  }
  std::vector<ToyToken> pieces = byte_tokens();
  for (std::size_t size = 1; size <= 16; size *= 2)
    pieces.push_back({std::string(size, 'a'), normal, static_cast<float>(size)});
  const std::string text(1 << 20, 'a');
  for (const VocabularyData& data : {toy_bpe(tokens, merges), toy_sentencepiece(pieces)}) {
    const auto tokenizer = create(data).value();
    const auto encoded = tokenizer.encode(text).value();
    EXPECT_EQ(encoded.size(), text.size() / 16);
    EXPECT_EQ(tokenizer.decode(encoded).value(), text);
    for (const char byte : {' ', '\n', '\'', '7', '\xE3'}) {
      const std::string run(1 << 20, byte);
      EXPECT_EQ(tokenizer.decode(tokenizer.encode(run).value()).value(), run);
    }
  }
}

}  // namespace
}  // namespace rill::tokenizer
