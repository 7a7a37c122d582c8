// Forced tokens: what a grammar leaves no choice about is tokenised as the whole text, computed together, and the same
// however the answer is driven.
#include <gtest/gtest.h>

#include <map>

#include "rill/memory_plan.h"
#include "rill/scheduler.h"
#include "rill/session.h"
#include "support/scripted.h"

namespace rill {
namespace {

using test::some_tokens;

constexpr const char* kRecord =
    R"re(\{"name": "[a-z]{1,6}", "kind of thing": "(cat|dog)", "count": [0-9]{1,3}, "the end": null\})re";
constexpr std::size_t kPrompt = 9;  // tokens

Grammar record() { return Grammar::regex(kRecord).value(); }

std::shared_ptr<const Model> model(const std::string& architecture, int threads = 1) {
  static std::map<std::pair<std::string, int>, std::shared_ptr<const Model>> models;
  auto& slot = models[{architecture, threads}];
  if (slot == nullptr) slot = test::load_bytes(make_tiny_model(test::tiny_options(architecture)), {.threads = threads});
  return slot;
}

GenerateOptions options_for(const Grammar& grammar, std::uint64_t seed = 1) {
  GenerateOptions options{.max_tokens = 150, .sampling = {.temperature = 0.8f, .seed = seed}, .grammar = grammar};
  options.sampling.repetition.penalty = 1.1f;
  return options;
}

GenerationResult run(const std::string& architecture, GenerateOptions options, SessionOptions session = {}, int threads = 1) {
  return Session::create(model(architecture, threads), std::move(session))
      .value()
      .generate(some_tokens(kPrompt), std::move(options))
      .value()
      .finish()
      .value();
}

std::vector<Token> first_of(const std::vector<Token>& tokens, std::size_t count) {
  return {tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(count)};
}

class ForcedTokens : public testing::TestWithParam<const char*> {};

TEST_P(ForcedTokens, ValidTextsInFewerPassesThanTokens) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    GenerateOptions options = options_for(record(), seed);
    const GenerationResult on = run(GetParam(), options);
    options.forced_tokens = false;
    const GenerationResult off = run(GetParam(), options);
    for (const GenerationResult* result : {&on, &off}) {
      EXPECT_EQ(result->finish_reason, FinishReason::grammar_complete);
      EXPECT_TRUE(record().match(result->text).value().matches) << result->text;
    }
    EXPECT_EQ(off.timings.forced_tokens, 0u);
    EXPECT_EQ(off.timings.decode_passes, off.tokens.size());
    EXPECT_GT(on.timings.forced_tokens, 20u);
    EXPECT_LE(on.timings.decode_passes, on.tokens.size() - on.timings.forced_tokens + 5);
    EXPECT_EQ(on.timings.token_times.size(), on.tokens.size() + 1);
  }
}

TEST_P(ForcedTokens, AreTheTokenizersOwnOfTheWholeText) {
  const std::string text = "it is the word of and the other thing, in the end to be";
  const GenerationResult result = run(GetParam(), options_for(Grammar::choice(std::vector{text}).value()));
  EXPECT_EQ(result.text, text);
  const auto whole = model(GetParam())->tokenizer().encode(text, {.continues_text = true}).value();
  const std::size_t forced = result.timings.forced_tokens;
  ASSERT_GE(forced + 3, whole.size());  // the last are held back: for all that the tokenizer knows more may come
  ASSERT_LE(forced, std::min(whole.size(), result.tokens.size()));
  EXPECT_EQ(first_of(result.tokens, forced), first_of(whole, forced));
}

