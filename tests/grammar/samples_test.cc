// The sample grammars of llama.cpp, unchanged, as scripts/fetch-models brings them.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "rill/grammar.h"
#include "support/real_models.h"

namespace rill {
namespace {

struct Sample {
  std::vector<std::string> yes, no;
};

TEST(GbnfSamples, ParseUnchangedAndMeanTheSame) {
  RILL_REQUIRE_MODEL(folder, "grammars");
  const std::map<std::string, Sample> samples = {
      {"arithmetic.gbnf", {{"1 +2*x =3\n", "(a)=b\n1=2\n"}, {"1+=2\n", "1=2", "1 = \n"}}},
      {"c.gbnf",
       {{"", "int main(){return 0;}", "int f(int x){x = 1+2*y;while(x<y){f (x);}}", "char c(){/* a * b */}"},
        {"int main(){return 0}", "int main(){", "main(){}"}}},
      {"chess.gbnf", {{"1. e4 e5\n2. Nf3 Nc6\n", "1. e4 e5\n2. O-O exd8=Q+\n"}, {"1. e4 e5\n", "1. z9 e5\n2. a1 a2\n"}}},
      {"english.gbnf", {{"Hello, world! [\\]^_`{|}~"}, {"", "é", "a  b"}}},
      {"japanese.gbnf", {{"これは、テスト 漢字"}, {"abc", ""}}},
      {"json.gbnf", {{"{\"a\": [1, 2.5e+3, \"x\\n\"]}", "{}"}, {"[]", "{\"a\":01}", "{\"a\":\"\x7f\"}", "{ \t}"}}},
      {"json_arr.gbnf", {{"[\n1,\n{\"a\":true}]", "[\n]"}, {"[]", "{}", "[\n1,2]"}}},
      {"list.gbnf", {{"- a\n- b c\n"}, {"- \n", "a\n", "- a"}}},
  };
  std::size_t found = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".gbnf") continue;
    SCOPED_TRACE(entry.path().string());
    std::ifstream file(entry.path());
    const std::string text(std::istreambuf_iterator<char>(file), {});
    const auto grammar = Grammar::gbnf(text);
    ASSERT_TRUE(grammar) << grammar.error().message;
    const auto sample = samples.find(entry.path().filename().string());
    if (sample == samples.end()) continue;
    ++found;
    for (const std::string& yes : sample->second.yes) EXPECT_TRUE(grammar->match(yes).value().matches) << yes;
    for (const std::string& no : sample->second.no) EXPECT_FALSE(grammar->match(no).value().matches) << no;
  }
  EXPECT_EQ(found, samples.size());
}

}  // namespace
}  // namespace rill
