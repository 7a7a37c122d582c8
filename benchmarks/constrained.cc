// Tokens per second under a JSON Schema and without it, on the same answers.
//
//   constrained MODEL.gguf FILE.jsonl [--schemas 100] [--rounds 3] [--threads 0] [--max-tokens 200]
//               [--whitespace bounded|compact] [--json FILE]
//
// FILE is one of maskbench's. The answers are the first valid instance of each of the first schemas that allow it, forced on the
// model: a stage of the chain, in both runs, raises the next token's logit, and greedy picks it. So the two runs feed the same
// tokens, and differ by what the grammar costs, its compiling included, and saves. The prompt does not count. A token is free
// where its mask allows more than half of the vocabulary, as inside strings; rows are answers by the share of such tokens. The
// last line is key=value pairs: speeds, and the median of the answers' ratios.
#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>

#include "machine_limits.h"
#include "schema_cases.h"
#include "support.h"

namespace rill::benchmarks {
namespace {

class Teacher : public LogitsProcessor {
 public:
  explicit Teacher(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  std::string describe() const override { return "teacher"; }
  Result<void> process(Candidates& candidates, Draws&) override {
    const auto at = done_ < tokens_.size() ? candidates.find(tokens_[done_]) : std::nullopt;
    if (at) candidates.set_value(*at, std::numeric_limits<float>::max());
    return {};
  }
  Result<void> accept(Token) override {
    ++done_;
    return {};
  }
  void rollback(std::size_t count) override { done_ -= count; }
  void reset() override { done_ = 0; }
  std::unique_ptr<LogitsProcessor> clone() const override { return std::make_unique<Teacher>(*this); }

 private:
  std::vector<Token> tokens_;
  std::size_t done_ = 0;
};

JsonWhitespace whitespace_of(const std::string& name) {
  if (name == "bounded") return JsonWhitespace::bounded;
  if (name == "compact") return JsonWhitespace::compact;
  throw std::invalid_argument("--whitespace " + name + " is neither bounded nor compact");
}

struct Answer {
  std::string schema;
  std::vector<Token> tokens;
  double free_share;
};

// Of the tokens, those whose masks allow more than half of the vocabulary. Nothing if the grammar does not allow all tokens.
std::optional<double> free_share(const Grammar& grammar, const Tokenizer& tokenizer, std::span<const Token> tokens) {
  auto matcher = GrammarMatcher::create(grammar, tokenizer).value();
  TokenSet set;
  double free = 0;
  for (const Token token : tokens) {
    set.reset(tokenizer.size());
    if (!matcher.allowed(set) || !matcher.accept(token)) return std::nullopt;
    free += set.count() > tokenizer.size() / 2;
  }
  return free / static_cast<double>(tokens.size());
}

// The first `most` answers that their schemas allow.
std::vector<Answer> read_answers(const std::string& path, const JsonGrammarOptions& options, const Tokenizer& tokenizer,
                                 std::size_t most, std::size_t max_tokens) {
  std::vector<Answer> answers;
  for (const Case& test : read_cases(path)) {
    if (answers.size() == most) break;
    const auto valid = std::ranges::find_if(test.instances, &Instance::valid);
    const auto grammar = Grammar::json_schema(test.schema, options);
    if (valid == test.instances.end() || !grammar) continue;
    auto tokens = tokenizer.encode(valid->text, {.add_special = AddSpecial::never}).value();
    tokens.resize(std::min(tokens.size(), max_tokens));
    if (const auto share = free_share(*grammar, tokenizer, tokens)) answers.push_back({test.schema, std::move(tokens), *share});
  }
  if (answers.empty()) throw std::runtime_error(path + " has no instance that its schema allows");
  return answers;
}

// Seconds, of an answer and of its parts; and tokens that were not sampled.
struct Cost {
  double all = 0, head = 0, masks = 0, sampling = 0, forced = 0;

