// A chat in the terminal. Ctrl-C stops the answer, not the program.
//
//   chat MODEL.gguf [options]      chat --help lists them
#include <rill/rill.h>

#include <atomic>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#ifdef _WIN32
#include <io.h>
#define ISATTY(file) (_isatty(_fileno(file)) != 0)
#else
#include <unistd.h>
#define ISATTY(file) (isatty(fileno(file)) != 0)
#endif

namespace {

constexpr const char* kUsage =
    "usage: chat MODEL.gguf [options]\n"
    "  --prompt TEXT      answer once and exit\n"
    "  --system TEXT      instructions for the model\n"
    "  --preset NAME      extraction, classification, code, tool_call, chat (default), creative, from_model\n"
    "  --max-tokens N     per answer (default 512)\n"
    "  --seed N           of the draws (default 0: the same answer every time)\n"
    "  --context N        tokens of the window (default: what the model was made for)\n"
    "  --kv-type TYPE     f32, f16 (default), q8_0\n"
    "  --speculation HOW  lookup: guess ahead from what was said, for speed; off (default). The answers are the same\n"
    "  --threads N        0 (default): as many as the machine has performance cores\n"
    "  --packed-cache F   file that keeps the packed weights, for a faster start from the second time on\n"
    "in the chat: /reset forgets, /system TEXT changes the instructions, /save FILE keeps the chat, /load FILE goes on with it,\n"
    "  /stats, /help, /exit\n";

struct Options {
  std::string model;
  std::optional<std::string> prompt;
  std::string system;
  std::string preset = "chat";
  std::size_t max_tokens = 512;
  std::uint64_t seed = 0;
  std::size_t context = 0;
  rill::KvType kv_type = rill::KvType::f16;
  rill::SpeculationOptions speculation;
  int threads = 0;
  std::filesystem::path packed_cache;
};

class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

template <typename Number>
void read_number(const std::string& name, const std::string& text, Number& number) {
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stopped != end) throw UsageError(name + " wants a number, not '" + text + "'");
}

rill::KvType to_kv_type(const std::string& text) {
  if (text == "f32") return rill::KvType::f32;
  if (text == "f16") return rill::KvType::f16;
  if (text == "q8_0") return rill::KvType::q8_0;
  throw UsageError("--kv-type wants f32, f16 or q8_0, not '" + text + "'");
}

rill::SpeculationOptions to_speculation(const std::string& text) {
  if (text == "off") return {};
  if (text == "lookup") return {.prompt_lookup = true};
  throw UsageError("--speculation wants off or lookup, not '" + text + "'");
}

rill::SamplingOptions preset(const std::string& name, const rill::Model& model) {
  if (name == "extraction") return rill::presets::extraction();
  if (name == "classification") return rill::presets::classification();
  if (name == "code") return rill::presets::code();
  if (name == "tool_call") return rill::presets::tool_call();
  if (name == "chat") return rill::presets::chat();
  if (name == "creative") return rill::presets::creative();
  if (name == "from_model") {
    auto found = rill::presets::from_model(model.sampling_metadata());
    if (found.used.empty()) std::cerr << "the model file recommends no sampling: drawing from the whole distribution\n";
    return found.options;
  }
  throw UsageError("--preset has no '" + name + "'");
}

