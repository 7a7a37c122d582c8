// The generation loop driven by hand: feed, logits, processors, sample, accept, feed. One of the processors is the caller's own.
//
//   step_by_step MODEL.gguf [PROMPT]
#include <rill/rill.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace {

// Keeps the output in lower-case ASCII and punctuation: a rule that no built-in has. Masks are asked for before the LM head
// runs, so that only the allowed rows of it are computed.
class LowerCaseOnly final : public rill::LogitsProcessor {
 public:
  explicit LowerCaseOnly(const rill::Tokenizer& tokenizer) : allowed_(tokenizer.size()) {
    for (std::size_t i = 0; i < allowed_.size(); ++i) {
      const auto token = static_cast<rill::Token>(i);
      const std::string_view bytes = tokenizer.token_bytes(token);
      allowed_[i] =
          tokenizer.is_end(token) || (!tokenizer.is_control(token) && std::all_of(bytes.begin(), bytes.end(), [](char c) {
            return (c >= 'a' && c <= 'z') || c == ' ' || c == ',' || c == '.' || c == '\n';
          }));
    }
  }

  bool allow(rill::TokenSet& set) override {
    for (std::size_t i = 0; i < allowed_.size(); ++i) {
      if (!allowed_[i]) set.remove(static_cast<rill::Token>(i));
    }
    return true;
  }
  std::string describe() const override { return "lower_case_only"; }
  std::unique_ptr<rill::LogitsProcessor> clone() const override { return std::make_unique<LowerCaseOnly>(*this); }

 private:
  std::vector<bool> allowed_;
};

int run(const std::string& path, const std::string& prompt) {
  auto model = rill::Model::load(path).value();
  auto session = rill::Session::create(model, {.context_tokens = 512}).value();
  const rill::Tokenizer& tokenizer = model->tokenizer();

  const auto prompt_tokens = tokenizer.encode(prompt).value();
  session.feed(prompt_tokens).value();  // prefill: writes keys and values, keeps the last hidden state

  auto chain = rill::SamplerChain::create({.processors = {LowerCaseOnly(tokenizer), rill::repetition_penalty({.penalty = 1.1f})},
                                           .sampler = rill::top_p({.temperature = 0.7f, .top_p = 0.9f}),
                                           .seed = 42})
                   .value();
  chain.observe(prompt_tokens);  // history that penalties may count, not generated text

  rill::Detokenizer detokenizer(tokenizer, {.continues_text = true});
  std::cout << prompt;
  for (int i = 0; i < 48 && session.context_left() > 0; ++i) {
    const rill::Token token = chain.sample(session.logits()).value();  // the LM head runs here
    if (tokenizer.is_end(token)) break;
    chain.accept(token);
    std::cout << detokenizer.push(token).value() << std::flush;
    session.feed(token).value();  // decode: one row of keys and values per layer
  }
  std::cout << detokenizer.flush() << '\n';
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: step_by_step MODEL.gguf [PROMPT]\n";
    return 2;
  }
  try {
    return run(argv[1], argc > 2 ? argv[2] : "Once upon a time");
  } catch (const rill::ErrorException& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
