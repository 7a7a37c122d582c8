// Does the work that compare.py names on its standard input and answers with numbers. compare.py says how.
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "machine_limits.h"
#include "rill/rill.h"
#include "support.h"

namespace {

using rill::Session;
using rill::Token;
using rill::benchmarks::seconds_now;
using rill::benchmarks::token_at;
using rill::benchmarks::tokens;

class Worker {
 public:
  Worker(const std::string& path, rill::ModelOptions options)
      : model_(rill::Model::load(path, std::move(options)).value()) {}

  // Seconds to read `count` tokens after `depth` others, up to the logits of the last.
  double prefill(std::size_t count, std::size_t depth) {
    Session session = std::move(start(count, depth, 1).front());
    const double begin = seconds_now();
    session.feed(tokens(count)).value();
    read_logits(session);
    return seconds_now() - begin;
  }

  // Seconds for `count` steps of one token each in `sequences` sequences of `depth` tokens, logits included.
  double decode(std::size_t count, std::size_t depth, std::size_t sequences) {
    std::vector<Session> sessions = start(count, depth, sequences);
    std::vector<rill::FeedItem> items(sequences);
    std::vector<rill::Logits> handles;
    logits_.resize(sequences * model_->info().vocabulary_size);
    const double begin = seconds_now();
    for (std::size_t step = 0; step < count; ++step) {
      const Token token = token_at(step);
      for (std::size_t i = 0; i < sequences; ++i) items[i] = {&sessions[i], {&token, 1}, {}};
      rill::feed_batch(items).value();
      handles.clear();
      for (const Session& session : sessions) handles.push_back(session.logits());
      rill::logits_batch(handles, logits_).value();
    }
    return seconds_now() - begin;
  }

  // The bytes that each of decode's steps reads, about.
  double step_bytes(std::size_t count, std::size_t depth) const {
    return rill::benchmarks::decode_bytes(*model_, depth + count / 2, rill::KvType::f16);
  }

  // Seconds to read as much memory as decode does with one sequence, and nothing else.
  double read(std::size_t count, std::size_t depth) {
    const auto bytes = static_cast<std::size_t>(step_bytes(count, depth));
    if (bytes > probe_bytes_) {
      probe_.emplace(bytes);
      probe_bytes_ = bytes;
    }
    return probe_->seconds(bytes, static_cast<int>(model_->thread_pool().threads()), count);
  }

 private:
  // Sessions of `depth` tokens each, computed apart, with room for `count` more; those of the last call serve again if
  // they were for the same.
  std::vector<Session> start(std::size_t count, std::size_t depth, std::size_t sequences) {
    if (const std::tuple key(count, depth, sequences); held_for_ != key) {
      held_.clear();
      for (std::size_t i = 0; i < sequences; ++i) {
        held_.push_back(Session::create(model_, {.context_tokens = depth + count}).value());
        if (depth != 0) held_.back().feed(tokens(depth)).value();
      }
      held_for_ = key;
    }
    std::vector<Session> sessions;
    for (const Session& session : held_) sessions.push_back(session.fork().value());
    return sessions;
  }
  void read_logits(const Session& session) {
    logits_.resize(model_->info().vocabulary_size);
    session.logits().all(std::span<float>(logits_)).value();
  }

  std::shared_ptr<const rill::Model> model_;
  std::vector<Session> held_;
  std::tuple<std::size_t, std::size_t, std::size_t> held_for_;
  std::vector<float> logits_;
  std::size_t probe_bytes_ = 0;
  std::optional<rill::benchmarks::ReadProbe> probe_;
};

double answer(Worker& worker, const std::string& what, std::size_t count, std::size_t depth, std::size_t sequences) {
  if (what == "prefill") return worker.prefill(count, depth);
  if (what == "decode") return worker.decode(count, depth, sequences);
  if (what == "read") return worker.read(count, depth);
  if (what == "bytes") return worker.step_bytes(count, depth);
  throw std::invalid_argument("unknown work: " + what);
}

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
      std::cout << answer(worker, what, count, depth, sequences) << std::endl;
    }
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
