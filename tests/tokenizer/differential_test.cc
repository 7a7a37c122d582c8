// The ids that the reference implementations give for random texts (tests/golden/make_tokenizer_differential.py).
#include <gtest/gtest.h>

#include "support/golden.h"
#include "tokenizer/create.h"
#include "tokenizer/pre_tokenizer.h"

namespace rill::tokenizer {
namespace {

using Json = nlohmann::json;

FlatStrings strings(const Json& list) {
  FlatStrings result;
  for (const Json& string : list) result.push_back(string.get<std::string>());
  return result;
}

std::vector<std::size_t> piece_sizes(const PreTokenizer& pre_tokenizer, std::string_view text) {
  std::vector<std::size_t> sizes;
  for (std::size_t begin = 0; begin < text.size(); begin += sizes.back()) {
    sizes.push_back(pre_tokenizer.piece_end(text, begin) - begin);
  }
  return sizes;
}

TEST(DifferentialTokens, ByteLevelBpeAgreesWithTokenizers) {
  const Json golden = test::read_golden("tokenizer_bpe.json");
  VocabularyData data;
  data.tokens = strings(golden["tokens"]);
  data.merges = strings(golden["merges"]);
  for (const std::string name : {"gpt-2", "smollm", "llama-bpe", "qwen2"}) {
    data.pre_tokenizer = name;
    const Tokenizer tokenizer = create(data).value();
    const PreTokenizer pre_tokenizer = PreTokenizer::named(name).value();
    for (const Json& one : golden["cases"]) {
      const auto text = one["text"].get<std::string>();
      const auto tokens = tokenizer.encode(text).value();
      EXPECT_EQ(piece_sizes(pre_tokenizer, text), one[name]["pieces"].get<std::vector<std::size_t>>())
          << name << ' ' << one["text"].dump(-1, ' ', true);
      EXPECT_EQ(tokens, one[name]["ids"].get<std::vector<Token>>()) << name << ' ' << one["text"].dump(-1, ' ', true);
      EXPECT_EQ(tokenizer.decode(tokens).value(), text);
    }
  }
}

TEST(DifferentialTokens, SentencePieceAgrees) {
  using enum TokenKind;
  constexpr TokenKind kKinds[] = {normal, normal, unknown, control, user_defined, unused, byte};  // by GGUF's number
  for (const Json& golden : test::read_golden("tokenizer_sentencepiece.json").get<std::vector<Json>>()) {
    VocabularyData data;
    data.algorithm = Algorithm::sentencepiece;
    data.add_space_prefix = golden["space_prefix"];
    data.tokens = strings(golden["tokens"]);
    data.scores = golden["scores"].get<std::vector<float>>();
    for (const int type : golden["types"]) data.kinds.push_back(kKinds[type]);
    const Tokenizer tokenizer = create(data).value();
    for (const Json& one : golden["cases"]) {
      const auto text = one["text"].get<std::string>();
      const auto tokens = tokenizer.encode(text).value();
      EXPECT_EQ(tokens, one["ids"].get<std::vector<Token>>()) << one["text"].dump(-1, ' ', true);
      if (text.find("\u2581") == std::string::npos) {
        EXPECT_EQ(tokenizer.decode(tokens).value(), text);
      }
    }
  }
}

}  // namespace
}  // namespace rill::tokenizer