TEST_P(ForcedTokens, SameAnswerHoweverItIsDriven) {
  const GenerateOptions options = options_for(record(), 7);
  const GenerationResult expected = run(GetParam(), options);
  EXPECT_EQ(run(GetParam(), options, {}, 2).tokens, expected.tokens);
  EXPECT_EQ(run(GetParam(), options, {.prefill_chunk = 3}).tokens, expected.tokens);
  GenerateOptions guessed = options;
  guessed.speculation.prompt_lookup = true;
  EXPECT_EQ(run(GetParam(), guessed).tokens, expected.tokens);
  GenerateOptions in_chain = options;
  in_chain.grammar.reset();
  in_chain.chain = make_chain(options.sampling, {.size = model(GetParam())->tokenizer().size()},
                              {grammar_mask(record(), model(GetParam())->tokenizer())})
                       .value();
  EXPECT_EQ(run(GetParam(), in_chain).tokens, expected.tokens);

  // With raw log-probabilities each needs the whole head.
  GenerateOptions reported = options;
  reported.logprobs = LogprobOptions{.top_logprobs = 2};
  const GenerationResult raw = run(GetParam(), reported);
  EXPECT_EQ(raw.tokens, expected.tokens);
  EXPECT_EQ(raw.timings.forced_tokens, expected.timings.forced_tokens);
  reported.logprobs->raw = false;
  const GenerationResult final_only = run(GetParam(), reported);
  EXPECT_EQ(final_only.tokens, expected.tokens);
  EXPECT_EQ(final_only.timings.decode_passes, expected.timings.decode_passes);
}

TEST_P(ForcedTokens, HaveLogProbabilities) {
  GenerateOptions options = options_for(record(), 7);
  options.logprobs = LogprobOptions{.top_logprobs = 3};
  Session session = Session::create(model(GetParam())).value();
  Generation generation = session.generate(some_tokens(kPrompt), options).value();
  Session other = Session::create(model(GetParam())).value();
  SamplerChain greedy = SamplerChain::create().value();
  other.feed(some_tokens(kPrompt)).value();
  while (const auto chunk = generation.next()) {
    if (!chunk->sample) continue;
    const Sample plain = greedy.sample(other.logits(), *options.logprobs).value();
    ASSERT_EQ(chunk->sample->top_raw.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i) {
      ASSERT_EQ(chunk->sample->top_raw[i].token, plain.top_raw[i].token);
      ASSERT_EQ(chunk->sample->top_raw[i].logprob, plain.top_raw[i].logprob);
    }
    other.feed(*chunk->token).value();
  }
  EXPECT_GT(generation.result().value().timings.forced_tokens, 20u);
}

TEST_P(ForcedTokens, SameInABatchAsAlone) {
  Scheduler scheduler = Scheduler::create(model(GetParam(), 2), {.max_sequences = 4, .prefill_chunk = 16}).value();
  std::vector<Ticket> tickets;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    GenerateOptions options = options_for(record(), seed);
    if (seed == 4) options.logprobs = LogprobOptions{};
    tickets.push_back(scheduler.submit({.prompt = some_tokens(kPrompt), .options = options}).value());
    (void)scheduler.step().value();
  }
  scheduler.run_until_idle().value();
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const GenerationResult expected = run(GetParam(), options_for(record(), seed));
    const GenerationResult result = tickets[seed - 1].result().value();
    EXPECT_EQ(result.tokens, expected.tokens);
    EXPECT_EQ(result.timings.forced_tokens, expected.timings.forced_tokens);
    EXPECT_EQ(result.timings.decode_passes, seed == 4 ? result.tokens.size() : expected.timings.decode_passes);
    EXPECT_EQ(tickets[seed - 1].ledger().value().forced_tokens, expected.timings.forced_tokens);
  }
}

TEST_P(ForcedTokens, SameWhenResumedAnywhere) {
  const GenerateOptions options = options_for(record(), 3);
  const GenerationResult expected = run(GetParam(), options);
  for (std::size_t at = 0; at < expected.tokens.size(); at += 2) {
    Session session = Session::create(model(GetParam())).value();
    Generation generation = session.generate(some_tokens(kPrompt), options).value();
    for (std::size_t i = 0; i < at; ++i) ASSERT_TRUE(generation.next());
    const auto saved = generation.save().value();
    Session other = Session::create(model(GetParam())).value();
    const GenerationResult result = other.resume(saved, {.grammar = record()}).value().finish().value();
    EXPECT_EQ(result.tokens, expected.tokens) << at;
    EXPECT_EQ(result.timings.forced_tokens, expected.timings.forced_tokens) << at;
  }
}

