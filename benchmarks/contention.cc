// What does a model keep of its speed when other programs want the same cores? Beside 0, 1 and 2 busy processes, in
// rounds.
//
//   contention MODEL.gguf [--threads N] [--narrow 0|1] [--rounds N] [--json FILE]
//
// Fair shares of 2 threads on 2 cores are 1, 2/3 and 1/2. Needs a machine that is idle otherwise. POSIX only.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "rill/rill.h"
#include "support.h"

namespace {

using namespace rill::benchmarks;
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

struct Series {
  std::vector<double> speeds;  // of each round
  std::vector<double> ratios;  // to the quiet speed of the same round
};
using Table = Series[2][std::size(kProcesses)];  // [work][processes]

Json to_json(const Arguments& arguments, const Table& table) {
  Json json = {{"benchmark", "contention"},
               {"model", std::filesystem::path(arguments.word(0)).stem().string()},
               {"threads", arguments.number("threads")},
               {"narrow", arguments.number("narrow") != 0}};
  for (const Work work : {kDecode, kPrefill}) {
    for (const std::size_t n : kProcesses) {
      json["tokens_per_second"][kWorkNames[work]][std::to_string(n)] = table[work][n].speeds;
    }
  }
  return json;
}

void run(const Arguments& arguments) {
  const int threads = static_cast<int>(arguments.number("threads"));
  rill::ModelOptions options;
  options.pool = rill::ThreadPool::create({.threads = threads, .narrow = arguments.number("narrow") != 0}).value();
  const auto model = rill::Model::load(arguments.word(0), options).value();
  rill::Session session = rill::Session::create(model, {.context_tokens = 256}).value();
  std::vector<float> logits(model->info().vocabulary_size);
  session.feed(std::vector<rill::Token>(64, 100)).value();
  Table table;
  for (std::size_t round = 0; round < arguments.number("rounds"); ++round) {
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
      const Spread kept = spread(series.ratios);
      std::printf("%s beside %zu busy: %.1f tokens/s, %.2f of quiet (%.2f to %.2f)\n", kWorkNames[work], n,
                  median(series.speeds), kept.median, kept.least, kept.most);
    }
  }
  write_json(arguments.text("json"), to_json(arguments, table));
  const auto kept = [&](Work work, std::size_t n) { return median(table[work][n].ratios); };
  std::printf("threads=%d quiet_tokens_s=%.1f quiet=%.2f one=%.2f two=%.2f prefill_one=%.2f prefill_two=%.2f\n",
              threads, median(table[kDecode][0].speeds), kept(kDecode, 0), kept(kDecode, 1), kept(kDecode, 2),
              kept(kPrefill, 1), kept(kPrefill, 2));
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main([&] {
    run(Arguments(argc, argv, "contention MODEL.gguf [--threads N] [--narrow 0|1] [--rounds N] [--json FILE]",
                  {{"threads", "2"}, {"narrow", "1"}, {"rounds", "5"}, {"json", ""}}));
  });
}
