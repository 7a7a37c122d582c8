// What the tests of saved sessions, answers and conversations have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/scripted.h"

namespace rill::test::saved {

inline TinyModelOptions tiny_options(const std::string& architecture) {
  TinyModelOptions options = test::tiny_options(architecture);
  options.vocabulary = 420;
  options.head_dim = 32;  // q8_0 keys and values come in blocks of 32
  options.extra_controls = {"<|end|>"};
  options.extra_tokens = {"ok", "\nHum", "an", " x", "Human:"};
  return options;
}

inline std::shared_ptr<const Model> tiny(const std::string& architecture) {
  static std::map<std::string, std::shared_ptr<const Model>> models;
  std::shared_ptr<const Model>& model = models[architecture];
  if (model == nullptr) model = load_tiny(tiny_options(architecture));
  return model;
}

inline constexpr const char* kArchitectures[] = {"llama", "gemma3"};

inline Session session_of(const std::shared_ptr<const Model>& model, SessionOptions options = {}) {
  return Session::create(model, std::move(options)).value();
}

inline std::vector<Token> held(const Session& session) { return {session.tokens().begin(), session.tokens().end()}; }

inline std::string message_of(const Result<void>& result) {
  return result ? "no error" : to_string(result.error().code) + (": " + result.error().message);
}
template <typename T>
inline std::string message_of(const Result<T>& result) {
  return message_of(result ? Result<void>() : Result<void>(result.error()));
}

inline constexpr std::size_t kHalf = 10;

inline SamplerChain sampling_chain(std::uint64_t seed) {
  return SamplerChain::create({.processors = {repetition_penalty({.penalty = 1.2f, .window = 8}),
                                              frequency_penalty({.penalty = 0.3f}), xtc({.probability = 0.5f})},
                               .sampler = mirostat({.temperature = 0.8f, .tau = 4}),
                               .seed = seed})
      .value();
}

inline GenerateOptions sampling_options() {
  GenerateOptions options{.max_tokens = 2 * kHalf, .end_tokens = std::vector<Token>{}};
  options.sampling.temperature = 0.8f;
  options.sampling.top_p = 0.95f;
  options.sampling.repetition.penalty = 1.2f;
  options.sampling.dry.multiplier = 0.5f;
  options.sampling.seed = 42;
  return options;
}

// Of JSON texts, those that are long enough to be broken off, with something open at any time.
inline Grammar long_json() {
  return Grammar::gbnf(R"(
root   ::= "{" member ("," member){8,} "}"
member ::= "\"" [a-z]{1,4} "\":" value
value  ::= [0-9]{1,3} | "[" value ("," value)* "]" | "\"" [^"\\\x00-\x1F]{0,6} "\""
)").value();
}

// Of arrays that end within any budget that has room for two items, by value checks, too.
inline Grammar unique_integers() {
  return Grammar::json_schema(R"({"type":"array","uniqueItems":true,"minItems":2,"items":{"type":"integer"}})").value();
}

}  // namespace rill::test::saved
