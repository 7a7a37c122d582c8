// What a model takes of memory, and how many sequences of what length a machine holds: planned from the file, whose
// weights are not read.
//
//   plan MODEL.gguf [--budget MIB] [--context TOKENS] [--average TOKENS] [--kv-type f32|f16|q8_0] [--svg FILE]
//
// The budget is what is free now, unless it is given. --svg draws memory against context for several numbers of
// sequences.
#include <rill/rill.h>

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

constexpr std::pair<const char*, rill::KvType> kTypes[] = {
    {"f32", rill::KvType::f32}, {"f16", rill::KvType::f16}, {"q8_0", rill::KvType::q8_0}};
constexpr std::uint64_t kSequences[] = {1, 2, 4, 8, 16, 32, 64};

struct Options {
  std::string model, svg;
  std::uint64_t budget = rill::available_memory();
  rill::MemoryNeeds needs{.sessions = false};
};

std::uint64_t number(const std::string& text) {
  if (text.empty() || text.size() > 12 || text.find_first_not_of("0123456789") != std::string::npos) {
    throw std::invalid_argument("'" + text + "' is not a number");
  }
  return std::stoull(text);
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.rfind("--", 0) != 0) {
      options.model = word;
      continue;
    }
    if (++i == argc) throw std::invalid_argument(word + " wants a value");
    const std::string value = argv[i];
    if (word == "--budget") {
      options.budget = number(value) << 20;
    } else if (word == "--context") {
      options.needs.context_tokens = number(value);
    } else if (word == "--average") {
      options.needs.average_tokens = number(value);
    } else if (word == "--svg") {
      options.svg = value;
    } else if (word == "--kv-type") {
      const auto type =
          std::find_if(std::begin(kTypes), std::end(kTypes), [&](const auto& one) { return value == one.first; });
      if (type == std::end(kTypes)) throw std::invalid_argument("the KV type is f32, f16 or q8_0");
      options.needs.kv_type = type->second;
    } else {
      throw std::invalid_argument("unknown option " + word);
    }
  }
  if (options.model.empty())
    throw std::invalid_argument(
        "usage: plan MODEL.gguf [--budget MIB] [--context TOKENS] "
        "[--average TOKENS] [--kv-type TYPE] [--svg FILE]");
  return options;
}

