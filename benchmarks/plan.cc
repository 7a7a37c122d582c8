// Whether a plan, made of the file alone, is what a process then takes: the most memory that it held while it loaded
// the model and served sequences of a given length to their end, against what was planned.
//
//   plan MODEL.gguf... [--contexts 512,2048] [--sequences 1,4] [--kv-type f16] [--threads 2] [--json FILE]
//
// Each figure is of a fresh process. What that takes anyway, before it loads the model, is no part of a plan: it is
// measured in the same process and shown apart.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <sstream>
#include <stdexcept>

#include "child.h"
#include "rill/rill.h"
#include "support.h"

namespace {

using namespace rill;
using namespace rill::benchmarks;

// A line of /proc/self/status: VmRSS is what the process holds, VmHWM the most that it has held.
std::uint64_t status(const std::string& key) {
  std::ifstream file("/proc/self/status");
  for (std::string word; file >> word;) {
    std::uint64_t kib;
    if (word == key + ":" && file >> kib) return kib << 10;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  throw std::runtime_error("no " + key + " in /proc/self/status");
}

struct Served {
  std::uint64_t before = 0, loaded = 0, peak = 0;  // bytes: held before the load; the most until its end, and in all
};

// Long enough for all to be under way when the last prompt has been read.
std::size_t answer_tokens(const MemoryNeeds& needs) {
  return static_cast<std::size_t>(8 + needs.sequences * needs.context_tokens / 240);
}

GenerateOptions answer(const MemoryNeeds& needs) {
  return {.max_tokens = answer_tokens(needs), .sampling = presets::creative(), .end_tokens = std::vector<Token>()};
}

// One after the other, but what they hold is kept.
void serve_sessions(const std::shared_ptr<const Model>& model, const MemoryNeeds& needs,
                    const std::shared_ptr<KvPool>& pool, const std::vector<Token>& prompt) {
  std::vector<Session> sessions;
  std::vector<Generation> answers;
  sessions.reserve(needs.sequences);
  for (std::size_t i = 0; i < needs.sequences; ++i) {
    sessions.push_back(
        Session::create(model, {.context_tokens = needs.context_tokens, .kv_type = needs.kv_type, .kv_pool = pool})
            .value());
    answers.push_back(sessions.back().generate(prompt, answer(needs)).value());
    while (answers.back().next()) continue;
    answers.back().result().value();
  }
}

void serve_scheduler(const std::shared_ptr<const Model>& model, const MemoryNeeds& needs,
                     const std::shared_ptr<KvPool>& pool, const std::vector<Token>& prompt) {
  SchedulerOptions options;
  options.kv_pool = pool;
  options.context_tokens = needs.context_tokens;
  options.kv_type = needs.kv_type;
  options.max_sequences = needs.sequences;
  Scheduler scheduler = Scheduler::create(model, options).value();
  std::vector<Ticket> tickets;
  for (std::size_t i = 0; i < needs.sequences; ++i) {
    Request request;
    request.prompt = prompt;
    request.options = answer(needs);
    tickets.push_back(scheduler.submit(std::move(request)).value());
  }
  std::size_t most = 0;
  for (bool idle = false; !idle;) {
    const StepReport report = scheduler.step().value();
    most = std::max(most, report.decoded);
    idle = report.idle();
  }
  if (most < needs.sequences) throw std::logic_error("they were not all under way at a time");
  for (const Ticket& ticket : tickets) ticket.result().value();
}

// The measured process.
void measured(char** argv) {
  const std::uint64_t before = status("VmRSS");
  const auto model = Model::load(argv[2], {.threads = std::stoi(argv[3])}).value();
  const std::uint64_t loaded = status("VmHWM");
  const MemoryNeeds needs{.context_tokens = std::stoul(argv[4]),
                          .sequences = std::stoul(argv[5]),
                          .kv_type = kv_type(argv[6]),
                          .sessions = std::strcmp(argv[7], "sessions") == 0};
  const auto pool = KvPool::create(model, {.budget_bytes = plan_memory(model_memory(*model), needs).kv_peak,
                                           .kv_type = needs.kv_type})
                        .value();
  const std::vector<Token> prompt = tokens(static_cast<std::size_t>(needs.context_tokens) - answer_tokens(needs));
  (needs.sessions ? serve_sessions : serve_scheduler)(model, needs, pool, prompt);
  std::cout << before << ' ' << loaded << ' ' << status("VmHWM") << std::endl;
}

Served serve(const std::string& model, const std::string& threads, const MemoryNeeds& needs, const std::string& type) {
  const Child child = run_child({"/proc/self/exe", "--measured", model, threads, std::to_string(needs.context_tokens),
                                 std::to_string(needs.sequences), type, needs.sessions ? "sessions" : "scheduler"});
  std::istringstream numbers(child.output);
  Served served;
  if (!(numbers >> served.before >> served.loaded >> served.peak)) throw std::runtime_error("it said nothing");
  return served;
}

double mib(std::uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

class Comparison {
 public:
  explicit Comparison(const Arguments& arguments) : arguments_(arguments) {}

  void compare(const std::string& path) {
    name_ = std::filesystem::path(path).stem().string();
    model_ = model_memory(path, static_cast<int>(arguments_.number("threads"))).value();
    std::printf(
        "%s, MiB\n           context sequences  weights tokenizer scratch sampling       KV   planned  measured\n",
        name_.c_str());
    for (const bool sessions : {true, false}) {
      for (const std::size_t context : arguments_.numbers("contexts")) {
        for (const std::size_t sequences : arguments_.numbers("sequences")) {
          compare(path, {.context_tokens = context,
                         .sequences = sequences,
                         .kv_type = kv_type(arguments_.text("kv-type")),
                         .sessions = sessions});
        }
      }
    }
    std::printf("  loading %35s %45.1f %9.1f\n", "", mib(plan_.weights + plan_.tokenizer + plan_.loading),
                mib(loading_));
    note(plan_.weights + plan_.tokenizer + plan_.loading, loading_);
  }

  void finish() const {
    write_json(arguments_.text("json"), {{"benchmark", "plan"}, {"rows", rows_}});
    std::printf("runs=%zu worst_off_percent=%.1f\n", rows_.size(), 100 * worst_);
  }

 private:
  void compare(const std::string& path, const MemoryNeeds& needs) {
    plan_ = plan_memory(model_, needs);
    const Served served = serve(path, arguments_.text("threads"), needs, arguments_.text("kv-type"));
    const std::uint64_t took = served.peak - served.before;
    const char* way = needs.sessions ? "sessions" : "scheduler";
    std::printf("%-10s %7zu %9zu %8.1f %9.1f %7.1f %8.1f %8.1f %9.1f %9.1f  %+.1f %%, beside %.1f of the process\n",
                way, static_cast<std::size_t>(needs.context_tokens), static_cast<std::size_t>(needs.sequences),
                mib(plan_.weights), mib(plan_.tokenizer), mib(plan_.scratch), mib(plan_.sampling), mib(plan_.kv_peak),
                mib(plan_.peak()), mib(took), 100 * note(plan_.peak(), took), mib(served.before));
    rows_.push_back({{"model", name_},
                     {"way", way},
                     {"context", needs.context_tokens},
                     {"sequences", needs.sequences},
                     {"planned", plan_.peak()},
                     {"measured", took},
                     {"before", served.before}});
    loading_ = served.loaded - served.before;
  }

  double note(std::uint64_t planned, std::uint64_t took) {
    const double off = static_cast<double>(planned) / static_cast<double>(took) - 1;
    worst_ = std::max(worst_, std::abs(off));
    return off;
  }

  const Arguments& arguments_;
  std::string name_;
  ModelMemory model_;
  MemoryPlan plan_;
  std::uint64_t loading_ = 0;  // measured
  double worst_ = 0;
  Json rows_;
};

void run(const Arguments& arguments) {
  Comparison comparison(arguments);
  for (std::size_t i = 0; i < std::max<std::size_t>(1, arguments.words()); ++i) comparison.compare(arguments.word(i));
  comparison.finish();
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main([&] {
    if (argc == 8 && std::strcmp(argv[1], "--measured") == 0) return measured(argv);
    run(Arguments(
        argc, argv,
        "plan MODEL.gguf... [--contexts N,...] [--sequences N,...] [--kv-type TYPE] [--threads N] "
        "[--json FILE]",
        {{"contexts", "512,2048"}, {"sequences", "1,4"}, {"kv-type", "f16"}, {"threads", "2"}, {"json", ""}}));
  });
}
