// From the start of a process to the first token of a 17-token prompt, and the most memory it held.
//
//   load MODEL.gguf [--threads N] [--rounds N] [--json FILE] [--peer-python PYTHON]
//
// Every figure is of a fresh process, the files in the system's cache; the sides take turns, and medians are reported:
// without and with a packed cache, which the first round writes, and the peer. That is llama-cpp-python, whose time
// counts from after its import, so that Python's own start is not held against it.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "child.h"
#include "rill/rill.h"
#include "support.h"

namespace {

using namespace rill::benchmarks;
using rill::Model;
using rill::Session;
using rill::Token;

constexpr std::size_t kPromptTokens = 17;
constexpr const char* kPrompt =
    "Once upon a time there was a fisherman who lived with his wife in a little hut close by the sea, and every day he "
    "went out fishing.";

constexpr const char* kPeer = R"(
import sys, time, llama_cpp
start = time.monotonic_ns()
model = llama_cpp.Llama(sys.argv[1], n_ctx=512, n_threads=int(sys.argv[2]), n_threads_batch=int(sys.argv[2]), verbose=False)
model.eval(model.tokenize(sys.argv[3].encode())[:17])
model.sample(temp=0.0)
end = time.monotonic_ns()
print(start, end, 0)
)";

struct TemporaryFile {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("rill_load_" + std::to_string(::getpid()) + ".packed");
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove(path, ignored);
  }
};

// Nanoseconds of the clock that all processes of a machine share.
std::int64_t now() { return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1); }

struct Start {
  double seconds = 0;     // to the first token
  double peak_bytes = 0;  // resident
  double kv_bytes = 0;
};

// The measured process: prints when it began (0: when it was started), when it had the first token, and the bytes of
// its KV.
void measured(const std::string& path, int threads, const std::string& cache) {
  const auto model = Model::load(path, {.threads = threads, .packed_cache = cache}).value();
  Session session = Session::create(model).value();
  std::vector<Token> prompt = model->tokenizer().encode(kPrompt).value();
  prompt.resize(kPromptTokens);
  auto answer = session.generate(prompt, {.max_tokens = 1}).value();
  if (!answer.next()) throw std::runtime_error("no token");
  std::cout << 0 << ' ' << now() << ' ' << session.kv_bytes() << std::endl;
}

Start run(const std::vector<std::string>& command) {
  const std::int64_t begin = now();
  const Child child = run_child(command);
  std::istringstream words(child.output);
  std::int64_t counted_from = 0, end = 0;
  Start start;
  if (!(words >> counted_from >> end >> start.kv_bytes)) throw std::runtime_error(command[0] + " failed");
  start.seconds = 1e-9 * static_cast<double>(end - std::max(begin, counted_from));
  start.peak_bytes = static_cast<double>(child.peak_bytes);
  return start;
}

struct Side {
  std::string name;
  std::vector<std::string> command;
  std::vector<Start> starts = {};

  double median_of(double Start::*figure) const {
    std::vector<double> values;
    for (const Start& start : starts) values.push_back(start.*figure);
    return median(std::move(values));
  }
};

Json to_json(const std::string& model, const std::vector<Side>& sides) {
  Json json = {{"benchmark", "load"}, {"model", std::filesystem::path(model).stem().string()}};
  for (const Side& side : sides) {
    Json& starts = json["sides"][side.name];
    for (const Start& start : side.starts) {
      starts.push_back({{"seconds", start.seconds}, {"peak_bytes", start.peak_bytes}});
    }
  }
  return json;
}

void compare(const Arguments& arguments) {
  const std::string model = arguments.word(0), threads = arguments.text("threads"),
                    peer = arguments.text("peer-python");
  const int rounds = static_cast<int>(arguments.number("rounds"));
  std::vector<Side> sides;
  const TemporaryFile cache;
  sides.push_back({"rill", {"/proc/self/exe", model, "--measured", threads, ""}});
  sides.push_back({"rill_packed", {"/proc/self/exe", model, "--measured", threads, cache.path}});
  if (!peer.empty()) sides.push_back({"llama_cpp", {peer, "-c", kPeer, model, threads, kPrompt}});
  for (int round = -1; round < rounds; ++round) {  // the first one warms the caches and is not counted
    for (Side& side : sides) {
      const Start start = run(side.command);
      if (round >= 0) side.starts.push_back(start);
    }
  }
  write_json(arguments.text("json"), to_json(model, sides));
  constexpr double kMiB = 1 << 20;
  const double file_mib = static_cast<double>(std::filesystem::file_size(model)) / kMiB;
  std::string summary;
  for (const Side& side : sides) {
    const double ms = 1e3 * side.median_of(&Start::seconds);
    const double peak = side.median_of(&Start::peak_bytes) / kMiB, kv = side.median_of(&Start::kv_bytes) / kMiB;
    const auto [least, most] = std::minmax_element(
        side.starts.begin(), side.starts.end(), [](const Start& a, const Start& b) { return a.seconds < b.seconds; });
    std::printf("%-10s first token %6.1f ms (%.1f to %.1f), peak %6.1f MiB: file %.1f, KV %.1f\n", side.name.c_str(),
                ms, 1e3 * least->seconds, 1e3 * most->seconds, peak, file_mib, kv);
    char pairs[160];
    std::snprintf(pairs, sizeof pairs, "%s%s_first_token_ms=%.1f %s_peak_mib=%.1f", summary.empty() ? "" : " ",
                  side.name.c_str(), ms, side.name.c_str(), peak);
    summary += pairs;
  }
  std::printf("%s peak_bound_mib=%.1f\n", summary.c_str(),
              1.15 * file_mib + sides[0].median_of(&Start::kv_bytes) / kMiB + 32);
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main([&] {
    if (argc == 5 && std::strcmp(argv[2], "--measured") == 0) return measured(argv[1], std::stoi(argv[3]), argv[4]);
    compare(Arguments(argc, argv, "load MODEL.gguf [--threads N] [--rounds N] [--json FILE] [--peer-python PYTHON]",
                      {{"threads", "2"}, {"rounds", "7"}, {"json", ""}, {"peer-python", ""}}));
  });
}