Options parse(int argc, char** argv) {
  Options options;
  const std::map<std::string, std::function<void(const std::string&, const std::string&)>> setters = {
      {"--prompt", [&](auto&, auto& text) { options.prompt = text; }},
      {"--system", [&](auto&, auto& text) { options.system = text; }},
      {"--preset", [&](auto&, auto& text) { options.preset = text; }},
      {"--max-tokens", [&](auto& name, auto& text) { read_number(name, text, options.max_tokens); }},
      {"--seed", [&](auto& name, auto& text) { read_number(name, text, options.seed); }},
      {"--context", [&](auto& name, auto& text) { read_number(name, text, options.context); }},
      {"--kv-type", [&](auto&, auto& text) { options.kv_type = to_kv_type(text); }},
      {"--speculation", [&](auto&, auto& text) { options.speculation = to_speculation(text); }},
      {"--threads", [&](auto& name, auto& text) { read_number(name, text, options.threads); }},
      {"--packed-cache", [&](auto&, auto& text) { options.packed_cache = text; }},
  };
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const auto setter = setters.find(argument);
    if (setter != setters.end()) {
      if (++i == argc) throw UsageError(argument + " wants a value");
      setter->second(argument, argv[i]);
    } else if (argument.starts_with("--") || !options.model.empty()) {
      throw UsageError("what is '" + argument + "'?");
    } else {
      options.model = argument;
    }
  }
  if (options.model.empty()) throw UsageError("which model?");
  return options;
}

// Where Ctrl-C goes: to the answer that is running, or, with none, to the default, which ends the program.
std::atomic<rill::StopSource*> running_answer{nullptr};

void on_interrupt(int) {
  if (rill::StopSource* source = running_answer.load()) {
    source->request_stop();
  } else {
    std::signal(SIGINT, SIG_DFL);
    std::raise(SIGINT);
  }
}

class ProgressBar {
 public:
  explicit ProgressBar(const char* what) : what_(what), shown_(ISATTY(stderr)) {}
  ~ProgressBar() {
    if (drawn_) std::fprintf(stderr, "\r\033[K");
  }
  void draw(double fraction) {
    constexpr int kWidth = 40;
    const int filled = static_cast<int>(fraction * kWidth);
    if (!shown_ || (drawn_ && filled == filled_)) return;
    std::fprintf(stderr, "\r%s [%.*s%*s]", what_, filled, "########################################", kWidth - filled, "");
    drawn_ = true;
    filled_ = filled;
  }

 private:
  const char* what_;
  bool shown_;
  bool drawn_ = false;
  int filled_ = 0;
};

double seconds(rill::Duration duration) { return std::chrono::duration<double>(duration).count(); }

class Chat {
 public:
  Chat(const Options& options, std::shared_ptr<const rill::Model> model)
      : options_(options), sampling_(preset(options.preset, *model)), conversation_(start(options, std::move(model))) {
    sampling_.seed = options.seed;
    reset();
  }

  // False if the answer failed.
  bool answer(const std::string& text) {
    rill::StopSource stop;
    running_answer = &stop;
    auto progress = std::make_unique<ProgressBar>("reading");
    rill::GenerateOptions generate;
    generate.max_tokens = options_.max_tokens;
    generate.sampling = sampling_;
    generate.context_policy = rill::ContextPolicy::stop;
    generate.speculation = options_.speculation;
    generate.stop = stop.token();
    generate.prefill_progress = [&](std::size_t done, std::size_t total) {
      if (progress != nullptr && total > 512) progress->draw(static_cast<double>(done) / static_cast<double>(total));
    };
    auto answer = conversation_.say(text, generate);
    bool good = answer.has_value();
    if (good) {
      while (auto chunk = answer->next()) {
        progress.reset();
        std::cout << chunk->text << std::flush;
      }
      progress.reset();
      std::cout << '\n';
      const auto result = answer->result();
      good = result.has_value();
      if (good) {
        report(*result);
      } else {
        complain(result.error());
      }
    } else {
      complain(answer.error());
    }
    running_answer = nullptr;
    if (!good) conversation_.pop();
    return good;
  }

  void command(const std::string& line) {
    if (line == "/reset") {
      reset();
    } else if (line.starts_with("/system")) {
      options_.system = line.size() > 8 ? line.substr(8) : "";
      reset();
    } else if (line.starts_with("/save ")) {
      save(rill::path_from_utf8(line.substr(6)));
    } else if (line.starts_with("/load ")) {
      load(rill::path_from_utf8(line.substr(6)));
    } else if (line == "/stats") {
      std::cout << last_report_ << '\n';
    } else {
      std::cout << kUsage;
    }
  }