TEST_P(ForcedTokens, SameWhenPreempted) {
  const MemoryNeeds needs{.context_tokens = 160, .sequences = 2, .prefill_chunk = 24, .sessions = false};
  const std::uint64_t budget = plan_memory(model_memory(*model(GetParam())), needs).kv_peak;
  SchedulerOptions scheduling{.context_tokens = 160, .max_sequences = 6, .prefill_chunk = 24};
  scheduling.admission = Admission::overcommit;
  scheduling.kv_pool = KvPool::create(model(GetParam()), {.budget_bytes = budget}).value();
  Scheduler scheduler = Scheduler::create(model(GetParam()), scheduling).value();
  std::vector<Ticket> tickets;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    tickets.push_back(scheduler.submit({.prompt = some_tokens(kPrompt), .options = options_for(record(), seed)}).value());
  }
  scheduler.run_until_idle().value();
  std::size_t preemptions = 0;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    EXPECT_EQ(tickets[seed - 1].result().value().tokens, run(GetParam(), options_for(record(), seed)).tokens);
    preemptions += tickets[seed - 1].ledger().value().preemptions;
  }
  EXPECT_GT(preemptions, 0u);
}

TEST_P(ForcedTokens, EndWhereTheAnswerEnds) {
  const GenerationResult whole = run(GetParam(), options_for(record(), 2));
  for (std::size_t most = 1; most < whole.tokens.size(); most += 2) {
    GenerateOptions options = options_for(record(), 2);
    options.max_tokens = most;
    options.close_within_budget = false;
    const GenerationResult cut = run(GetParam(), options);
    EXPECT_EQ(cut.finish_reason, FinishReason::max_tokens);
    EXPECT_EQ(cut.tokens, first_of(whole.tokens, most));
  }
  GenerateOptions options = options_for(record(), 2);
  options.stop_strings = {"of thi"};
  const GenerationResult stopped = run(GetParam(), options);
  EXPECT_EQ(stopped.stop_string, "of thi");
  EXPECT_TRUE(stopped.text.ends_with("\"kind ")) << stopped.text;

  options = options_for(record(), 2);
  options.max_tokens.reset();
  options.close_within_budget = false;
  options.context_policy = ContextPolicy::stop;
  const GenerationResult full = run(GetParam(), options, {.context_tokens = 40});
  EXPECT_EQ(full.finish_reason, FinishReason::context_full);
  EXPECT_EQ(full.tokens, first_of(whole.tokens, 40 - kPrompt + 1));
}

TEST_P(ForcedTokens, LeaveTheSameSessionBesideADraft) {
  const auto held = [](std::size_t max_tokens, bool has_draft) {
    auto session = Session::create(model(GetParam()), {.context_tokens = 256}).value();
    auto draft = Session::create(model(GetParam()), {.context_tokens = 256}).value();
    GenerateOptions options = options_for(record());
    options.max_tokens = max_tokens;
    options.close_within_budget = false;
    if (has_draft) options.speculation.draft_session = &draft;
    auto answer = session.generate(some_tokens(kPrompt), options).value();
    std::vector<std::size_t> lengths;
    while (answer.next()) lengths.push_back(session.length());
    return std::pair(lengths, std::vector<Token>(session.tokens().begin(), session.tokens().end()));
  };
  for (std::size_t max_tokens = 4; max_tokens < 60; max_tokens += 3) {
    SCOPED_TRACE(max_tokens);
    EXPECT_EQ(held(max_tokens, true), held(max_tokens, false));
  }
}

TEST_P(ForcedTokens, GiveWayToABudget) {
  const auto shortest = GrammarMatcher::create(record(), model(GetParam())->tokenizer()).value().shortest_tokens().value();
  ASSERT_GT(shortest, 40u);
  for (std::size_t most = shortest; most < shortest + 12; ++most) {
    GenerateOptions options = options_for(record(), most);
    options.max_tokens = most;
    const GenerationResult result = run(GetParam(), options);
    EXPECT_EQ(result.finish_reason, FinishReason::grammar_complete) << most;
    EXPECT_TRUE(record().match(result.text).value().matches) << result.text;
    EXPECT_LE(result.tokens.size(), most);
    EXPECT_GT(result.timings.forced_tokens, 20u);
  }
}

