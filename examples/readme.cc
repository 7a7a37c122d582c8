#include <rill/rill.h>

#include <iostream>

int main() {
  auto model = rill::Model::load("model.gguf").value();
  auto session = rill::Session::create(model, {.context_tokens = 4096}).value();

  auto answer = session.generate("The three primary colours are", {.max_tokens = 48, .sampling = rill::presets::chat()}).value();
  while (auto chunk = answer.next()) std::cout << chunk->text << std::flush;

  auto result = answer.result().value();
  std::cout << "\n[" << to_string(result.finish_reason) << ", " << result.tokens.size() << " tokens]\n";
}
