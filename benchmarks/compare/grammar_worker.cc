// rill's side of compare_grammar.py: a line of JSON in, a line of JSON out.
//   {"vocabulary": true}        the tokens' bytes (hexadecimal), the control tokens, an end token
//   {"encode": [text, ...]}     their tokens
//   {"kind": "json_schema" or "gbnf", "grammar": text, "texts": [[token, ...], ...]}
//       microseconds of compiling; of each text those of a mask and of accepting the token, for the tokens that are allowed
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "machine_limits.h"
#include "rill/grammar.h"
#include "rill/model.h"
#include "support.h"

namespace rill::benchmarks {
namespace {

double microseconds_since(double seconds) { return 1e6 * (seconds_now() - seconds); }

Json vocabulary(const Tokenizer& tokenizer) {
  constexpr char kDigits[] = "0123456789abcdef";
  Json tokens = Json::array(), controls = Json::array();
  for (std::size_t i = 0; i < tokenizer.size(); ++i) {
    const auto token = static_cast<Token>(i);
    std::string hex;
    for (const char c : tokenizer.token_bytes(token)) {
      hex += kDigits[static_cast<unsigned char>(c) >> 4];
      hex += kDigits[static_cast<unsigned char>(c) & 15];
    }
    tokens.push_back(hex);
    if (tokenizer.is_control(token)) controls.push_back(token);
  }
  return {{"tokens", tokens}, {"controls", controls}, {"end", tokenizer.end_tokens()[0]}};
}

Json encode(const Tokenizer& tokenizer, const Json& texts) {
  Json result = Json::array();
  for (const std::string text : texts) result.push_back(tokenizer.encode(text, {.add_special = AddSpecial::never}).value());
  return result;
}

Json measure(const Tokenizer& tokenizer, const Json& work) {
  const std::string source = work.at("grammar");
  const double begin = seconds_now();
  const auto grammar = work.at("kind") == "gbnf" ? Grammar::gbnf(source) : Grammar::json_schema(source);
  const double compile = microseconds_since(begin);
  if (!grammar) return {{"error", grammar.error().message}};
  Json texts = Json::array();
  TokenSet set;
  for (const Json& text : work.at("texts")) {
    auto matcher = GrammarMatcher::create(*grammar, tokenizer).value();
    std::vector<double> masks;
    for (const Token token : text.get<std::vector<Token>>()) {
      const double before = seconds_now();
      set.reset(tokenizer.size());
      if (!matcher.allowed(set) || !matcher.accept(token)) break;
      masks.push_back(microseconds_since(before));
    }
    texts.push_back(masks);
  }
  return {{"compile_us", compile}, {"mask_us", texts}};
}

void serve(const std::string& path) {
  const auto model = Model::load(path).value();
  const Tokenizer& tokenizer = model->tokenizer();
  GrammarMatcher::create(Grammar::json().value(), tokenizer).value();  // sorts the vocabulary
  std::cout << "ready" << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    const Json work = Json::parse(line);
    const Json answer = work.contains("vocabulary") ? vocabulary(tokenizer)
                        : work.contains("encode")   ? encode(tokenizer, work["encode"])
                                                    : measure(tokenizer, work);
    std::cout << answer.dump() << std::endl;
  }
}

}  // namespace
}  // namespace rill::benchmarks

int main(int argc, char** argv) {
  return rill::benchmarks::guarded_main([&] {
    rill::benchmarks::serve(rill::benchmarks::Arguments(argc, argv, "grammar_worker MODEL.gguf", {}).word(0));
  });
}
