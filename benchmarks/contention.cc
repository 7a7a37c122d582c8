// What does decode keep of its speed when other programs want the same cores? Beside 0, 1 and 2 busy processes, in rounds.
//
//   contention MODEL.gguf [--threads N] [--rounds N] [--json FILE]
//
// Fair shares of 2 threads on 2 cores are 1, 2/3 and 1/2. Needs a machine that is idle otherwise. POSIX only.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "rill/rill.h"

namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr std::size_t kProcesses[] = {0, 1, 2};
constexpr auto kMeasured = 600ms;

// Child processes that do nothing but compute.
class BusyProcesses {
 public:
  explicit BusyProcesses(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      const pid_t child = ::fork();
      if (child == 0) {
        ::alarm(30);  // its end if this process is killed
        for (volatile unsigned spin = 0;;) spin = spin + 1;
      }
      if (child > 0) children_.push_back(child);
    }
    if (children_.size() != count) throw std::runtime_error("a process could not be started");
  }
  ~BusyProcesses() {
    for (const pid_t child : children_) {
      ::kill(child, SIGKILL);
      ::waitpid(child, nullptr, 0);
    }
  }
  BusyProcesses(const BusyProcesses&) = delete;
  BusyProcesses& operator=(const BusyProcesses&) = delete;

 private:
  std::vector<pid_t> children_;
};

// Tokens per second of greedy decoding near position 64.
double decode_speed(rill::Session& session, std::vector<float>& logits) {
  constexpr std::uint64_t kStart = 64, kSteps = 32;
  std::size_t tokens = 0;
  const auto begin = Clock::now();
  Clock::duration elapsed{};
  do {
    session.truncate(kStart).value();
    for (std::uint64_t i = 0; i < kSteps; ++i) {
      session.feed(static_cast<rill::Token>(100 + i)).value();
      session.logits().all(std::span<float>(logits)).value();
    }
    tokens += kSteps;
    elapsed = Clock::now() - begin;
  } while (elapsed < kMeasured);
  return static_cast<double>(tokens) / std::chrono::duration<double>(elapsed).count();
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

struct Arguments {
  std::string model;
  std::string json;
  int threads = 2;
  int rounds = 7;
};

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.rfind("--", 0) != 0) {
      arguments.model = word;
    } else if (i + 1 == argc) {
      throw std::runtime_error(word + " wants a value");
    } else if (word == "--threads") {
      arguments.threads = std::stoi(argv[++i]);
    } else if (word == "--rounds") {
      arguments.rounds = std::stoi(argv[++i]);
    } else if (word == "--json") {
      arguments.json = argv[++i];
    } else {
      throw std::runtime_error("unknown option " + word);
    }
  }
  if (arguments.model.empty()) throw std::runtime_error("usage: contention MODEL.gguf [--threads N] [--rounds N] [--json FILE]");
  return arguments;
}

void write_json(const Arguments& arguments, const std::vector<std::vector<double>>& speeds) {
  std::ofstream file(arguments.json);
  file << "{\"threads\": " << arguments.threads << ", \"tokens_per_second\": {";
  for (std::size_t n = 0; n < speeds.size(); ++n) {
    file << (n == 0 ? "\"" : ", \"") << kProcesses[n] << "\": [";
    for (std::size_t i = 0; i < speeds[n].size(); ++i) file << (i == 0 ? "" : ", ") << speeds[n][i];
    file << "]";
  }
  file << "}}\n";
  if (!file.flush()) throw std::runtime_error(arguments.json + " could not be written");
}

void run(const Arguments& arguments) {
  const auto model = rill::Model::load(arguments.model, {.threads = arguments.threads}).value();
  rill::Session session = rill::Session::create(model, {.context_tokens = 256}).value();
  std::vector<float> logits(model->info().vocabulary_size);
  session.feed(std::vector<rill::Token>(64, 100)).value();
  std::vector<std::vector<double>> speeds(std::size(kProcesses)), ratios(std::size(kProcesses));
  for (int round = 0; round < arguments.rounds; ++round) {
    for (std::size_t n = 0; n < std::size(kProcesses); ++n) {
      const BusyProcesses busy(kProcesses[n]);
      std::this_thread::sleep_for(50ms);
      speeds[n].push_back(decode_speed(session, logits));
      ratios[n].push_back(speeds[n].back() / speeds[0].back());
    }
  }
  for (std::size_t n = 0; n < std::size(kProcesses); ++n) {
    const auto [least, most] = std::minmax_element(ratios[n].begin(), ratios[n].end());
    std::printf("beside %zu busy: %.1f tokens/s, %.2f of quiet (%.2f to %.2f)\n", kProcesses[n], median(speeds[n]),
                median(ratios[n]), *least, *most);
  }
  if (!arguments.json.empty()) write_json(arguments, speeds);
  std::printf("threads=%d quiet_tokens_s=%.1f quiet=%.2f one=%.2f two=%.2f\n", arguments.threads, median(speeds[0]),
              median(ratios[0]), median(ratios[1]), median(ratios[2]));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(parse(argc, argv));
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
