// Answers with guesses and without: the same tokens, text, logits and session, whatever is guessed.
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "rill/session.h"
#include "support/real_models.h"
#include "support/scripted.h"

namespace rill {
namespace {

using test::code_of;
using test::Failing;
using test::load_tiny;
using test::script;
using test::some_tokens;
using test::token_of;
using test::tokens_of;

std::shared_ptr<const Model> tiny(const std::string& architecture, std::uint64_t seed = 1) {
  static std::map<std::pair<std::string, std::uint64_t>, std::shared_ptr<const Model>> models;
  std::shared_ptr<const Model>& model = models[{architecture, seed}];
  if (model == nullptr) {
    test::TinyModelOptions options = test::tiny_options(architecture);
    options.vocabulary = 420;
    options.head_dim = 32;  // q8_0 keys and values come in blocks of 32
    options.seed = seed;
    options.extra_controls = {"<|end|>", "<|mark|>"};
    options.extra_tokens = {"ok", "\nHum", "an", " x", "\n#", "fig ", "akiwi plum", "Human:"};
    model = load_tiny(options);
  }
  return model;
}

// Everything that a caller can see of one step.
struct Step {
  std::string text;
  std::optional<Token> token;
  std::vector<float> logprobs;
  std::vector<Token> held;
  std::vector<float> logits;  // of the session, after the step
  friend bool operator==(const Step&, const Step&) = default;
};

struct Trace {
  std::vector<Step> steps;
  std::optional<ErrorCode> error;
  GenerationResult result;
  std::vector<Token> held;
  std::uint64_t kv_bytes = 0;
  std::vector<float> logits_after;  // of a few tokens more
};

Trace trace(Session& session, Generation generation) {
  Trace out;
  while (auto chunk = generation.next()) {
    Step& step = out.steps.emplace_back();
    step.text = chunk->text;
    step.token = chunk->token;
    if (chunk->sample) {
      step.logprobs = {chunk->sample->logprob_final, chunk->sample->logprob_raw.value_or(0)};
      for (const TokenLogprob& one : chunk->sample->top_raw) step.logprobs.push_back(one.logprob);
      for (const TokenLogprob& one : chunk->sample->top_final) step.logprobs.push_back(one.logprob);
    }
    step.held.assign(session.tokens().begin(), session.tokens().end());
    step.logits = session.logits().all().value();
  }
  const auto result = generation.result();
  if (result) {
    out.result = *result;
  } else {
    out.error = result.error().code;
  }
  out.held.assign(session.tokens().begin(), session.tokens().end());
  out.kv_bytes = session.kv_bytes();
  const std::size_t more = std::min<std::size_t>(3, session.context_left());
  if (more > 0) {
    session.feed(some_tokens(more, 9)).value();
    out.logits_after = session.logits().all().value();
  }
  return out;
}

void expect_same(const Trace& plain, const Trace& drafted) {
  EXPECT_EQ(plain.error, drafted.error);
  EXPECT_EQ(plain.result.finish_reason, drafted.result.finish_reason);
  EXPECT_EQ(plain.result.text, drafted.result.text);
  EXPECT_EQ(plain.result.tokens, drafted.result.tokens);
  EXPECT_EQ(plain.result.end_token, drafted.result.end_token);
  EXPECT_EQ(plain.result.stop_string, drafted.result.stop_string);
  ASSERT_EQ(plain.steps.size(), drafted.steps.size());
  for (std::size_t i = 0; i < plain.steps.size(); ++i) ASSERT_EQ(plain.steps[i], drafted.steps[i]) << "step " << i;
  EXPECT_EQ(plain.held, drafted.held);
  EXPECT_EQ(plain.kv_bytes, drafted.kv_bytes);
  EXPECT_EQ(plain.logits_after, drafted.logits_after);
  const Timings &a = plain.result.timings, &b = drafted.result.timings;
  EXPECT_EQ(a.token_times.size(), b.token_times.size());
  EXPECT_EQ(a.drafted_tokens, 0u);
  EXPECT_EQ(a.decode_passes, b.decode_passes + b.accepted_tokens);
  EXPECT_LE(b.accepted_tokens, b.drafted_tokens);
}

struct Setting {
  Setting(std::shared_ptr<const Model> of, SessionOptions options, std::vector<Token> asked, std::vector<Token> before = {})
      : model(std::move(of)), session(std::move(options)), prompt(std::move(asked)), fed_before(std::move(before)) {}

