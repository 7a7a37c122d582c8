// What does a model keep of its speed when other programs want the same cores? Beside 0, 1 and 2 busy processes, in
// rounds.
//
//   contention MODEL.gguf [--threads N] [--narrow 0|1] [--rounds N] [--json FILE]
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
#include <vector>

#include "rill/rill.h"

namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr std::size_t kProcesses[] = {0, 1, 2};
// Of each kind of work, process count and round.
constexpr auto kAdapting = 300ms;
constexpr auto kMeasured = 900ms;

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

enum Work { kDecode, kPrefill };
constexpr const char* kWorkNames[] = {"decode", "prefill"};

// Tokens per second from position 64 on, logits included: one by one, or 128 at once.
double speed(Work work, Clock::duration time, rill::Session& session, std::vector<float>& logits) {
  constexpr std::uint64_t kStart = 64;
  const std::vector<rill::Token> tokens(work == kDecode ? 32 : 128, 100);
  const std::size_t piece = work == kDecode ? 1 : tokens.size();
  std::size_t done = 0;
  const auto begin = Clock::now();
  Clock::duration elapsed{};
  do {
    session.truncate(kStart).value();
    for (std::size_t i = 0; i < tokens.size(); i += piece) {
      session.feed(std::span(tokens).subspan(i, piece)).value();
      session.logits().all(std::span<float>(logits)).value();
    }
    done += tokens.size();
    elapsed = Clock::now() - begin;
  } while (elapsed < time);
  return static_cast<double>(done) / std::chrono::duration<double>(elapsed).count();
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
  bool narrow = true;
  int rounds = 5;
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
    } else if (word == "--narrow") {
      arguments.narrow = std::stoi(argv[++i]) != 0;
    } else if (word == "--rounds") {
      arguments.rounds = std::stoi(argv[++i]);
    } else if (word == "--json") {
      arguments.json = argv[++i];
    } else {
      throw std::runtime_error("unknown option " + word);
    }
  }
  if (arguments.model.empty()) throw std::runtime_error("usage: contention MODEL.gguf [options]");
  return arguments;
}

struct Series {
  std::vector<double> speeds;  // of each round
  std::vector<double> ratios;  // to the quiet speed of the same round
};
using Table = Series[2][std::size(kProcesses)];  // [work][processes]

void write_json(const Arguments& arguments, const Table& table) {
  std::ofstream file(arguments.json);
  file << "{\"threads\": " << arguments.threads << ", \"narrow\": " << arguments.narrow << ", \"tokens_per_second\": {";
  for (const Work work : {kDecode, kPrefill}) {
    file << (work == kDecode ? "\"" : ", \"") << kWorkNames[work] << "\": {";
    for (const std::size_t n : kProcesses) {
      file << (n == 0 ? "\"" : ", \"") << n << "\": [";
      for (const double& speed : table[work][n].speeds)
        file << (&speed == &table[work][n].speeds.front() ? "" : ", ") << speed;
      file << "]";
    }
    file << "}";
  }
  file << "}}\n";
  if (!file.flush()) throw std::runtime_error(arguments.json + " could not be written");
}

void run(const Arguments& arguments) {
  rill::ModelOptions options;
  options.pool = rill::ThreadPool::create({.threads = arguments.threads, .narrow = arguments.narrow}).value();
  const auto model = rill::Model::load(arguments.model, options).value();
  rill::Session session = rill::Session::create(model, {.context_tokens = 256}).value();
  std::vector<float> logits(model->info().vocabulary_size);
  session.feed(std::vector<rill::Token>(64, 100)).value();
  Table table;
  for (int round = 0; round < arguments.rounds; ++round) {
    for (const std::size_t n : kProcesses) {
      const BusyProcesses busy(n);
      for (const Work work : {kDecode, kPrefill}) {
        Series& series = table[work][n];
        speed(work, kAdapting, session, logits);
        series.speeds.push_back(speed(work, kMeasured, session, logits));
        series.ratios.push_back(series.speeds.back() / table[work][0].speeds.back());
      }
    }
  }
  for (const Work work : {kDecode, kPrefill}) {
    for (const std::size_t n : kProcesses) {
      const Series& series = table[work][n];
      const auto [least, most] = std::minmax_element(series.ratios.begin(), series.ratios.end());
      std::printf("%s beside %zu busy: %.1f tokens/s, %.2f of quiet (%.2f to %.2f)\n", kWorkNames[work], n,
                  median(series.speeds), median(series.ratios), *least, *most);
    }
  }
  if (!arguments.json.empty()) write_json(arguments, table);
  const auto kept = [&](Work work, std::size_t n) { return median(table[work][n].ratios); };
  std::printf("threads=%d quiet_tokens_s=%.1f quiet=%.2f one=%.2f two=%.2f prefill_one=%.2f prefill_two=%.2f\n",
              arguments.threads, median(table[kDecode][0].speeds), kept(kDecode, 0), kept(kDecode, 1), kept(kDecode, 2),
              kept(kPrefill, 1), kept(kPrefill, 2));
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