  Cost& operator+=(const Cost& other) {
    all += other.all, head += other.head, masks += other.masks, sampling += other.sampling;
    forced += other.forced;
    return *this;
  }
};

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

// With options, under the schema.
Cost cost_of(Session& session, const Answer& answer, const JsonGrammarOptions* schema) {
  std::vector<Processor> processors;
  const double begin = seconds_now();
  if (schema != nullptr) {  // compiled each time: the masks are those of a new grammar
    processors.push_back(grammar_mask(Grammar::json_schema(answer.schema, *schema).value(), session.model().tokenizer()));
  }
  const double compiling = seconds_now() - begin;
  processors.push_back(Teacher(answer.tokens));
  session.truncate(0).value();
  GenerateOptions options;
  options.max_tokens = answer.tokens.size();
  options.chain = SamplerChain::create({.processors = std::move(processors)}).value();
  const auto result = session.generate("Answer in JSON: ", std::move(options)).value().finish().value();
  if (result.tokens != answer.tokens) throw std::runtime_error("the answer is not the teacher's");
  const Timings& t = result.timings;
  return {compiling + seconds(t.token_times.back() - t.tokenize - t.prefill), seconds(t.head), seconds(t.masking),
          seconds(t.sampling), static_cast<double>(t.forced_tokens)};
}

// Of the round in the middle.
Cost middle(std::vector<Cost> rounds) {
  std::ranges::sort(rounds, {}, &Cost::all);
  return rounds[rounds.size() / 2];
}

struct Total {
  double answers = 0, tokens = 0;
  Cost plain, schema;

  double ratio() const { return plain.all / schema.all; }
  void add(double count, const Cost& without, const Cost& with) {
    ++answers;
    tokens += count, plain += without, schema += with;
  }
  void print(const char* name) const {
    if (answers == 0) return;
    const auto each = [&](double part) { return 1e6 * part / tokens; };
    std::printf("%-13s %7.0f %8.0f %7.1f %9.1f %9.1f %7.2f %9.0f %7.0f %7.0f %9.0f %7.0f\n", name, answers, tokens,
                100 * schema.forced / tokens, tokens / plain.all, tokens / schema.all, ratio(), each(plain.head),
                each(schema.head), each(schema.masks), each(plain.sampling), each(schema.sampling));
  }
};

void run_all(int argc, char** argv) {
  const Arguments arguments(argc, argv,
                            "constrained MODEL.gguf FILE.jsonl [--schemas N] [--rounds N] [--threads N] [--max-tokens N] "
                            "[--whitespace bounded|compact] [--json FILE]",
                            {{"schemas", "100"}, {"rounds", "3"}, {"threads", "0"}, {"max-tokens", "200"},
                             {"whitespace", "bounded"}, {"json", ""}});
  const JsonGrammarOptions schema_options{.whitespace = whitespace_of(arguments.text("whitespace"))};
  const auto model = Model::load(arguments.word(0), {.threads = static_cast<int>(arguments.number("threads"))}).value();
  const auto answers = read_answers(arguments.word(1), schema_options, model->tokenizer(), arguments.number("schemas"),
                                    arguments.number("max-tokens"));
  auto session = Session::create(model).value();

  std::array<Total, 4> rows;
  Total all;
  std::vector<double> ratios;
  Json json = Json::array();
  for (const Answer& answer : answers) {
    std::vector<Cost> plain, schema;
    for (std::size_t round = 0; round < arguments.number("rounds"); ++round) {
      plain.push_back(cost_of(session, answer, nullptr));
      schema.push_back(cost_of(session, answer, &schema_options));
    }
    Total one;
    one.add(static_cast<double>(answer.tokens.size()), middle(plain), middle(schema));
    ratios.push_back(one.ratio());
    auto& row = rows[std::min<std::size_t>(3, static_cast<std::size_t>(answer.free_share * 4))];
    for (Total* total : {&row, &all}) total->add(one.tokens, one.plain, one.schema);
    json.push_back(
        {{"tokens", one.tokens}, {"free", answer.free_share}, {"plain_s", one.plain.all}, {"schema_s", one.schema.all}});
  }
  std::printf("%31s %17s %25s %25s %17s\n", "", "", "tokens/s", "us a token: head   masks", "sampling");
  std::printf("%-13s %7s %8s %7s %9s %9s %7s %9s %7s %7s %9s %7s\n", "free tokens", "answers", "tokens", "forced%", "plain",
              "schema", "ratio", "plain", "schema", "schema", "plain", "schema");
  constexpr std::array<const char*, 4> kNames = {"below 25 %", "25 to 50 %", "50 to 75 %", "from 75 %"};
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].print(kNames[i]);
  all.print("all");
  write_json(arguments.text("json"), json);
  std::printf("schemas=%.0f plain_tokens_s=%.1f schema_tokens_s=%.1f ratio=%.3f median_ratio=%.3f\n", all.answers,
              all.tokens / all.plain.all, all.tokens / all.schema.all, all.ratio(), median(ratios));
}

}  // namespace
}  // namespace rill::benchmarks

int main(int argc, char** argv) {
  return rill::benchmarks::guarded_main([&] { rill::benchmarks::run_all(argc, argv); });
}
