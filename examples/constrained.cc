// Answers inside a grammar: JSON, or that of a GBNF file.
//
//   constrained MODEL.gguf PROMPT [GRAMMAR.gbnf]
#include <rill/rill.h>

#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

namespace {

rill::Grammar grammar_of(const char* path) {
  if (path == nullptr) return rill::Grammar::json().value();
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(std::string("cannot read ") + path);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  return rill::Grammar::gbnf(text).value();
}

int run(const std::string& model_path, const std::string& prompt, const char* grammar_path) {
  auto model = rill::Model::load(model_path).value();
  auto session = rill::Session::create(model).value();

  const auto grammar = grammar_of(grammar_path);
  auto answer = session.generate(prompt, {.max_tokens = 200, .grammar = grammar}).value();
  std::string text;
  while (auto chunk = answer.next()) {
    std::cout << chunk->text << std::flush;
    text += chunk->text;
  }

  // Within max_tokens the text is finished, whatever the model would rather say.
  const bool whole = grammar.match(text).value().matches;
  std::cout << "\n[" << to_string(answer.result().value().finish_reason) << ", " << (whole ? "whole" : "cut short") << "]\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || argc > 4) {
    std::cerr << "usage: constrained MODEL.gguf PROMPT [GRAMMAR.gbnf]\n";
    return 2;
  }
  try {
    return run(argv[1], argv[2], argc == 4 ? argv[3] : nullptr);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
