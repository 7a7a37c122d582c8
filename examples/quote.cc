// Copies a text through the model, guessing ahead from the prompt: the same answer in fewer passes over the weights.
//
//   quote MODEL.gguf TEXT
#include <rill/rill.h>

#include <iostream>
#include <string>

namespace {

int run(const std::string& path, const std::string& text) {
  auto model = rill::Model::load(path).value();
  auto conversation = rill::Conversation::create(rill::Session::create(model).value()).value();

  rill::GenerateOptions options{.max_tokens = 200, .sampling = rill::presets::extraction()};
  options.speculation = {.prompt_lookup = true};
  auto answer = conversation.say("Copy this text exactly, word for word:\n\n" + text, options).value();
  while (auto chunk = answer.next()) std::cout << chunk->text << std::flush;

  const rill::Timings timings = answer.result().value().timings;
  std::cout << "\n[" << timings.token_times.size() << " tokens in " << timings.decode_passes << " passes after the prompt, "
            << timings.accepted_tokens << " of " << timings.drafted_tokens << " guesses were right]\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: quote MODEL.gguf TEXT\n";
    return 2;
  }
  try {
    return run(argv[1], argv[2]);
  } catch (const rill::ErrorException& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