double mib(std::uint64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

// 16, 32, ... and last the model's own limit.
std::vector<std::uint64_t> contexts(std::uint64_t from, std::uint64_t limit) {
  std::vector<std::uint64_t> tokens;
  for (std::uint64_t n = from; n < limit; n *= 2) tokens.push_back(n);
  tokens.push_back(limit);
  return tokens;
}

void print_parts(const rill::ModelMemory& model, const Options& options) {
  const rill::MemoryPlan plan = plan_memory(model, options.needs);
  std::printf("One sequence of %" PRIu64 " tokens, in MiB\n", options.needs.context_tokens);
  std::printf("  weights      %9.1f\n  tokenizer    %9.1f\n  scratch      %9.1f\n  sampling     %9.1f\n",
              mib(plan.weights), mib(plan.tokenizer), mib(plan.scratch), mib(plan.sampling));
  std::printf("  KV at peak   %9.1f   at %" PRIu64 " tokens, the average, %.1f\n", mib(plan.kv_peak),
              options.needs.average_tokens, mib(plan.kv_average));
  std::printf("  in all       %9.1f   while it loads %.1f\n\n", mib(plan.peak()),
              mib(plan.weights + plan.tokenizer + plan.loading));
}

void print_concurrency(const rill::ModelMemory& model, Options options) {
  std::printf("In %.0f MiB       bytes     MiB a        sequences at a time        longest context\n",
              mib(options.budget));
  std::printf("             a token  sequence   guaranteed  over-committed    of one     of 8\n");
  for (const auto& [name, type] : kTypes) {
    if (type == rill::KvType::q8_0 && model.kv.head_dim % 32 != 0) continue;  // its blocks have 32 values
    options.needs.kv_type = type;
    const auto longest = [&](std::uint64_t sequences) {
      options.needs.sequences = sequences;
      return context_guaranteed(model, options.needs, options.budget);
    };
    std::printf("  %-8s %10" PRIu64 " %9.1f %12" PRIu64 " %15" PRIu64 " %9" PRIu64 " %8" PRIu64 "\n", name,
                kv_bytes_per_token(model.kv, type),
                mib(kv_bytes(model.kv, type, {.tokens = options.needs.context_tokens})),
                sequences_guaranteed(model, options.needs, options.budget),
                sequences_overcommitted(model, options.needs, options.budget), longest(1), longest(8));
  }
}

void print_table(const rill::ModelMemory& model, rill::MemoryNeeds needs, std::uint64_t budget) {
  std::printf("\nMiB by sequences and context; ! is more than the budget\n  tokens ");
  for (const std::uint64_t sequences : kSequences) std::printf(" %9" PRIu64 " ", sequences);
  for (const std::uint64_t tokens : contexts(512, model.context_length)) {
    std::printf("\n%8" PRIu64 " ", tokens);
    needs.context_tokens = tokens;
    for (const std::uint64_t sequences : kSequences) {
      needs.sequences = sequences;
      const std::uint64_t peak = plan_memory(model, needs).peak();
      std::printf(" %9.0f%c", mib(peak), peak > budget ? '!' : ' ');
    }
  }
  std::printf("\n");
}

// Both axes are logarithmic: a doubling is as far everywhere.
class Chart {
 public:
  Chart(std::ostream& out, std::uint64_t most_tokens, double least_mib, double most_mib)
      : out_(out), most_tokens_(static_cast<double>(most_tokens)), least_mib_(least_mib), most_mib_(most_mib) {
    out_ << R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 470" width="760" height="470" )"
         << R"(font-family="system-ui, sans-serif" font-size="12" fill="#24292f">)"
         << "\n"
         << R"(<rect width="100%" height="100%" fill="white"/>)"
         << "\n";
  }
  ~Chart() { out_ << "</svg>\n"; }

  double x(double tokens) const {
    return 80 + 560 * std::log2(tokens / kLeastTokens) / std::log2(most_tokens_ / kLeastTokens);
  }
  double y(double size) const { return 410 - 350 * std::log2(size / least_mib_) / std::log2(most_mib_ / least_mib_); }

  void text(double x, double y, const std::string& text, const char* anchor = "start") {
    out_ << "<text x=\"" << x << "\" y=\"" << y << "\" text-anchor=\"" << anchor << "\">" << text << "</text>\n";
  }
  void line(const std::vector<std::pair<double, double>>& points, const char* color, const char* more = "") {
    out_ << "<polyline fill=\"none\" stroke=\"" << color << "\" " << more << " points=\"";
    for (const auto& [tokens, size] : points) out_ << x(tokens) << ',' << y(size) << ' ';
    out_ << "\"/>\n";
  }

  static constexpr double kLeastTokens = 256;

 private:
  std::ostream& out_;
  const double most_tokens_, least_mib_, most_mib_;
};

void draw(std::ostream& out, const rill::ModelMemory& model, rill::MemoryNeeds needs, std::uint64_t budget) {
  const std::vector<std::uint64_t> tokens = contexts(256, std::max<std::uint64_t>(512, model.context_length));
  const auto peak = [&](std::uint64_t context, std::uint64_t sequences) {
    needs.context_tokens = context;
    needs.sequences = sequences;
    return mib(plan_memory(model, needs).peak());
  };
  const double least = std::exp2(std::floor(std::log2(std::min(peak(256, 1), mib(budget)))));
  const double most = std::exp2(std::ceil(std::log2(std::max(peak(tokens.back(), 64), mib(budget)))));
  Chart chart(out, tokens.back(), least, most);
  chart.text(80, 28, "Memory by context and sequences at a time, all at their worst moment (MiB)");
  for (double size = least; size <= most; size *= 2) {
    chart.line({{256, size}, {static_cast<double>(tokens.back()), size}}, "#d8dee4");
    chart.text(72, chart.y(size) + 4, std::to_string(static_cast<long long>(size)), "end");
  }
  for (const std::uint64_t context : tokens) {
    chart.text(chart.x(static_cast<double>(context)), 428, std::to_string(context), "middle");
  }
  chart.text(360, 452, "tokens of context", "middle");
  for (const std::uint64_t sequences : kSequences) {
    std::vector<std::pair<double, double>> points;
    for (const std::uint64_t context : tokens) points.emplace_back(context, peak(context, sequences));
    chart.line(points, "#1f6feb", "stroke-width=\"2\"");
    chart.text(648, chart.y(points.back().second) + 4,
               std::to_string(sequences) + (sequences == 1 ? " sequence" : " sequences"));
  }
  chart.line({{256, mib(budget)}, {static_cast<double>(tokens.back()), mib(budget)}}, "#d1480f",
             "stroke-width=\"2\" stroke-dasharray=\"6 4\"");
  chart.text(86, chart.y(mib(budget)) - 6, "budget: " + std::to_string(budget >> 20) + " MiB");
}

int run(Options options) {
  const rill::ModelMemory model = rill::model_memory(options.model).value();
  rill::MemoryNeeds& needs = options.needs;
  if (needs.context_tokens == 0) needs.context_tokens = model.context_length;
  if (needs.context_tokens > model.context_length) {
    throw std::invalid_argument("the model was made for " + std::to_string(model.context_length) + " tokens");
  }
  if (needs.average_tokens == 0) needs.average_tokens = (needs.context_tokens + 1) / 2;
  print_parts(model, options);
  print_concurrency(model, options);
  print_table(model, needs, options.budget);
  if (options.svg.empty()) return 0;
  std::ofstream file(options.svg);
  draw(file, model, needs, std::max<std::uint64_t>(1 << 20, options.budget));
  if (!file.flush()) throw std::runtime_error(options.svg + " could not be written");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(parse(argc, argv));
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
