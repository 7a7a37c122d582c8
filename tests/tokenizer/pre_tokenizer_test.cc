#include "tokenizer/pre_tokenizer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace rill::tokenizer {
namespace {

std::vector<std::string> pieces(std::string_view name, std::string_view text) {
  const PreTokenizer pre_tokenizer = PreTokenizer::named(name).value();
  std::vector<std::string> result;
  for (std::size_t begin = 0, end; begin < text.size(); begin = end) {
    end = pre_tokenizer.piece_end(text, begin);
    result.emplace_back(text.substr(begin, end - begin));
  }
  return result;
}

using Pieces = std::vector<std::string>;

TEST(PreTokenizer, Gpt2) {
  EXPECT_EQ(pieces("gpt-2", "I'll  pay 1234.50\n\nnow"),
            (Pieces{"I", "'ll", " ", " pay", " 1234", ".", "50", "\n", "\n", "now"}));
  EXPECT_EQ(pieces("gpt-2", "IT'S 'quoted' "), (Pieces{"IT", "'", "S", " '", "quoted", "'", " "}));
  EXPECT_EQ(pieces("gpt-2", " \t x"), (Pieces{" \t", " x"}));
  EXPECT_EQ(pieces("gpt-2", "\tx"), (Pieces{"\t", "x"}));
  EXPECT_EQ(pieces("gpt-2", "naïve\u00A0½ ²"), (Pieces{"naïve", "\u00A0", "½", " ²"}));
}

TEST(PreTokenizer, SmollmCutsAtEveryNumberFirst) {
  EXPECT_EQ(pieces("smollm", "a  12 3x"), (Pieces{"a", "  ", "1", "2", " ", "3", "x"}));
  EXPECT_EQ(pieces("smollm", "a  b"), (Pieces{"a", " ", " b"}));
  EXPECT_EQ(pieces("smollm", "½²３"), (Pieces{"½", "²", "３"}));
}

TEST(PreTokenizer, LlamaBpe) {
  EXPECT_EQ(pieces("llama-bpe", "IT'S 12345 (x)\n\n  y"),
            (Pieces{"IT", "'S", " ", "123", "45", " (", "x", ")\n\n", " ", " y"}));
  EXPECT_EQ(pieces("llama-bpe", "\tx !y!!z"), (Pieces{"\tx", " !", "y", "!!", "z"}));
  EXPECT_EQ(pieces("llama-bpe", " \n \n  x"), (Pieces{" \n \n", " ", " x"}));
  EXPECT_EQ(pieces("llama-bpe", "it'\u017Fa"), (Pieces{"it", "'\u017F", "a"}));
}

TEST(PreTokenizer, Qwen2) { EXPECT_EQ(pieces("qwen2", "x 123"), (Pieces{"x", " ", "1", "2", "3"})); }

TEST(PreTokenizer, CutsBytesThatAreNotUtf8AsPunctuation) {
  EXPECT_EQ(pieces("gpt-2", "a\xE3\x81 b\xFF"), (Pieces{"a", "\xE3\x81", " b", "\xFF"}));
}

}  // namespace
}  // namespace rill::tokenizer
