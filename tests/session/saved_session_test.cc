// Sessions, answers and conversations, saved and restored: the same bits follow, or nothing changes.
#include <gtest/gtest.h>

#if defined(__unix__)
#include <sys/resource.h>
#include <csignal>
#endif

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <random>

#include "base/hash.h"
#include "session/saved_session.h"
#include "session/session_file.h"
#include "support/saved_bytes.h"
#include "support/scripted.h"
#include "support/temp_dir.h"

namespace rill {
namespace {

namespace fs = std::filesystem;
using test::script;
using test::some_tokens;
using test::token_of;
using test::tokens_of;

using namespace test::saved;

using Bytes = std::vector<std::byte>;

// Two sessions that are the same to all that can be seen of them.
void expect_same(const Session& a, const Session& b) {
  EXPECT_EQ(held(a), held(b));
  EXPECT_EQ(a.kv_bytes(), b.kv_bytes());
  EXPECT_EQ(a.save().value(), b.save().value());
}

// ---- The same bits, whatever came before ----

// Two sessions in step: one is forked, saved and restored again and again, the other never.
TEST(SavedSessionTest, ForkAndRestoreKeepTheBits) {
  int restored = 0;
  for (const char* architecture : kArchitectures) {
    for (const KvType kv_type : {KvType::f32, KvType::f16, KvType::q8_0}) {
      std::mt19937 random(static_cast<unsigned>(kv_type) + 3);
      const SessionOptions options{.kv_type = kv_type, .rollback_reserve = 8};
      Session plain = session_of(tiny(architecture), options), moved = session_of(tiny(architecture), options);
      for (int step = 0; step < 40; ++step) {
        if (plain.length() > 0 && random() % 4 == 0) {
          const std::size_t length = plain.length() - random() % std::min<std::size_t>(12, plain.length());
          const bool cut = plain.truncate(length).has_value();
          ASSERT_EQ(moved.truncate(length).has_value(), cut);
        } else {
          const Keep keep{.mode = random() % 3 == 0 ? Keep::Mode::all : Keep::Mode::last};
          const auto tokens = some_tokens(1 + random() % 30, static_cast<unsigned>(step));
          if (plain.context_left() < tokens.size()) break;
          for (Session* each : {&plain, &moved}) each->feed(tokens, {.keep = keep}).value();
        }
        const auto what = random() % 3;
        if (what == 0) {
          moved = moved.fork().value();
        } else if (what == 1) {
          const Bytes saved = moved.save().value();
          Session other = session_of(tiny(architecture), options);
          other.feed(some_tokens(1 + random() % 40, 5)).value();
          other.restore(saved).value();
          EXPECT_EQ(other.save().value(), saved);
          moved = std::move(other);
          ++restored;
        }
        expect_same(plain, moved);
        for (std::size_t kept = 0; auto logits = plain.logits(kept); ++kept) {
          ASSERT_EQ(moved.logits(kept).value().all().value(), logits->all().value()) << "step " << step;
        }
      }
    }
  }
  EXPECT_GT(restored, 30);
}

TEST(SavedSessionTest, GrowsWithTheTokensHeldAndNotWithTheWindow) {
  const auto size = [](std::size_t tokens, std::size_t context) {
    Session session = session_of(tiny("llama"), {.context_tokens = context});
    if (tokens > 0) session.feed(some_tokens(tokens)).value();
    return session.save().value().size();
  };
  EXPECT_EQ(size(10, 64), size(10, 512));
  const std::uint64_t each = kv_bytes_per_token(tiny("llama")->kv_shape(), KvType::f16) + sizeof(Token);
  EXPECT_EQ(size(41, 512) - size(10, 512), 31 * each);
  EXPECT_LT(size(0, 512), 1000u);
}

TEST(SavedSessionTest, AnEmptySessionIsOneLikeAnyOther) {
  const Bytes saved = session_of(tiny("llama")).save().value();
  Session session = session_of(tiny("llama"));
  session.feed(some_tokens(5)).value();
  session.restore(saved).value();
  EXPECT_EQ(session.length(), 0u);
  EXPECT_EQ(session.kv_bytes(), 0u);
  EXPECT_EQ(message_of(session.logits().all()).substr(0, 15), "no_hidden_state");
  session.feed(some_tokens(5)).value();
}

TEST(SavedSessionTest, HandlesOfBeforeAreStale) {
  Session session = session_of(tiny("llama"));
  session.feed(some_tokens(5)).value();
  const Bytes saved = session.save().value();
  const Logits logits = session.logits();
  Generation generation = session.generate(some_tokens(2)).value();
  EXPECT_TRUE(logits.all());
  session.restore(saved).value();
  EXPECT_EQ(logits.all().error().code, ErrorCode::stale_handle);
  EXPECT_FALSE(generation.next());
  EXPECT_EQ(generation.result().error().code, ErrorCode::stale_handle);
}

// ---- Answers ----

// An answer that is saved and resumed before each step says what it says without.
void expect_resumes_everywhere(const std::shared_ptr<const Model>& model, const std::function<GenerateOptions()>& make,
                               const std::function<ResumeOptions()>& resume, SessionOptions options = {}) {
  const std::vector<Token> prompt = some_tokens(30);
  Session plain_session = session_of(model, options), session = session_of(model, options);
  Generation plain = plain_session.generate(prompt, make()).value();
  std::optional<Generation> moved = session.generate(prompt, make()).value();
  for (int step = 0;; ++step) {
    Session other = session_of(model, options);
    other.feed(some_tokens(3, 7)).value();
    Generation resumed = other.resume(moved->save().value(), resume()).value();
    // The one that was saved goes on as well.
    const auto chunk = plain.next(), left_behind = moved->next(), same = resumed.next();
    ASSERT_EQ(chunk.has_value(), same.has_value()) << "step " << step;
    ASSERT_EQ(chunk.has_value(), left_behind.has_value()) << "step " << step;
    moved = std::move(resumed);
    session = std::move(other);
    if (!chunk) break;
    ASSERT_EQ(chunk->text, same->text) << "step " << step;
    ASSERT_EQ(chunk->token, same->token) << "step " << step;
    ASSERT_EQ(chunk->token, left_behind->token) << "step " << step;
    ASSERT_EQ(chunk->sample.has_value(), same->sample.has_value());
    if (chunk->sample) {
      EXPECT_EQ(chunk->sample->logprob_raw, same->sample->logprob_raw);
    }
    ASSERT_EQ(held(plain_session), held(session)) << "step " << step;
    ASSERT_EQ(plain_session.logits().all().value(), session.logits().all().value()) << "step " << step;
  }
  const GenerationResult expected = plain.result().value(), got = moved->result().value();
  EXPECT_EQ(got.finish_reason, expected.finish_reason);
  EXPECT_EQ(got.text, expected.text);
  EXPECT_EQ(got.tokens, expected.tokens);
  EXPECT_EQ(got.end_token, expected.end_token);
  EXPECT_EQ(got.stop_string, expected.stop_string);
  EXPECT_EQ(got.timings.token_times.size(), expected.timings.token_times.size());
  EXPECT_EQ(got.timings.prompt_tokens, expected.timings.prompt_tokens);
  EXPECT_TRUE(std::is_sorted(got.timings.token_times.begin(), got.timings.token_times.end()));
}

TEST(SavedAnswerTest, ResumesBeforeEveryStep) {
  const auto nothing = [] { return ResumeOptions(); };
  for (const char* architecture : kArchitectures) {
    SCOPED_TRACE(architecture);
    expect_resumes_everywhere(tiny(architecture), sampling_options, nothing);
    const auto with_logprobs = [] {
      GenerateOptions options = sampling_options();
      options.logprobs = LogprobOptions{.top_logprobs = 3};
      options.sampling.mirostat = MirostatOptions{.tau = 3};
      options.sampling.temperature = 1;
      options.sampling.top_p = 1;
      return options;
    };
    expect_resumes_everywhere(tiny(architecture), with_logprobs, nothing);
    const auto dropping = [] {
      GenerateOptions options = sampling_options();
      options.max_tokens = 30;
      options.context_policy = ContextPolicy::drop_oldest;
      options.keep_tokens = 2;
      options.drop_tokens = 7;
      return options;
    };
    expect_resumes_everywhere(tiny(architecture), dropping, nothing, {.context_tokens = 40});
    const auto until_full = [] {
      GenerateOptions options = sampling_options();
      options.max_tokens.reset();
      options.context_policy = ContextPolicy::stop;
      return options;
    };
    expect_resumes_everywhere(tiny(architecture), until_full, nothing, {.context_tokens = 40});
  }
}

TEST(SavedAnswerTest, WithSpeculationBeforeAndAfter) {
  for (const bool before : {false, true}) {
    for (const bool after : {false, true}) {
      const auto make = [&] {
        GenerateOptions options{.max_tokens = 24, .end_tokens = std::vector<Token>{}};
        options.sampling.temperature = 0;  // repeats itself, so that guesses are right
        options.speculation.prompt_lookup = before;
        return options;
      };
      const auto resume = [&] { return ResumeOptions{.speculation = {.prompt_lookup = after}}; };
      expect_resumes_everywhere(tiny("llama"), make, resume);
      expect_resumes_everywhere(tiny("gemma3"), make, resume);
    }
  }
}

TEST(SavedAnswerTest, UnderAGrammar) {
  for (const char* architecture : kArchitectures) {
    const auto to_its_end = [] {
      GenerateOptions options{.max_tokens = 60};
      options.sampling.seed = 5;
      options.grammar = Grammar::regex("\\{\"[a-z]{2}\": (true|false|[0-9]{1,4})\\}").value();
      return options;
    };
    expect_resumes_everywhere(tiny(architecture), to_its_end, [&] { return ResumeOptions{.grammar = to_its_end().grammar}; });
    const auto in_the_middle = [] {
      GenerateOptions options = sampling_options();
      options.grammar = long_json();
      options.close_within_budget = false;
      return options;
    };
    expect_resumes_everywhere(tiny(architecture), in_the_middle, [] { return ResumeOptions{.grammar = long_json()}; });
    const auto closing = [] {
      GenerateOptions options = sampling_options();
      options.grammar = unique_integers();
      return options;
    };
    expect_resumes_everywhere(tiny(architecture), closing, [&] { return ResumeOptions{.grammar = closing().grammar}; });
  }
  // In a chain of the caller's, the grammar comes back with the chain.
  const auto chain = [] {
    return SamplerChain::create({.processors = {grammar_mask(long_json(), tiny("llama")->tokenizer())}, .seed = 3}).value();
  };
  const auto with_chain = [&] {
    GenerateOptions options{.max_tokens = 20};
    options.chain = chain();
    return options;
  };
  expect_resumes_everywhere(tiny("llama"), with_chain, [&] { return ResumeOptions{.chain = chain()}; });
}

// The chain is the caller's own: a script whose text stops inside of characters and of stop strings.
TEST(SavedAnswerTest, InsideACharacterAndAStopString) {
  const std::vector<std::string> pieces = {"a",  "\xF0", "\x9F", "\x99",  "\x82", "\nHum",
                                           "an", "x",    "\xE2", "\nHum", "an",   ":"};
  const auto chain = [&] { return script(tokens_of(*tiny("llama"), pieces)); };
  const auto make = [&] {
    GenerateOptions options{.stop_strings = {"\nHuman:", "never"}};
    options.chain = chain();
    return options;
  };
  expect_resumes_everywhere(tiny("llama"), make, [&] { return ResumeOptions{.chain = chain()}; });

  Session session = session_of(tiny("llama"));
  Generation generation = session.generate(some_tokens(4), make()).value();
  for (int i = 0; i < 3; ++i) (void)generation.next();
  Generation resumed = session.resume(generation.save().value(), {.chain = chain()}).value();
  EXPECT_EQ(resumed.finish().value().text, "a\xF0\x9F\x99\x82\nHumanx\xEF\xBF\xBD");
  EXPECT_EQ(resumed.result().value().stop_string, "\nHuman:");
}

TEST(SavedAnswerTest, WantsTheCallersChainBackAndNoOther) {
  Session session = session_of(tiny("llama"));
  GenerateOptions options{.max_tokens = 4};
  options.chain = sampling_chain(1);
  Generation generation = session.generate(some_tokens(4), std::move(options)).value();
  const Bytes own = generation.save().value();
  EXPECT_EQ(message_of(session.resume(own)), "invalid_argument: the answer was made with a GenerateOptions::chain, and "
                                             "ResumeOptions::chain is absent");
  EXPECT_EQ(message_of(session.resume(own, {.chain = SamplerChain::create().value()})),
            "incompatible: a chain of 4 stages was saved, this one has 1");
  EXPECT_TRUE(session.resume(own, {.chain = sampling_chain(9)}));
  const Bytes plain = session.generate(some_tokens(4), sampling_options()).value().save().value();
  EXPECT_EQ(message_of(session.resume(plain, {.chain = sampling_chain(9)})).substr(0, 63),
            "invalid_argument: the answer was made without GenerateOptions::");
}

class Unsaved final : public LogitsProcessor {
 public:
  std::string describe() const override { return "my_rule(3)"; }
  std::unique_ptr<LogitsProcessor> clone() const override { return std::make_unique<Unsaved>(*this); }
};

TEST(SavedAnswerTest, AStageThatCannotBeSavedIsNamed) {
  const test::TempDir folder;
  Session session = session_of(tiny("llama"));
  session.feed(some_tokens(4)).value();
  SamplerChain chain = SamplerChain::create({.processors = {Unsaved()}}).value();
  const std::string expected = "unsupported: my_rule(3): its state cannot be saved: it does not override save_state()";
  EXPECT_EQ(message_of(session.save(folder.path() / "a", {.chain = &chain})), expected);
  GenerateOptions options{.max_tokens = 3};
  options.chain = std::move(chain);
  Generation generation = session.generate(some_tokens(4), std::move(options)).value();
  EXPECT_EQ(message_of(generation.save(folder.path() / "a")), expected);
  EXPECT_TRUE(fs::is_empty(folder.path()));
  EXPECT_TRUE(generation.next());
}

// Its state is as long as what it accepted, and it does not say how that is taken up again.
class HalfSaved final : public LogitsProcessor {
 public:
  std::string describe() const override { return "my_rule(4)"; }
  std::unique_ptr<LogitsProcessor> clone() const override { return std::make_unique<HalfSaved>(*this); }
  Result<void> accept(Token) override { return ++accepted_, Result<void>(); }
  Result<Bytes> save_state() const override { return Bytes(accepted_); }