TEST_P(ForcedTokens, FollowAWindowThatDropsTheOldest) {
  GenerateOptions options = options_for(record(), 6);
  options.context_policy = ContextPolicy::drop_oldest;
  options.drop_tokens = 3;
  const GenerationResult expected = run(GetParam(), options, {.context_tokens = 24});
  EXPECT_EQ(expected.finish_reason, FinishReason::grammar_complete);
  EXPECT_GT(expected.tokens.size(), 40u);
  GenerateOptions reported = options;
  reported.logprobs = LogprobOptions{};
  EXPECT_EQ(run(GetParam(), reported, {.context_tokens = 24}).tokens, expected.tokens);
  Scheduler scheduler = Scheduler::create(model(GetParam()), {.context_tokens = 24}).value();
  const Ticket ticket = scheduler.submit({.prompt = some_tokens(kPrompt), .options = options}).value();
  scheduler.run_until_idle().value();
  EXPECT_EQ(ticket.result().value().tokens, expected.tokens);
}

TEST_P(ForcedTokens, OtherMasksComeFirst) {
  const GenerationResult whole = run(GetParam(), options_for(record(), 2));
  const Token banned = *model(GetParam())->tokenizer().find(" the");
  GenerateOptions options = options_for(Grammar::choice(std::vector<std::string>{"on the way and the end"}).value(), 2);
  const auto holds = [&](const GenerationResult& result) {
    return std::find(result.tokens.begin(), result.tokens.end(), banned) != result.tokens.end();
  };
  EXPECT_TRUE(holds(run(GetParam(), options)));
  options.sampling.banned = {banned};
  const GenerationResult result = run(GetParam(), options);
  EXPECT_FALSE(holds(result));
  EXPECT_EQ(result.text, "on the way and the end");
}

// Stages see them as all other tokens.
class Recorder final : public LogitsProcessor {
 public:
  explicit Recorder(std::vector<Token>& seen) : seen_(&seen) {}
  Result<void> accept(Token token) override { return seen_->push_back(token), Result<void>(); }
  std::string describe() const override { return "recorder"; }
  std::unique_ptr<LogitsProcessor> clone() const override { return std::make_unique<Recorder>(*this); }

 private:
  std::vector<Token>* seen_;
};

TEST_P(ForcedTokens, StagesFollowThem) {
  std::vector<Token> seen;
  GenerateOptions options{.max_tokens = 150};
  options.chain =
      SamplerChain::create({.processors = {grammar_mask(record(), model(GetParam())->tokenizer()), Recorder(seen)}}).value();
  const GenerationResult result = run(GetParam(), options);
  EXPECT_GT(result.timings.forced_tokens, 20u);
  EXPECT_EQ(seen, result.tokens);
}

TEST_P(ForcedTokens, R06PatternsThatAreNoneLeaveOthersAlone) {
  const GenerationResult expected = run(GetParam(), options_for(record(), 8));
  Session session = Session::create(model(GetParam())).value();
  Generation generation = session.generate(some_tokens(kPrompt), options_for(record(), 8)).value();
  Scheduler scheduler = Scheduler::create(model(GetParam())).value();
  const Ticket ticket = scheduler.submit({.prompt = some_tokens(kPrompt), .options = options_for(record(), 8)}).value();
  for (const char* pattern : {"(ab", "ab)", "[a-", "a{3,1}", "\\"}) {
    ASSERT_TRUE(generation.next());
    (void)scheduler.step().value();
    const auto refused = Grammar::regex(pattern);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::malformed) << pattern;
    EXPECT_NE(refused.error().message.find_first_of("0123456789"), std::string::npos) << refused.error().message;
  }
  scheduler.run_until_idle().value();
  EXPECT_EQ(generation.finish().value().tokens, expected.tokens);
  EXPECT_EQ(ticket.result().value().tokens, expected.tokens);
}

INSTANTIATE_TEST_SUITE_P(Models, ForcedTokens, testing::Values("llama", "gemma3"));

}  // namespace
}  // namespace rill
