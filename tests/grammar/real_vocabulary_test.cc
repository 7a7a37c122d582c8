// Masks over SmolLM2's vocabulary, each token tried, along random walks.
#include <gtest/gtest.h>

#include <random>

#include "rill/grammar.h"
#include "rill/model.h"
#include "support/real_models.h"

namespace rill {
namespace {

void walk(const Grammar& grammar, const Tokenizer& tokenizer, unsigned seed, int steps) {
  auto matcher = GrammarMatcher::create(grammar, tokenizer).value();
  std::mt19937 random(seed);
  TokenSet set(tokenizer.size());
  for (int step = 0; step < steps; ++step) {
    set.reset(tokenizer.size());
    ASSERT_TRUE(matcher.allowed(set));
    for (std::size_t i = 0; i < tokenizer.size(); ++i) {
      const auto token = static_cast<Token>(i);
      const bool takes = matcher.accept(token).has_value();
      if (takes) {
        ASSERT_TRUE(matcher.rollback(1));
      }
      ASSERT_EQ(takes, set.contains(token)) << "step " << step << ", token " << token << " " << tokenizer.token_bytes(token);
    }
    std::vector<Token> tokens;
    set.for_each([&](Token token) {
      if (!tokenizer.is_end(token)) tokens.push_back(token);
    });
    if (tokens.empty()) return;
    ASSERT_TRUE(matcher.accept(tokens[random() % tokens.size()]));
  }
}

TEST(RealVocabulary, MasksAreWhatTryingEachTokenGives) {
  RILL_REQUIRE_MODEL(path, "SmolLM2-135M-Instruct.Q4_1.gguf");
  const auto model = Model::load(path).value();
  const Tokenizer& tokenizer = model->tokenizer();
  const Grammar grammars[] = {
      Grammar::json().value(),
      Grammar::regex("\"[^\"\n]{0,40}\"").value(),
      Grammar::regex("([a-z]+ ?)*|[\\p{L}\\p{N} ]{3,90}!").value(),
      Grammar::gbnf("root ::= e\ne ::= e [-+*/] e | \"(\" e \")\" | [0-9]+ | \"f\" ws \"(\" e (\",\" ws e)* \")\"\nws ::= [ \\n]*").value(),
  };
  for (const Grammar& grammar : grammars) {
    for (unsigned seed = 0; seed < 2; ++seed) walk(grammar, tokenizer, seed, 8);
  }
}

}  // namespace
}  // namespace rill