  std::shared_ptr<const Model> model;
  SessionOptions session;
  std::vector<Token> prompt;
  std::vector<Token> fed_before;
};

// The same answer without guesses and with those of every source. Returns the drafted and accepted tokens of all runs.
struct Counts {
  std::size_t drafted = 0, accepted = 0, accepted_of_itself = 0, drafted_of_itself = 0;
};

Counts compare(const Setting& setting, const std::function<GenerateOptions()>& make_options) {
  const auto run = [&](SpeculationOptions speculation) {
    Session session = Session::create(setting.model, setting.session).value();
    if (!setting.fed_before.empty()) session.feed(setting.fed_before).value();
    GenerateOptions options = make_options();
    options.speculation = speculation;
    return trace(session, session.generate(setting.prompt, std::move(options)).value());
  };
  const Trace plain = run({});
  EXPECT_FALSE(plain.steps.empty());
  Counts counts;
  const std::string architecture = setting.model->info().architecture;
  for (const std::size_t most : {1u, 4u, 64u}) {
    for (const bool lookup : {false, true}) {
      for (const std::uint64_t draft_seed : {0u, 1u, 2u}) {  // none, the model itself, another
        if (!lookup && draft_seed == 0) continue;
        SCOPED_TRACE(testing::Message() << architecture << ", at most " << most << ", lookup " << lookup << ", draft model "
                                        << draft_seed);
        std::optional<Session> draft;
        if (draft_seed != 0) draft = Session::create(tiny(architecture, draft_seed)).value();
        const Trace drafted =
            run({.prompt_lookup = lookup, .draft_session = draft ? &*draft : nullptr, .max_draft_tokens = most});
        expect_same(plain, drafted);
        if (testing::Test::HasFailure()) return counts;
        const Timings& timings = drafted.result.timings;
        counts.drafted += timings.drafted_tokens;
        counts.accepted += timings.accepted_tokens;
        if (draft_seed == 1 && !lookup) {
          counts.drafted_of_itself += timings.drafted_tokens;
          counts.accepted_of_itself += timings.accepted_tokens;
        }
      }
    }
  }
  return counts;
}

// A text that repeats itself, as an answer may, too.
std::vector<Token> repeating(std::size_t count) {
  std::vector<Token> tokens = some_tokens(count);
  for (std::size_t i = 11; i < count; ++i) tokens[i] = tokens[i % 11];
  return tokens;
}

class SpeculationTest : public testing::TestWithParam<const char*> {
 protected:
  std::shared_ptr<const Model> model_ = tiny(GetParam());
};

INSTANTIATE_TEST_SUITE_P(Architectures, SpeculationTest, testing::Values("llama", "gemma3"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(SpeculationTest, GreedyAndSampledAnswersAreTheSameToTheBit) {
  const std::vector<SamplingOptions> samplings = {
      {.temperature = 0.0f},
      {.temperature = 0.8f, .seed = 7},
      {.repetition = {.penalty = 1.3f}, .dry = {.multiplier = 0.8f}, .temperature = 0.2f, .top_k = 20, .top_p = 0.9f, .seed = 3},
      {.mirostat = MirostatOptions{}, .seed = 5},
  };
  Counts all;
  for (const KvType kv_type : {KvType::f32, KvType::f16, KvType::q8_0}) {
    for (const SamplingOptions& sampling : samplings) {
      const Setting setting{model_, {.kv_type = kv_type}, repeating(40)};
      const Counts counts = compare(
          setting, [&] { return GenerateOptions{.max_tokens = 30, .sampling = sampling, .end_tokens = std::vector<Token>{}}; });
      all.drafted += counts.drafted;
      all.accepted += counts.accepted;
      if (kv_type == KvType::f16) {  // the draft session's own type
        EXPECT_EQ(counts.accepted_of_itself, counts.drafted_of_itself);
        EXPECT_GT(counts.accepted_of_itself, 60u);
      }
    }
  }
  EXPECT_GT(all.drafted - all.accepted, 100u);  // both must have happened
}

TEST_P(SpeculationTest, AWindowThatPassesAndSmallChunks) {
  for (const auto& [reserve, chunk] : {std::pair<std::size_t, std::size_t>{0, 1}, {5, 3}, {64, 256}}) {
    const Setting setting{model_, {.prefill_chunk = chunk, .rollback_reserve = reserve}, repeating(60), some_tokens(7, 3)};
    compare(setting, [&] {
      return GenerateOptions{.max_tokens = 60, .sampling = {.temperature = 0.0f}, .end_tokens = std::vector<Token>{}};
    });
    // A draft that has grown longer than the window, and is wrong in its middle.
    std::vector<Token> tokens = repeating(86);
    const std::vector<Token> others = some_tokens(60, 5);
    tokens.insert(tokens.end(), others.begin(), others.end());
    compare(setting, [&] {
      return GenerateOptions{.max_tokens = tokens.size(), .chain = script(tokens), .end_tokens = std::vector<Token>{}};
    });
  }
}

TEST_P(SpeculationTest, MaxTokensAndTheWindowEndInsideADraft) {
  for (std::size_t max_tokens = 1; max_tokens <= 12; ++max_tokens) {
    const Setting setting{model_, {}, repeating(40)};
    const Counts counts =
        compare(setting, [&] { return GenerateOptions{.max_tokens = max_tokens, .sampling = {.temperature = 0.0f}}; });
    EXPECT_EQ(counts.accepted_of_itself, counts.drafted_of_itself);  // none was made in vain
  }
  for (const std::size_t context : {41u, 42u, 47u, 52u}) {
    for (const ContextPolicy policy : {ContextPolicy::stop, ContextPolicy::error}) {
      const Setting setting{model_, {.context_tokens = context}, repeating(40)};
      compare(setting, [&] { return GenerateOptions{.sampling = {.temperature = 0.0f}, .context_policy = policy}; });
    }
  }
  const Setting setting{model_, {.context_tokens = 48}, repeating(40)};
  compare(setting, [&] {
    return GenerateOptions{
        .max_tokens = 60, .sampling = {.temperature = 0.0f}, .context_policy = ContextPolicy::drop_oldest, .keep_tokens = 3};
  });
}

TEST_P(SpeculationTest, LogprobsAreTheSame) {
  const Setting setting{model_, {}, repeating(40)};
  for (const float temperature : {0.0f, 0.9f}) {
    compare(setting, [&] {
      return GenerateOptions{
          .max_tokens = 20, .sampling = {.temperature = temperature, .seed = 2}, .logprobs = LogprobOptions{.top_logprobs = 4}};
    });
  }
}

// A mask that changes with each token, as a grammar's does: even and odd ids in turn, or a single one.
class InTurn final : public LogitsProcessor {
 public:
  bool allow(TokenSet& set) override {
    if (accepted_ % 5 == 4) {
      const bool allowed = set.contains(50);
      set.clear();
      if (allowed) set.allow(50);
      return true;
    }
    for (Token token = 0; token < 420; ++token) {
      if (static_cast<std::size_t>(token) % 2 == accepted_ % 2 || (accepted_ % 3 == 0 && token > 17)) set.remove(token);
    }
    return true;
  }
  Result<void> accept(Token) override { return ++accepted_, Result<void>(); }
  void rollback(std::size_t count) override { accepted_ -= count; }
  std::string describe() const override { return "in_turn"; }
  std::unique_ptr<LogitsProcessor> clone() const override { return std::make_unique<InTurn>(*this); }

 private:
  std::size_t accepted_ = 0;
};

TEST_P(SpeculationTest, MasksAreTheSame) {
  const Setting setting{model_, {}, repeating(40)};
  for (const bool sampled : {false, true}) {
    const Counts counts = compare(setting, [&] {
      return GenerateOptions{
          .max_tokens = 25,
          .chain =
              SamplerChain::create({.processors = {InTurn()}, .sampler = sampled ? top_p({.top_p = 0.9f}) : greedy(), .seed = 4})
                  .value()};
    });
    EXPECT_EQ(counts.accepted_of_itself, counts.drafted_of_itself);
  }
}

TEST_P(SpeculationTest, StopStringsAndEndTokensInsideADraft) {
  const std::vector<std::vector<std::string>> scripts = {
      {"ok", "\nHum", "an", ":", " x", " x", " x"},
      {"a", "b", "c", "<|im_end|>", "a", "b", "c"},
      {"ok", "<|mark|>", " x"},
      {"a", "\n#", "<|im_end|>"},
      {"fig ", "akiwi plum", "a"},
      {"a", "b", "a", "b", "a", "b", "a", "b", "a", "b", "Human:"},
  };
  Counts all;
  for (const auto& pieces : scripts) {
    const std::vector<Token> tokens = tokens_of(*model_, pieces);
    std::vector<Token> prompt = some_tokens(6);
    for (int i = 0; i < 2; ++i) prompt.insert(prompt.end(), tokens.begin(), tokens.end());
    for (const std::vector<std::string>& stops : std::vector<std::vector<std::string>>{
             {}, {"\nHuman:"}, {"<|mark|>"}, {"k<|mark|> x"}, {"\n###"}, {"kiw"}, {"bc", "Human"}}) {
      const Counts counts = compare({model_, {}, prompt}, [&] {
        return GenerateOptions{.max_tokens = 14, .chain = script(tokens), .stop_strings = stops};
      });
      all.drafted += counts.drafted;
      all.accepted += counts.accepted;
    }
  }
  EXPECT_GT(all.accepted, 1000u);
}

TEST_P(SpeculationTest, StopTokensAndTheCallersEndTokens) {
  const std::vector<Token> tokens = some_tokens(12);
  std::vector<Token> prompt = some_tokens(12);
  prompt.push_back(40);
  compare({model_, {}, prompt},
          [&] { return GenerateOptions{.max_tokens = 14, .chain = script(tokens), .stop_tokens = {tokens[7]}}; });
  compare({model_, {}, prompt}, [&] {
    return GenerateOptions{.max_tokens = 14, .chain = script(tokens), .end_tokens = std::vector<Token>{tokens[9]}};
  });
}

TEST_P(SpeculationTest, AnErrorOfAProcessorEndsTheAnswerAtTheSamePlace) {
  const Setting setting{model_, {}, repeating(40)};
  for (const int at : {2, 5, 9}) {
    for (const bool throws : {false, true}) {
      compare(setting, [&] { return GenerateOptions{.max_tokens = 20, .chain = script(repeating(22), {Failing(at, throws)})}; });
    }
  }
}

// At every step the session is what it would be without guesses: cancelling, forking, feeding and asking anew there agree.
TEST_P(SpeculationTest, ACallerWhoStepsInBetweenSeesTheSameSession) {
  for (std::size_t steps = 1; steps <= 12; ++steps) {
    const auto run = [&](bool lookup, int act) {
      Session session = Session::create(model_, {.context_tokens = 200, .rollback_reserve = 4}).value();
      session.feed(some_tokens(30, 8)).value();
      StopSource source;
      GenerateOptions options{.max_tokens = 40, .speculation = {.prompt_lookup = lookup}};
      options.chain = script(repeating(90));
      options.stop = source.token();
      Generation generation = session.generate(repeating(50), std::move(options)).value();
      for (std::size_t i = 0; i < steps; ++i) EXPECT_TRUE(generation.next());
      std::optional<Session> fork;
      FeedOptions stopped;
      stopped.stop = test::CountedStop(2);
      switch (act) {
        case 0: source.request_stop(); break;
        case 1: fork = session.fork().value(); break;  // and both go on
        case 2: session.truncate(session.length() - 4).value(); break;
        case 3: session.feed(some_tokens(2, 5)).value(); break;
        case 4:
          EXPECT_TRUE(
              session.generate(some_tokens(3), {.max_tokens = 3, .speculation = {.prompt_lookup = true}}).value().finish());
          break;
        case 5: EXPECT_EQ(code_of(session.truncate(session.length() + 1)), ErrorCode::invalid_argument); break;
        case 6: EXPECT_EQ(code_of(session.feed(-1)), ErrorCode::invalid_argument); break;
        case 7: EXPECT_EQ(code_of(session.feed(some_tokens(5), stopped)), ErrorCode::cancelled); break;
      }
      Trace out = trace(session, std::move(generation));
      if (fork) {
        const std::vector<float> own = fork->logits().all().value();
        out.logits_after.insert(out.logits_after.end(), own.begin(), own.end());
        const Trace forked =
            trace(*fork, fork->generate(some_tokens(1), {.max_tokens = 3, .speculation = {.prompt_lookup = lookup}}).value());
        out.logits_after.insert(out.logits_after.end(), forked.logits_after.begin(), forked.logits_after.end());
      }
      return out;
    };
    for (int act = 0; act < 8; ++act) {
      SCOPED_TRACE(testing::Message() << "step " << steps << ", act " << act);
      const Trace plain = run(false, act), drafted = run(true, act);
      expect_same(plain, drafted);
      EXPECT_EQ(plain.error.has_value(), act >= 2 && act <= 4);  // stale_handle
    }
  }
}

TEST_P(SpeculationTest, CancelledAtAnyPollOfTheDraftSession) {
  const std::vector<Token> prompt = repeating(40);
  bool finished = false;
  for (std::size_t poll = 1; !finished; poll += 3) {
    test::CountedStop stop(poll);
    Session session = Session::create(model_).value(), draft = Session::create(model_).value();
    GenerateOptions options{.max_tokens = 9, .speculation = {.draft_session = &draft}};
    options.chain = script(repeating(22));
    options.stop = stop;
    Generation generation = session.generate(prompt, std::move(options)).value();
    std::size_t tokens = 0;
    while (const auto chunk = generation.next()) tokens += chunk->token ? 1 : 0;
    const GenerationResult result = generation.result().value();
    finished = result.finish_reason == FinishReason::max_tokens;
    EXPECT_EQ(finished, stop.polls() < poll);
    EXPECT_EQ(result.tokens.size(), tokens);
    EXPECT_EQ(session.length(), tokens == 0 ? 0 : 39 + tokens);
  }
}

TEST(SpeculationOnSmolLM2, QuotesToTheSameBits) {
  RILL_REQUIRE_MODEL(path, "SmolLM2-135M-Instruct.Q4_1.gguf");
  const auto model = Model::load(path).value();
  const std::string task =
      "<|im_start|>user\nCopy this text exactly, word for word:\n\nThe harbour of Lindmouth was built in 1842 by the engineer "
      "Thomas "
      "Arkwright, who had already drained the marshes to the north of the town.<|im_end|>\n<|im_start|>assistant\n";
  for (const float temperature : {0.0f, 0.6f}) {
    const auto run = [&](SpeculationOptions speculation) {
      Session session = Session::create(model, {.context_tokens = 512}).value();
      return trace(session, session
                                .generate(task, {.max_tokens = 30,
                                                 .sampling = {.temperature = temperature, .seed = 3},
                                                 .speculation = speculation,
                                                 .parse_special = true})
                                .value());
    };
    const Trace plain = run({});
    const Trace lookup = run({.prompt_lookup = true});
    expect_same(plain, lookup);
    Session draft = Session::create(model, {.context_tokens = 512}).value();
    const Trace itself = run({.draft_session = &draft});
    expect_same(plain, itself);
    EXPECT_EQ(itself.result.timings.accepted_tokens, itself.result.timings.drafted_tokens);
    if (temperature == 0.0f) {
      EXPECT_GT(lookup.result.timings.accepted_tokens, 15u);
    }
  }
}

}  // namespace
}  // namespace rill