 private:
  std::size_t accepted_ = 0;
};

TEST(SavedAnswerTest, AFailedOrStaleAnswerIsNotSaved) {
  Session session = session_of(tiny("llama"));
  GenerateOptions options{.max_tokens = 3};
  options.chain = SamplerChain::create({.processors = {test::Failing(1, false)}}).value();
  Generation failed = session.generate(some_tokens(4), std::move(options)).value();
  EXPECT_FALSE(failed.next());
  EXPECT_EQ(message_of(failed.save()), "limit_exceeded: its own limit");
  Generation stale = session.generate(some_tokens(4)).value();
  session.feed(some_tokens(1)).value();
  EXPECT_EQ(message_of(stale.save()).substr(0, 12), "stale_handle");
}

TEST(SavedAnswerTest, OneThatHasEndedIsRestoredAsEnded) {
  Session session = session_of(tiny("llama"));
  StopSource stop;
  GenerateOptions options = sampling_options();
  options.stop = stop.token();
  Generation generation = session.generate(some_tokens(4), std::move(options)).value();
  stop.request_stop();
  (void)generation.finish().value();  // before the first token
  Session other = session_of(tiny("llama"));
  Generation resumed = other.resume(generation.save().value()).value();
  EXPECT_FALSE(resumed.next());
  EXPECT_EQ(resumed.result().value().finish_reason, FinishReason::cancelled);
}

// ---- Conversations ----

TEST(SavedConversationTest, GoesOnWithTheNextTurn) {
  for (const char* architecture : kArchitectures) {
    Conversation plain = Conversation::create(session_of(tiny(architecture))).value();
    Message tool{.role = "tool", .content = "42", .name = "add", .tool_call_id = "1"};
    tool.extra = {{"reasoning", JsonObject{{"steps", JsonArray{1, 2.5, true, nullptr, "x"}}}}};
    plain.add({.role = "system", .content = "Be short."});
    (void)plain.say("Hello", sampling_options()).value().finish().value();
    plain.add({.role = "assistant", .content = "", .tool_calls = {{"1", "add", "{\"a\": 1}"}}});
    plain.add(tool);

    Conversation other = Conversation::create(session_of(tiny(architecture))).value();
    (void)other.say("Something else", sampling_options()).value().finish().value();
    EXPECT_FALSE(other.restore(plain.save().value()).value());  // no answer was running
    ASSERT_EQ(other.messages().size(), plain.messages().size());
    const Message& restored = other.messages().back();
    EXPECT_EQ(restored.tool_call_id, "1");
    const JsonObject& steps = *restored.extra.front().value.as_object();
    EXPECT_EQ(*steps.front().value.as_array()->at(1).as_double(), 2.5);
    EXPECT_TRUE(steps.front().value.as_array()->at(3).is_null());
    for (int turn = 0; turn < 2; ++turn) {
      const auto a = plain.say("Go on", sampling_options()).value().finish().value();
      const auto b = other.say("Go on", sampling_options()).value().finish().value();
      EXPECT_EQ(a.tokens, b.tokens);
      EXPECT_EQ(a.timings.reused_tokens, b.timings.reused_tokens);
      EXPECT_GT(b.timings.reused_tokens, 0u);
      expect_same(plain.session(), other.session());
    }
    other.pop();
    plain.pop();
    EXPECT_EQ(plain.save().value(), other.save().value());
  }
}

TEST(SavedConversationTest, WhatIsNestedTooDeeplyIsRefused) {
  Conversation chat = Conversation::create(session_of(tiny("llama"))).value();
  JsonValue value;
  for (int i = 0; i < 100; ++i) value = JsonArray{value};
  chat.add({.role = "user", .content = "a", .extra = {{"deep", value}}});
  EXPECT_TRUE(chat.restore(chat.save().value()));
  chat.add({.role = "user", .content = "a", .extra = {{"deep", JsonArray{value}}}});
  EXPECT_EQ(message_of(chat.save()), "limit_exceeded: messages[1].extra, deep: nested deeper than 100");
}

// ---- Refusals, all of them without a trace ----

// A session that holds something, and must still hold it in the end.
class Untouched {
 public:
  explicit Untouched(const std::shared_ptr<const Model>& model, SessionOptions options = {})
      : session(session_of(model, std::move(options))) {
    session.feed(some_tokens(10, 3)).value();
    before_ = session.save().value();
    logits_ = session.logits().all().value();
  }
  ~Untouched() {
    EXPECT_EQ(session.save().value(), before_);
    EXPECT_EQ(session.logits().all().value(), logits_);
    EXPECT_TRUE(session.feed(some_tokens(2)));
  }
  Session session;

