// JSON Schemas against instances that are known to be valid or not: how many are judged right, and what the masks cost.
// Usage: maskbench FILE.jsonl [--model MODEL.gguf] [--only ID] [--json FILE]
//
// A line of the file is {"id": ..., "schema": ..., "tests": [{"data": ..., "valid": true or false}, ...]}. An instance
// is spelled as in the file, without white space, and follows its grammar token by token: it is accepted if each token
// is allowed, and an end token after the last one. Times are those of the mask alone and in declared order; the
// instances of a schema share its masks, as requests would.
#include <algorithm>
#include <array>
#include <chrono>
#include <set>

#include "rill/grammar.h"
#include "rill/model.h"
#include "schema_cases.h"
#include "support.h"

namespace rill::benchmarks {
namespace {

using Clock = std::chrono::steady_clock;

double microseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

struct Verdict {
  bool accepted = false;
  std::size_t byte = 0;    // where the first token begins that is not allowed
  std::string error = {};  // in place of a verdict
};

// Appends the time of each mask to `times`.
Verdict judge(const Grammar& grammar, const Tokenizer& tokenizer, const std::string& text, std::vector<double>& times) {
  auto matcher = GrammarMatcher::create(grammar, tokenizer).value();
  TokenSet set;
  const auto mask = [&] {
    set.reset(tokenizer.size());
    const auto begin = Clock::now();
    auto masked = matcher.allowed(set);
    times.push_back(microseconds_since(begin));
    return masked;
  };
  Verdict verdict;
  for (const Token token : tokenizer.encode(text, {.add_special = AddSpecial::never}).value()) {
    if (auto masked = mask(); !masked) return {false, verdict.byte, masked.error().message};
    if (!set.contains(token)) return verdict;
    if (auto taken = matcher.accept(token); !taken) return {false, verdict.byte, taken.error().message};
    verdict.byte += tokenizer.token_bytes(token).size();
  }
  if (auto masked = mask(); !masked) return {false, verdict.byte, masked.error().message};
  const auto ends = tokenizer.end_tokens();
  verdict.accepted = std::any_of(ends.begin(), ends.end(), [&](Token end) { return set.contains(end); });
  return verdict;
}

// Of all schemas in one property order.
struct Tally {
  std::size_t compiled = 0, exact = 0, false_rejects = 0, errors = 0;
  std::set<const Instance*> false_accepts;
  std::vector<double> mask_times, compile_times;  // microseconds
};

void run(const Case& test, PropertyOrder order, const char* order_name, const Tokenizer& tokenizer, Tally& tally) {
  const auto complain = [&](const std::string& what) {
    std::printf("%s (%s): %s\n", test.id.c_str(), order_name, what.c_str());
  };
  const auto begin = Clock::now();
  const auto grammar = Grammar::json_schema(test.schema, {.property_order = order});
  tally.compile_times.push_back(microseconds_since(begin));
  if (!grammar) return complain("refused: " + grammar.error().message);
  ++tally.compiled;
  bool exact = true;
  for (const Instance& instance : test.instances) {
    const Verdict verdict = judge(*grammar, tokenizer, instance.text, tally.mask_times);
    if (verdict.error.empty() && verdict.accepted == instance.valid) continue;
    exact = false;
    const std::string place = instance.text.substr(0, verdict.byte) + " <<here>> " + instance.text.substr(verdict.byte);
    if (!verdict.error.empty()) {
      ++tally.errors;
      complain("error: " + verdict.error + ": " + place);
    } else if (verdict.accepted) {
      tally.false_accepts.insert(&instance);
      complain("falsely accepted: " + instance.text);
    } else {
      ++tally.false_rejects;
      complain("falsely rejected: " + place);
    }
  }
  tally.exact += exact;
}

struct Times {
  double mean = 0, p50 = 0, p99 = 0, p999 = 0;
};

Times times_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  double sum = 0;
  for (const double value : values) sum += value;
  const auto at = [&](double part) {
    return values[static_cast<std::size_t>(part * static_cast<double>(values.size() - 1))];
  };
  return {sum / static_cast<double>(values.size()), at(0.5), at(0.99), at(0.999)};
}

Json report(const Tally& tally, const char* order_name, std::size_t schemas) {
  const auto percent = [&](std::size_t count) {
    return 100.0 * static_cast<double>(count) / static_cast<double>(schemas);
  };
  const Times mask = times_of(tally.mask_times), compile = times_of(tally.compile_times);
  std::printf("%-8s  compiled %.1f %%, exact %.1f %%, false accepts %zu, false rejects %zu, errors %zu\n", order_name,
              percent(tally.compiled), percent(tally.exact), tally.false_accepts.size(), tally.false_rejects,
              tally.errors);
  std::printf("%-8s  %zu masks: mean %.1f, p50 %.1f, p99 %.0f, p99.9 %.0f us; compile p50 %.0f, p99 %.0f us\n",
              order_name, tally.mask_times.size(), mask.mean, mask.p50, mask.p99, mask.p999, compile.p50, compile.p99);
  return {{"schemas", schemas},
          {"compiled", tally.compiled},
          {"exact", tally.exact},
          {"false_accepts", tally.false_accepts.size()},
          {"false_rejects", tally.false_rejects},
          {"errors", tally.errors},
          {"mask_us", tally.mask_times},
          {"compile_us", tally.compile_times}};
}

void run_all(int argc, char** argv) {
  const std::string default_model = std::string(RILL_MODEL_DIR) + "/SmolLM2-135M-Instruct.Q4_1.gguf";
  const Arguments arguments(argc, argv, "maskbench FILE.jsonl [--model MODEL.gguf] [--only ID] [--json FILE]",
                            {{"model", default_model}, {"only", ""}, {"json", ""}});
  const auto cases = read_cases(arguments.word(0), arguments.text("only"));
  const auto model = Model::load(arguments.text("model")).value();
  // The first matcher of a vocabulary sorts it.
  GrammarMatcher::create(Grammar::json().value(), model->tokenizer()).value();

  constexpr std::array<std::pair<PropertyOrder, const char*>, 2> kOrders = {
      {{PropertyOrder::declared, "declared"}, {PropertyOrder::any, "any"}}};
  std::array<Tally, 2> tallies;
  for (const Case& test : cases) {
    for (std::size_t i = 0; i < kOrders.size(); ++i) {
      run(test, kOrders[i].first, kOrders[i].second, model->tokenizer(), tallies[i]);
    }
  }
  Json json;
  for (std::size_t i = 0; i < kOrders.size(); ++i) {
    json[kOrders[i].second] = report(tallies[i], kOrders[i].second, cases.size());
  }
  write_json(arguments.text("json"), json);

  auto& [declared, any] = tallies;
  any.false_accepts.insert(declared.false_accepts.begin(), declared.false_accepts.end());  // of either order
  const Times mask = times_of(declared.mask_times), compile = times_of(declared.compile_times);
  std::printf("schemas=%zu compiled=%zu exact=%zu exact_any_order=%zu false_accepts=%zu false_rejects=%zu "
              "mask_mean_us=%.2f mask_p50_us=%.2f mask_p99_us=%.2f mask_p999_us=%.2f compile_p50_us=%.1f "
              "compile_p99_us=%.1f\n",
              cases.size(), declared.compiled, declared.exact, any.exact, any.false_accepts.size(),
              declared.false_rejects, mask.mean, mask.p50, mask.p99, mask.p999, compile.p50, compile.p99);
}

}  // namespace
}  // namespace rill::benchmarks

int main(int argc, char** argv) {
  return rill::benchmarks::guarded_main([&] { rill::benchmarks::run_all(argc, argv); });
}
