// Masks over SmolLM2's vocabulary, each token tried, along random walks.
#include <gtest/gtest.h>

#include "grammar/walk.h"
#include "rill/grammar.h"
#include "rill/model.h"
#include "support/real_models.h"

namespace rill {
namespace {

TEST(RealVocabulary, MasksAreWhatTryingEachTokenGives) {
  RILL_REQUIRE_MODEL(path, "SmolLM2-135M-Instruct.Q4_1.gguf");
  const auto model = Model::load(path).value();
  const Tokenizer& tokenizer = model->tokenizer();
  const Grammar grammars[] = {
      Grammar::json().value(),
      Grammar::regex("\"[^\"\n]{0,40}\"").value(),
      Grammar::regex("([a-z]+ ?)*|[\\p{L}\\p{N} ]{3,90}!").value(),
      Grammar::gbnf(
          "root ::= e\ne ::= e [-+*/] e | \"(\" e \")\" | [0-9]+ | \"f\" ws \"(\" e (\",\" ws e)* \")\"\nws ::= [ \\n]*")
          .value(),
      Grammar::json_schema(R"({"type":"object","properties":{"a":{"type":"string","maxLength":9},"b":{"minimum":7}},
                               "required":["b"]})",
                           {.property_order = PropertyOrder::any})
          .value(),
  };
  for (const Grammar& grammar : grammars) {
    for (unsigned seed = 0; seed < 2; ++seed) grammar::walk(grammar, tokenizer, seed, 8);
  }
}

}  // namespace
}  // namespace rill
