// What the KV cache saves: one answer generated with it, and without it by feeding everything anew for each token. Both
// take the best token each time, and the logits must have the same bits.
//
//   kv_cache MODEL.gguf [--tokens 512] [--threads 2] [--json FILE]
//
// Beside the times it counts the positions computed and the pairs of query and key that attention looks at, in each
// layer and head: n and n^2 / 2 with the cache, n^2 / 2 and n^3 / 6 without.
#include <cstring>
#include <filesystem>
#include <numeric>
#include <stdexcept>

#include "machine_limits.h"
#include "support.h"

namespace {

using namespace rill;
using namespace rill::benchmarks;

struct Side {
  Session session;
  std::vector<double> seconds = {};     // of each token
  std::vector<double> positions = {};   // computed for each token
  std::vector<double> pairs = {};
  std::vector<float> logits = {};

  // Feeds `fed`, so that the session holds `total` tokens.
  void step(std::span<const Token> fed, std::size_t total) {
    const double begin = seconds_now();
    session.feed(fed).value();
    session.logits().all(std::span<float>(logits)).value();
    seconds.push_back(seconds_now() - begin);
    positions.push_back(static_cast<double>(fed.size()));
    const auto count = static_cast<double>(fed.size()), last = static_cast<double>(total);
    pairs.push_back(count * (2 * last - count + 1) / 2);  // those of the positions total - count + 1 to total
  }
};

double sum(const std::vector<double>& values, std::size_t count) {
  return std::accumulate(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count), 0.0);
}

void report(const Side& with, const Side& without, std::size_t count) {
  const std::size_t last = count - 1;
  std::printf("%6zu %10.3f %10.3f %10.2f %10.2f %10.0f %10.0f %12.0f %12.0f\n", count, 1e3 * with.seconds[last],
              1e3 * without.seconds[last], sum(with.seconds, count), sum(without.seconds, count),
              sum(with.positions, count), sum(without.positions, count), sum(with.pairs, count),
              sum(without.pairs, count));
}

Json to_json(const Side& side) {
  return {{"seconds", side.seconds}, {"positions", side.positions}, {"pairs", side.pairs}};
}

void run(const Arguments& arguments) {
  const std::string path = arguments.word(0);
  const std::size_t count = arguments.number("tokens");
  const auto model = Model::load(path, {.threads = static_cast<int>(arguments.number("threads"))}).value();
  std::vector<Side> sides;
  for (int i = 0; i < 2; ++i) {
    sides.push_back({Session::create(model, {.context_tokens = count}).value()});
    sides.back().logits.resize(model->info().vocabulary_size);
  }
  Side &with = sides[0], &without = sides[1];
  std::printf("        ms a token             s in all               positions              pairs\n"
              "tokens       with    without       with    without       with    without         with      without\n");
  std::vector<Token> text = {model->tokenizer().bos().value_or(token_at(0))};
  for (std::size_t n = 1; n <= count; ++n) {
    with.step(std::span(text).last(1), n);
    without.session.truncate(0).value();
    without.step(text, n);
    if (std::memcmp(with.logits.data(), without.logits.data(), with.logits.size() * sizeof(float)) != 0) {
      throw std::logic_error("the logits differ at token " + std::to_string(n));
    }
    text.push_back(static_cast<Token>(std::max_element(with.logits.begin(), with.logits.end()) - with.logits.begin()));
    if ((n & (n - 1)) == 0 && n >= 16) report(with, without, n);
  }
  if ((count & (count - 1)) != 0) report(with, without, count);
  write_json(arguments.text("json"), {{"benchmark", "kv_cache"},
                                      {"model", std::filesystem::path(path).stem().string()},
                                      {"threads", arguments.number("threads")},
                                      {"with", to_json(with)},
                                      {"without", to_json(without)}});
  const double fast = sum(with.seconds, count), slow = sum(without.seconds, count);
  std::printf("tokens=%zu with_s=%.2f without_s=%.2f ratio=%.1f last_with_ms=%.2f last_without_ms=%.1f\n", count, fast,
              slow, slow / fast, 1e3 * with.seconds.back(), 1e3 * without.seconds.back());
}

}  // namespace

int main(int argc, char** argv) {
  return guarded_main([&] {
    run(Arguments(argc, argv, "kv_cache MODEL.gguf [--tokens N] [--threads N] [--json FILE]",
                  {{"tokens", "512"}, {"threads", "2"}, {"json", ""}}));
  });
}
