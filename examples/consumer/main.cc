// The least that an application needs: load, ask, print.
#include <rill/rill.h>

#include <iostream>
#include <utility>

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: consumer MODEL.gguf QUESTION\n";
    return 2;
  }
  auto model = rill::Model::load(argv[1]);
  if (!model) {
    std::cerr << model.error().message << '\n';
    return 1;
  }
  auto session = rill::Session::create(*model);
  auto conversation = session ? rill::Conversation::create(*std::move(session)) : session.error();
  auto answer = conversation ? conversation->say(argv[2], {.max_tokens = 200}) : conversation.error();
  auto result = answer ? answer->finish() : answer.error();
  if (!result) {
    std::cerr << result.error().message << '\n';
    return 1;
  }
  std::cout << result->text << '\n';
}