 private:
  static rill::Conversation start(const Options& options, std::shared_ptr<const rill::Model> model) {
    auto session =
        rill::Session::create(std::move(model), {.context_tokens = options.context, .kv_type = options.kv_type}).value();
    return rill::Conversation::create(std::move(session)).value();
  }

  void reset() {
    conversation_.clear();
    if (!options_.system.empty()) conversation_.add({.role = "system", .content = options_.system});
  }

  void save(const std::filesystem::path& file) {
    if (const auto saved = conversation_.save(file); !saved) return complain(saved.error());
    std::cerr << "saved: " << conversation_.session().length() << " tokens\n";
  }

  void load(const std::filesystem::path& file) {
    if (const auto loaded = conversation_.restore(file); !loaded) return complain(loaded.error());
    for (const rill::Message& message : conversation_.messages()) {
      std::cout << message.role << ": " << message.content << '\n';
    }
  }

  void complain(const rill::Error& error) { std::cerr << "error: " << to_string(error.code) << ": " << error.message << '\n'; }

  void report(const rill::GenerationResult& result) {
    const rill::Timings& timings = result.timings;
    std::string line = std::string("[") + to_string(result.finish_reason) + ", " + std::to_string(timings.token_times.size()) +
                       " tokens, " + std::to_string(timings.prefilled_tokens) + " read, " +
                       std::to_string(timings.reused_tokens) + " reused";
    char buffer[160];
    if (timings.ttft) {
      std::snprintf(buffer, sizeof buffer, ", TTFT %.0f ms", 1e3 * seconds(*timings.ttft));
      line += buffer;
    }
    if (timings.tpot()) {
      std::snprintf(buffer, sizeof buffer, ", TPOT %.2f ms, %.1f tokens/s", 1e3 * seconds(*timings.tpot()),
                    1.0 / seconds(*timings.tpot()));
      line += buffer;
    }
    if (timings.drafted_tokens != 0) {
      std::snprintf(buffer, sizeof buffer, ", %zu of %zu guesses right", timings.accepted_tokens, timings.drafted_tokens);
      line += buffer;
    }
    std::snprintf(buffer, sizeof buffer, ", KV %.1f MiB]", static_cast<double>(conversation_.session().kv_bytes()) / (1 << 20));
    last_report_ = line + buffer;
    std::cerr << last_report_ << '\n';
  }

  Options options_;
  rill::SamplingOptions sampling_;
  rill::Conversation conversation_;
  std::string last_report_ = "nothing was answered yet";
};

int run(const Options& options) {
  std::shared_ptr<const rill::Model> model;
  {
    ProgressBar progress("loading");
    rill::ModelOptions load;
    load.threads = options.threads;
    load.progress = [&](double done) { progress.draw(done); };
    load.packed_cache = options.packed_cache;
    load.log = [](rill::LogLevel, std::string_view message) { std::cerr << message << '\n'; };
    model = rill::Model::load(options.model, std::move(load)).value();
  }
  Chat chat(options, std::move(model));
  std::signal(SIGINT, on_interrupt);
  if (options.prompt) return chat.answer(*options.prompt) ? 0 : 1;

  std::cerr << "/help lists the commands; Ctrl-C stops an answer, Ctrl-D ends\n";
  std::string line;
  while (std::cerr << "> " && std::getline(std::cin, line)) {
    if (line == "/exit") break;
    if (line.starts_with("/")) {
      chat.command(line);
    } else if (!line.empty()) {
      chat.answer(line);
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string(argv[1]) == "--help") {
    std::cout << kUsage;
    return 0;
  }
  try {
    return run(parse(argc, argv));
  } catch (const UsageError& error) {
    std::cerr << error.what() << '\n' << kUsage;
    return 2;
  } catch (const rill::ErrorException& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
