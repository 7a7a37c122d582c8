// The worker threads of an application share one BackgroundScheduler: each submits a prompt and reads its answer as it
// grows, while one thread of rill computes them all together.
//
//   serve_threads MODEL.gguf PROMPT...
#include <rill/rill.h>

#include <iostream>
#include <string>
#include <thread>
#include <vector>

namespace {

// What a server would do for each of its clients. A client that goes away only has to drop its ticket.
std::string serve(rill::BackgroundScheduler& scheduler, const std::string& prompt) {
  auto ticket = scheduler.submit({.prompt = prompt, .options = {.max_tokens = 48}, .deadline = std::chrono::seconds(60)});
  if (!ticket) return "refused: " + ticket.error().message;
  std::string text;
  for (bool finished = false; !finished;) {
    ticket->wait();
    finished = ticket->finished();
    while (auto chunk = ticket->try_next()) text += chunk->text;  // here it would be sent
  }
  const auto result = ticket->result();
  if (!result) return "error: " + result.error().message;
  return text + "\n[" + rill::to_string(result->finish_reason) + "; " + ticket->ledger().value().explain() + "]";
}

int run(const std::string& path, const std::vector<std::string>& prompts) {
  const auto model = rill::Model::load(path).value();
  auto scheduler = rill::BackgroundScheduler::create(model).value();

  std::vector<std::string> answers(prompts.size());
  std::vector<std::thread> workers;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    workers.emplace_back([&, i] { answers[i] = serve(scheduler, prompts[i]); });
  }
  for (std::thread& worker : workers) worker.join();

  for (std::size_t i = 0; i < prompts.size(); ++i) std::cout << "> " << prompts[i] << '\n' << answers[i] << "\n\n";
  std::cout << rill::prometheus_text(scheduler.metrics());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: serve_threads MODEL.gguf PROMPT...\n";
    return 2;
  }
  try {
    return run(argv[1], {argv + 2, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
