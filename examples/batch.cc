// Answers many prompts, one a line of a file, through one scheduler, and shows how it goes. A model with a chat
// template gets them as messages.
//
//   batch MODEL.gguf PROMPTS.txt [max_tokens]
#include <rill/rill.h>

#include <charconv>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

namespace {

double seconds(rill::Duration time) { return std::chrono::duration<double>(time).count(); }

// One line, written over again.
void show(const rill::SchedulerMetrics& metrics, rill::Duration elapsed) {
  std::cerr << "\rrunning " << metrics.running << "  queued " << metrics.queued << "  finished " << metrics.finished
            << "  " << std::fixed << std::setprecision(1)
            << static_cast<double>(metrics.generated_tokens) / seconds(elapsed) << " tokens/s  pool "
            << static_cast<double>(metrics.pool_used_bytes) / (1 << 20) << " MiB   " << std::flush;
}

int run(const std::string& model_path, const std::string& prompts_path, std::size_t max_tokens) {
  std::ifstream file(prompts_path);
  if (!file) {
    std::cerr << "cannot read " << prompts_path << '\n';
    return 1;
  }
  const auto model = rill::Model::load(model_path).value();
  auto scheduler = rill::Scheduler::create(model, {.max_queue = 100'000}).value();

  const bool chats = model->chat_template().has_value();
  std::vector<rill::Ticket> tickets;
  std::vector<std::string> prompts;
  std::size_t number = 0, refused = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.empty()) continue;
    rill::Request request;
    if (chats)
      request.prompt = std::vector<rill::Message>{{.role = "user", .content = line}};
    else
      request.prompt = line;
    request.options = {.max_tokens = max_tokens, .sampling = rill::presets::chat()};
    auto ticket = scheduler.submit(std::move(request));
    if (!ticket) {
      std::cerr << "line " << number << ": " << ticket.error().message << '\n';
      ++refused;
      continue;
    }
    tickets.push_back(*std::move(ticket));
    prompts.push_back(line);
  }

  const rill::Duration start = rill::steady_now();
  rill::Duration shown = start;
  while (!scheduler.step().value().idle()) {
    const rill::Duration now = rill::steady_now();
    if (now - shown < std::chrono::milliseconds(100)) continue;
    show(scheduler.metrics(), now - start);
    shown = now;
  }
  show(scheduler.metrics(), rill::steady_now() - start);
  std::cerr << '\n';

  for (std::size_t i = 0; i < tickets.size(); ++i) {
    const auto result = tickets[i].result();
    std::cout << "> " << prompts[i] << '\n'
              << (result ? result->text : "error: " + result.error().message) << "\n["
              << tickets[i].ledger().value().explain() << "]\n\n";
  }
  if (file.bad()) std::cerr << "cannot read all of " << prompts_path << '\n';
  return refused > 0 || file.bad() ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || argc > 4) {
    std::cerr << "usage: batch MODEL.gguf PROMPTS.txt [max_tokens]\n";
    return 2;
  }
  std::size_t max_tokens = 64;
  if (argc == 4) {
    const std::string_view text = argv[3];
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), max_tokens);
    if (error != std::errc() || end != text.data() + text.size()) {
      std::cerr << "max_tokens wants a number, not '" << text << "'\n";
      return 2;
    }
  }
  try {
    return run(argv[1], argv[2], max_tokens);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
