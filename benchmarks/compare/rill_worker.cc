// Does the work that benchmarks/compare/compare.py names on its standard input and answers with seconds. compare.py says how.
#include <chrono>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "rill/rill.h"

namespace {

using rill::Session;
using rill::Token;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

class Worker {
 public:
  Worker(const std::string& path, rill::ModelOptions options) : model_(rill::Model::load(path, std::move(options)).value()) {}

  // Seconds to read `count` tokens after `depth` others, up to the logits of the last.
  double prefill(std::size_t count, std::size_t depth) {
    Session session = start(depth + count);
    if (depth != 0) session.feed(tokens(depth)).value();
    const double begin = now();
    session.feed(tokens(count)).value();
    read_logits(session);
    return now() - begin;
  }

  // Seconds for `count` steps of one token each in `sequences` sequences of `depth` tokens, logits included.
  double decode(std::size_t count, std::size_t depth, std::size_t sequences) {
    std::vector<Session> sessions;
    for (std::size_t i = 0; i < sequences; ++i) {
      sessions.push_back(start(depth + count));
      sessions.back().feed(tokens(depth)).value();
    }
    std::vector<rill::FeedItem> items(sequences);
    std::vector<rill::Logits> handles;
    logits_.resize(sequences * model_->info().vocabulary_size);
    const double begin = now();
    for (std::size_t step = 0; step < count; ++step) {
      const Token token = token_at(step);
      for (std::size_t i = 0; i < sequences; ++i) items[i] = {&sessions[i], {&token, 1}, {}};
      rill::feed_batch(items).value();
      handles.clear();
      for (const Session& session : sessions) handles.push_back(session.logits());
      rill::logits_batch(handles, logits_).value();
    }
    return now() - begin;
  }

 private:
  // The same ids as the peers': any that both take are good.
  static Token token_at(std::size_t i) { return static_cast<Token>(100 + i % 1000); }
  static std::vector<Token> tokens(std::size_t count) {
    std::vector<Token> ids(count);
    for (std::size_t i = 0; i < count; ++i) ids[i] = token_at(i);
    return ids;
  }
  Session start(std::size_t context) { return Session::create(model_, {.context_tokens = context}).value(); }
  void read_logits(const Session& session) {
    logits_.resize(model_->info().vocabulary_size);
    session.logits().all(std::span<float>(logits_)).value();
  }

  std::shared_ptr<const rill::Model> model_;
  std::vector<float> logits_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: rill_worker MODEL.gguf THREADS [accurate]\n";
    return 2;
  }
  try {
    rill::ModelOptions options;
    options.threads = std::stoi(argv[2]);
    if (argc > 3) options.activations = rill::Activations::accurate;
    Worker worker(argv[1], std::move(options));
    std::cout << "ready" << std::endl;
    for (std::string line; std::getline(std::cin, line);) {
      std::istringstream words(line);
      std::string what;
      std::size_t count = 0, depth = 0, sequences = 1;
      words >> what >> count >> depth >> sequences;
      std::cout << (what == "prefill" ? worker.prefill(count, depth) : worker.decode(count, depth, sequences)) << std::endl;
    }
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