 private:
  Bytes before_;
  std::vector<float> logits_;
};

Bytes saved_of(const std::shared_ptr<const Model>& model, SessionOptions options = {}, std::size_t tokens = 20) {
  Session session = session_of(model, std::move(options));
  session.feed(some_tokens(tokens)).value();
  return session.save().value();
}

TEST(SavedSessionTest, K03DamageIsRefusedAndLeavesNothingBehind) {
  const Bytes saved = saved_of(tiny("llama"), {}, 3);
  Untouched untouched(tiny("llama"));
  for (std::size_t size = 0; size < saved.size(); ++size) {
    const auto refused = untouched.session.restore(std::span(saved).first(size));
    ASSERT_EQ(refused ? ErrorCode::internal : refused.error().code, ErrorCode::malformed) << size;
  }
  Bytes longer = saved;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(untouched.session.restore(longer));
  std::mt19937 random(1);
  for (std::size_t i = 0; i < 200; ++i) {
    const std::size_t place = i < 40 ? i : random() % saved.size();
    Bytes damaged = saved;
    damaged[place] ^= static_cast<std::byte>(1 << random() % 8);
    ASSERT_FALSE(untouched.session.restore(damaged)) << place;
  }
}

TEST(SavedAnswerTest, AStageThatCannotBeRestoredIsNamed) {
  const auto chain = [] { return SamplerChain::create({.processors = {HalfSaved()}}).value(); };
  Session session = session_of(tiny("llama"));
  GenerateOptions options{.max_tokens = 3};
  options.chain = chain();
  Generation generation = session.generate(some_tokens(4), std::move(options)).value();
  (void)generation.next();
  Untouched untouched(tiny("llama"));
  EXPECT_EQ(message_of(untouched.session.resume(generation.save().value(), {.chain = chain()})),
            "unsupported: my_rule(4): its state cannot be restored: it does not override restore_state()");
}

TEST(SavedAnswerTest, WantsTheGrammarBackAndNoOther) {
  Session session = session_of(tiny("llama"));
  const auto saved = [&](const std::optional<Grammar>& grammar) {
    GenerateOptions options = sampling_options();
    options.grammar = grammar;
    options.close_within_budget = false;
    Generation generation = session.generate(some_tokens(4), std::move(options)).value();
    for (int i = 0; i < 5; ++i) (void)generation.next();
    return generation.save().value();
  };
  const Bytes own = saved(long_json()), plain = saved({});
  Untouched untouched(tiny("llama"));
  const auto refused = [&](const Bytes& bytes, ResumeOptions options) {
    return message_of(untouched.session.resume(bytes, std::move(options)));
  };
  EXPECT_EQ(refused(own, {}), "invalid_argument: the answer was made with a GenerateOptions::grammar, and "
                              "ResumeOptions::grammar is absent");
  EXPECT_EQ(refused(plain, {.grammar = long_json()}), "invalid_argument: the answer was made without "
                                                      "GenerateOptions::grammar, and ResumeOptions::grammar is given");
  EXPECT_EQ(refused(own, {.grammar = Grammar::json().value()}).substr(0, 64),
            "incompatible: grammar_mask(): saved under a grammar with digest ");
  EXPECT_EQ(refused(own, {.chain = SamplerChain::create().value()}).substr(0, 31), "invalid_argument: the answer wa");
}

// What the mask has accepted is in the file twice: as its state, and as the answer.
TEST(SavedAnswerTest, TheMaskHasFollowedTheAnswerAndNothingElse) {
  const Grammar grammar = Grammar::regex("[a-z]{30,}").value();
  const auto own = tiny("llama")->tokenizer().end_tokens();
  std::vector<Token> end_tokens(own.begin(), own.end());
  std::sort(end_tokens.begin(), end_tokens.end());
  Session session = session_of(tiny("llama"));
  Untouched untouched(tiny("llama"));
  for (const std::size_t max_tokens : {3u, 4u}) {  // ended, and running
    GenerateOptions options{.max_tokens = max_tokens};
    options.grammar = grammar;
    options.close_within_budget = false;
    Generation generation = session.generate(some_tokens(4), std::move(options)).value();
    for (int i = 0; i < 3; ++i) (void)generation.next();
    std::vector<Token> tokens = generation.result().value().tokens;
    ASSERT_EQ(tokens.size(), 3u);
    const auto state = [&] {
      ArchiveWriter archive;
      archive(grammar.digest(), end_tokens, tokens);
      return archive.take();
    };
    Bytes saved = generation.save().value();
    const Bytes unchanged = saved;
    test::sign(saved);
    EXPECT_EQ(saved, unchanged);
    EXPECT_TRUE(session_of(tiny("llama")).resume(saved, {.grammar = grammar}));
    const Bytes followed = state();
    const auto place = std::search(saved.begin(), saved.end(), followed.begin(), followed.end());
    ASSERT_NE(place, saved.end());
    tokens[1] = token_of(*tiny("llama"), tokens[1] == token_of(*tiny("llama"), "q") ? "r" : "q");
    const Bytes other = state();
    std::copy(other.begin(), other.end(), place);
    test::sign(saved);
    EXPECT_EQ(message_of(untouched.session.resume(saved, {.grammar = grammar})),
              "malformed: answer: its tokens are not those that the grammar has followed");
  }
}

TEST(SavedAnswerTest, K03DamageUnderAGrammarLeavesNothingBehind) {
  for (const bool closes : {false, true}) {
    Session session = session_of(tiny("llama"));
    GenerateOptions options = sampling_options();
    const Grammar grammar = closes ? unique_integers() : long_json();
    options.grammar = grammar;
    options.close_within_budget = closes;
    Generation generation = session.generate(some_tokens(4), std::move(options)).value();
    for (int i = 0; i < 5; ++i) (void)generation.next();
    const Bytes saved = generation.save().value();
    EXPECT_TRUE(session_of(tiny("llama")).resume(saved, {.grammar = grammar}));
    Untouched untouched(tiny("llama"));
    std::mt19937 random(4);
    for (int i = 0; i < 200; ++i) {
      Bytes damaged = saved;
      damaged[random() % saved.size()] ^= static_cast<std::byte>(1 << random() % 8);
      ASSERT_FALSE(untouched.session.resume(damaged, {.grammar = grammar}));
      ASSERT_FALSE(untouched.session.resume(std::span(saved).first(random() % saved.size()), {.grammar = grammar}));
    }
  }
}

// The budget is that of the window where it began, so that its text does not hang on where it goes on.
TEST(SavedAnswerTest, ABudgetGoesOnInAnotherWindow) {
  const Grammar quoted = Grammar::regex("'[a-z]{2,}'").value();
  GenerateOptions options{.context_policy = ContextPolicy::stop};  // the window alone limits it
  options.sampling.seed = 3;
  options.sampling.logit_bias = {{token_of(*tiny("llama"), "'"), -100.0f}};
  options.grammar = quoted;
  Session session = Session::create(tiny("llama"), {.context_tokens = 40}).value();
  Generation generation = session.generate(some_tokens(10), std::move(options)).value();
  for (int i = 0; i < 3; ++i) (void)generation.next();
  const Bytes saved = generation.save().value();
  const GenerationResult expected = generation.finish().value();
  EXPECT_EQ(expected.finish_reason, FinishReason::grammar_complete);
  EXPECT_GT(expected.tokens.size(), 20u);
  for (const std::size_t window : {std::size_t{40}, std::size_t{200}, 10 + expected.tokens.size()}) {
    Session elsewhere = Session::create(tiny("llama"), {.context_tokens = window}).value();
    const GenerationResult result = elsewhere.resume(saved, {.grammar = quoted}).value().finish().value();
    EXPECT_EQ(result.tokens, expected.tokens) << window;
    EXPECT_EQ(result.finish_reason, expected.finish_reason) << window;
  }
}

TEST(SavedConversationTest, K03DamageIsRefusedAndLeavesNothingBehind) {
  Conversation source = Conversation::create(session_of(tiny("llama"))).value();
  Generation answer = source.say("Hi", sampling_options()).value();
  (void)answer.next();
  const Bytes saved = source.save().value();

  Conversation chat = Conversation::create(session_of(tiny("llama"))).value();
  (void)chat.say("Hello", sampling_options()).value().finish().value();
  const Bytes before = chat.save().value();
  std::mt19937 random(2);
  for (int i = 0; i < 200; ++i) {
    Bytes damaged = saved;
    damaged[random() % saved.size()] ^= static_cast<std::byte>(1 << random() % 8);
    ASSERT_FALSE(chat.restore(damaged));
    ASSERT_FALSE(chat.restore(std::span(saved).first(random() % saved.size())));
  }
  EXPECT_EQ(chat.save().value(), before);
  EXPECT_EQ(chat.messages().size(), 2u);
  EXPECT_TRUE(chat.say("More", sampling_options()).value().finish());
  EXPECT_TRUE(chat.restore(saved).value());
}

TEST(SavedSessionTest, K04AnotherModelOrSettingIsRefusedByName) {
  using Change = std::function<void(test::TinyModelOptions&)>;
  const auto load = [](const Change& change, ModelOptions options = {.threads = 1}) {
    test::TinyModelOptions tiny = tiny_options("llama");
    change(tiny);
    return test::load_bytes(test::make_tiny_model(tiny), std::move(options));
  };
  const auto unchanged = [](auto&) {};
  Untouched untouched(tiny("llama"));
  const auto refused = [&](const std::shared_ptr<const Model>& model, SessionOptions options = {}) {
    return message_of(untouched.session.restore(saved_of(model, std::move(options))));
  };
  EXPECT_EQ(refused(load([](auto& options) { options.layers = 3; })),
            "incompatible: buffer: saved with layers 3, here it is 2");
  EXPECT_EQ(refused(tiny("gemma3")), "incompatible: buffer: saved with architecture gemma3, here it is llama");
  EXPECT_EQ(refused(load([](auto& options) { options.kv_heads = 4; })),
            "incompatible: buffer: saved with KV heads 4, here it is 2");
  EXPECT_EQ(refused(load([](auto& options) { options.extra_tokens.back() = "Robot:"; })).substr(0, 47),
            "incompatible: buffer: saved with tokenizer dige");
  const auto other_weights = load([](auto& options) { options.seed = 2; });
  EXPECT_EQ(refused(other_weights), "incompatible: buffer: saved with model digest " + other_weights->digest() +
                                        ", here it is " + tiny("llama")->digest());
  EXPECT_EQ(refused(load(unchanged, {.threads = 1, .activations = Activations::accurate})),
            "incompatible: buffer: saved with activations accurate, here it is fast");
  EXPECT_EQ(refused(tiny("llama"), {.kv_type = KvType::q8_0}),
            "incompatible: buffer: saved with KV type q8_0, here it is f16");
  const auto scalar = load(unchanged, {.threads = 1, .target = "scalar"});  // of the class: the same bits
  EXPECT_EQ(untouched.session.restore(saved_of(scalar, {}, 10)).has_value(),
            tiny("llama")->info().numerics_class == scalar->info().numerics_class);
  untouched.session.restore(session_of(tiny("llama")).save().value()).value();
  untouched.session.feed(some_tokens(10, 3)).value();

  for (const int format : {1, 3}) {  // older: without Timings::masking
    Bytes other = saved_of(tiny("llama"));
    other[8] = static_cast<std::byte>(format);
    EXPECT_EQ(message_of(untouched.session.restore(other)),
              "incompatible: buffer: saved in format " + std::to_string(format) + ", this version of rill reads 2");
  }
}

TEST(SavedSessionTest, AWindowThatIsTooSmallIsRefused) {
  Untouched untouched(tiny("llama"), {.context_tokens = 24});
  EXPECT_EQ(message_of(untouched.session.restore(saved_of(tiny("llama"), {}, 25))),
            "context_full: buffer: 25 tokens were saved, the session's window is 24");
  Session session = session_of(tiny("llama"), {.context_tokens = 24});
  EXPECT_TRUE(session.restore(saved_of(tiny("llama"), {}, 24)));
}

TEST(SavedSessionTest, APoolWithoutRoomForBothContentsRefuses) {
  const std::uint64_t page = KvPool::create(tiny("llama")).value()->use().page_bytes;
  const auto pool = KvPool::create(tiny("llama"), {.budget_bytes = 4 * page}).value();
  {
    Untouched untouched(tiny("llama"), {.kv_pool = pool});  // one page
    EXPECT_EQ(message_of(untouched.session.restore(saved_of(tiny("llama"), {}, 60))).substr(0, 18), "resource_exhausted");
    EXPECT_EQ(pool->use().pages, 1u);
  }
  Session session = session_of(tiny("llama"), {.kv_pool = pool});
  ASSERT_TRUE(session.restore(saved_of(tiny("llama"), {}, 60)));
  EXPECT_EQ(pool->use().pages, 4u);
}

TEST(SavedSessionTest, K05WhatIsNotThereOrNoSavedSession) {
  const test::TempDir folder;
  Untouched untouched(tiny("llama"));
  const auto refused = [&](const fs::path& path) { return message_of(untouched.session.restore(path)); };
  EXPECT_EQ(refused(folder.path() / "none").substr(0, 9), "not_found");
  EXPECT_EQ(refused(folder.path()), "io: " + folder.path().string() + ": is not a regular file");
  const fs::path empty = folder.write("empty", {});
  EXPECT_EQ(refused(empty), "malformed: " + empty.string() + ": too short for a saved session");
  const fs::path model = folder.write("model", test::make_tiny_model(tiny_options("llama")));
  EXPECT_EQ(refused(model), "malformed: " + model.string() + ": not a saved session");
}

TEST(SavedSessionTest, EveryKindGoesWhereItBelongs) {
  Untouched untouched(tiny("llama"));
  Session session = session_of(tiny("llama"));
  const Bytes answer = session.generate(some_tokens(4), sampling_options()).value().save().value();
  session.feed(some_tokens(4)).value();
  SamplerChain chain = sampling_chain(1);
  const Bytes plain = session.save().value(), with_chain = session.save({.chain = &chain}).value();
  const Bytes chat = Conversation::create(std::move(session)).value().save().value();
  Session& target = untouched.session;
  EXPECT_EQ(message_of(target.restore(answer)), "incompatible: buffer: holds a running answer, not a session");
  EXPECT_EQ(message_of(target.restore(chat)), "incompatible: buffer: holds a conversation, not a session");
  EXPECT_EQ(message_of(target.resume(plain)), "incompatible: buffer: holds a session, not a running answer");
  EXPECT_EQ(message_of(target.restore(with_chain)),
            "invalid_argument: buffer: saved with a sampler chain, and RestoreOptions::chain is absent");
  EXPECT_EQ(message_of(target.restore(plain, {.chain = &chain})),
            "invalid_argument: buffer: saved without a sampler chain, and RestoreOptions::chain is given");
  const Bytes before = chain.save().value();
  EXPECT_FALSE(target.restore(std::span(with_chain).first(with_chain.size() - 1), {.chain = &chain}));
  EXPECT_EQ(chain.save().value(), before);
}

TEST(SavedSessionTest, StopsAndRefusesToEnterTwice) {
  const test::TempDir folder;
  const Bytes saved = saved_of(tiny("llama"));
  Untouched untouched(tiny("llama"));
  EXPECT_EQ(untouched.session.restore(saved, {.stop = test::CountedStop(1)}).error().code, ErrorCode::cancelled);
  const auto stopped = untouched.session.save(folder.path() / "a", {.stop = test::CountedStop(1)});
  EXPECT_EQ(stopped.error().code, ErrorCode::cancelled);
  EXPECT_TRUE(fs::is_empty(folder.path()));
  FeedOptions options;
  std::string inside;
  Session other = untouched.session.fork().value();
  options.progress = [&](std::size_t, std::size_t) {
    inside = message_of(other.save()).substr(0, 4) + message_of(other.restore(saved)).substr(0, 4);
  };
  other.feed(some_tokens(3), options).value();
  EXPECT_EQ(inside, "busybusy");
}

// ---- Files ----

TEST(SavedSessionTest, AFileThatCannotBeWrittenLeavesTheOldOne) {
  const test::TempDir folder;
  const fs::path path = folder.path() / "chat.session";
  Session session = session_of(tiny("llama"));
  session.feed(some_tokens(20)).value();
  session.save(path).value();
  const auto size = fs::file_size(path);
  session.feed(some_tokens(20)).value();
  EXPECT_EQ(session.save(folder.path() / "no such folder" / "a").error().code, ErrorCode::io);
  EXPECT_EQ(message_of(session.save(folder.path())), "io: " + folder.path().string() + ": is not a regular file");
#if defined(__unix__)
  EXPECT_EQ(message_of(session.save("/dev/full")), "io: /dev/full: is not a regular file");
  EXPECT_EQ(fs::status(path).permissions(), fs::perms(0600));
  // As on a full disk: a part of the file can be written, the rest cannot.
  rlimit before{}, full{};
  getrlimit(RLIMIT_FSIZE, &before);
  full = before;
  full.rlim_cur = size / 2;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &full);
  const auto refused = session.save(path);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::io);
  EXPECT_NE(refused.error().message.find("write failed"), std::string::npos);
#endif
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1);
  EXPECT_EQ(fs::file_size(path), size);
  Session old = session_of(tiny("llama"));
  old.restore(path).value();
  EXPECT_EQ(old.length(), 20u);
  session.save(path).value();
  old.restore(path).value();
  expect_same(old, session);
}

}  // namespace
}  // namespace rill
