// The rules of Session: what it refuses, and that a call that fails or is stopped leaves it as it was.
#include "rill/session.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "gguf/file.h"
#include "session/session_state.h"
#include "support/scripted.h"

namespace rill {
namespace {

using test::code_of;
using test::load_tiny;
using test::some_tokens;

Session start(const std::shared_ptr<const Model>& model, SessionOptions options = {}) {
  return Session::create(model, std::move(options)).value();
}

std::vector<float> next_logits(Session& session) { return session.logits().all().value(); }

// All that a caller can see of a session; feeding a fork shows whether its keys and values are intact, too.
struct Snapshot {
  std::vector<Token> tokens;
  std::vector<float> logits;
  std::vector<float> logits_after;
  std::uint64_t kv_bytes;
  friend bool operator==(const Snapshot&, const Snapshot&) = default;
};

Snapshot snapshot(Session& session) {
  Snapshot shot{{session.tokens().begin(), session.tokens().end()}, next_logits(session), {}, session.kv_bytes()};
  Session fork = session.fork().value();
  fork.feed(some_tokens(5, 77)).value();
  shot.logits_after = next_logits(fork);
  return shot;
}

class SessionTest : public testing::TestWithParam<const char*> {
 protected:
  std::shared_ptr<const Model> model_ = load_tiny(test::tiny_options(GetParam()));
};

INSTANTIATE_TEST_SUITE_P(Architectures, SessionTest, testing::Values("llama", "gemma3"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(SessionTest, AFeedThatIsStoppedAtAnyPollLeavesNoTrace) {
  Session session = start(model_, {.prefill_chunk = 16});
  session.feed(some_tokens(41)).value();
  const Snapshot before = snapshot(session);
  const std::vector<Token> more = some_tokens(50, 2);

  test::CountedStop counted;
  Session fork = session.fork().value();
  fork.feed(more, {.stop = counted}).value();
  // Once per layer and chunk, so that a stop waits for one layer of one chunk at most.
  EXPECT_EQ(counted.polls(), model_->info().layers * 4);

  for (std::size_t poll = 1; poll <= counted.polls(); ++poll) {
    test::CountedStop stop(poll);
    EXPECT_EQ(code_of(session.feed(more, {.stop = stop})), ErrorCode::cancelled);
    EXPECT_EQ(stop.polls(), poll);
  }
  EXPECT_EQ(snapshot(session), before);
  session.feed(more).value();
  EXPECT_EQ(next_logits(session), next_logits(fork));
}

TEST_P(SessionTest, WhatAProgressCallbackThrowsIsAnErrorAndLeavesNoTrace) {
  Session session = start(model_, {.prefill_chunk = 16});
  session.feed(some_tokens(20)).value();
  const Snapshot before = snapshot(session);
  const auto thrown = session.feed(some_tokens(40, 2), {.progress = [](std::size_t done, std::size_t) {
                                     if (done >= 32) throw std::runtime_error("no more");
                                   }});
  EXPECT_EQ(code_of(thrown), ErrorCode::callback_failed);
  EXPECT_NE(thrown.error().message.find("no more"), std::string::npos);
  EXPECT_EQ(code_of(session.feed(some_tokens(40, 2), {.progress = [](std::size_t, std::size_t) { throw 7; }})),
            ErrorCode::callback_failed);
  EXPECT_EQ(snapshot(session), before);
}

TEST_P(SessionTest, ACallFromACallbackIsBusy) {
  Session session = start(model_);
  std::vector<ErrorCode> codes;
  session
      .feed(some_tokens(3), {.progress =
                                 [&](std::size_t, std::size_t) {
                                   codes = {code_of(session.feed(5)),
                                            code_of(session.truncate(0)),
                                            code_of(session.fork()),
                                            code_of(session.score(some_tokens(2))),
                                            code_of(session.logits(0)),
                                            code_of(session.generate("x")),
                                            code_of(session.embed("x", {.pooling = Pooling::mean}))};
                                 }})
      .value();
  EXPECT_EQ(codes, std::vector<ErrorCode>(7, ErrorCode::busy));
  EXPECT_EQ(session.length(), 3u);
}

TEST_P(SessionTest, ReportsProgressAfterEachChunk) {
  Session session = start(model_, {.prefill_chunk = 16});
  std::vector<std::pair<std::size_t, std::size_t>> seen;
  session.feed(some_tokens(40), {.progress = [&](std::size_t done, std::size_t total) { seen.emplace_back(done, total); }})
      .value();
  EXPECT_EQ(seen, (std::vector<std::pair<std::size_t, std::size_t>>{{16, 40}, {32, 40}, {40, 40}}));
}

TEST_P(SessionTest, A08TokensOutOfRangeAreRefused) {
  Session session = start(model_);
  session.feed(some_tokens(20)).value();
  const Snapshot before = snapshot(session);
  const auto vocabulary = static_cast<Token>(model_->info().vocabulary_size);
  for (const std::vector<Token>& bad : {std::vector<Token>{}, {-1}, {vocabulary}, {std::numeric_limits<Token>::max()}, {5, 6, -1},
                                       {std::numeric_limits<Token>::min()}}) {
    EXPECT_EQ(code_of(session.feed(bad)), ErrorCode::invalid_argument);
    EXPECT_EQ(code_of(session.generate(bad)), ErrorCode::invalid_argument);
    EXPECT_EQ(code_of(session.score(bad)), ErrorCode::invalid_argument);
    EXPECT_EQ(code_of(session.embed(bad, {.pooling = Pooling::last})), ErrorCode::invalid_argument);
    std::vector<float> out(bad.size());
    if (!bad.empty()) {
      EXPECT_EQ(code_of(session.logits().rows(bad, out)), ErrorCode::invalid_argument);
    }
  }
  EXPECT_EQ(snapshot(session), before);
}

TEST_P(SessionTest, ContextFullNamesTheNumbers) {
  Session session = start(model_, {.context_tokens = 24});
  session.feed(some_tokens(20)).value();
  const Snapshot before = [&] {
    return Snapshot{{session.tokens().begin(), session.tokens().end()}, next_logits(session), {}, session.kv_bytes()};
  }();
  const auto full = session.feed(some_tokens(5));
  EXPECT_EQ(code_of(full), ErrorCode::context_full);
  for (const char* number : {"5", "20", "24"})
    EXPECT_NE(full.error().message.find(number), std::string::npos) << full.error().message;
  EXPECT_EQ(next_logits(session), before.logits);
  session.feed(some_tokens(4)).value();
  EXPECT_EQ(session.context_left(), 0u);
  EXPECT_EQ(code_of(session.feed(1)), ErrorCode::context_full);
}

TEST_P(SessionTest, KeepDecidesWhichLogitsThereAre) {
  const std::vector<Token> tokens = some_tokens(40);
  Session all = start(model_, {.prefill_chunk = 16});
  all.feed(tokens, {.keep = {.mode = Keep::Mode::all}}).value();
  Session some = start(model_, {.prefill_chunk = 16});
  some.feed(tokens, {.keep = {.mode = Keep::Mode::positions, .positions = {0, 15, 16, 38}}}).value();
  for (std::size_t i = 0; i < 4; ++i) {
    const std::size_t position = std::vector<std::size_t>{0, 15, 16, 38}[i];
    EXPECT_EQ(some.logits(i).value().all().value(), all.logits(position).value().all().value());
    EXPECT_EQ(some.logits(i).value().position(), position + 1);
  }
  EXPECT_EQ(some.logits().all().value(), all.logits(38).value().all().value());
  EXPECT_EQ(code_of(some.logits(4)), ErrorCode::no_hidden_state);

  Session none = start(model_, {.prefill_chunk = 16});
  EXPECT_EQ(code_of(none.logits().all()), ErrorCode::no_hidden_state);
  none.feed(tokens, {.keep = {.mode = Keep::Mode::positions}}).value();
  EXPECT_EQ(code_of(none.logits().all()), ErrorCode::no_hidden_state);
  none.feed(7).value();
  all.feed(7).value();
  EXPECT_EQ(next_logits(none), next_logits(all));

  for (const std::vector<std::size_t>& bad : {std::vector<std::size_t>{1}, {0, 0}, {5, 3}}) {
    EXPECT_EQ(code_of(none.feed(some_tokens(1), {.keep = {.mode = Keep::Mode::positions, .positions = bad}})),
              ErrorCode::invalid_argument);
  }
}

TEST_P(SessionTest, LogitsGoStaleWithTheSession) {
  Session session = start(model_);
  session.feed(some_tokens(20)).value();
  const Logits first = session.logits();
  EXPECT_EQ(first.position(), 20u);
  session.truncate(20).value();  // nothing to do, so nothing changes
  EXPECT_TRUE(first.all());
  EXPECT_EQ(code_of(session.feed(-1)), ErrorCode::invalid_argument);
  EXPECT_TRUE(first.all());
  Session moved = std::move(session);
  EXPECT_TRUE(first.all());
  moved.feed(3).value();
  EXPECT_EQ(code_of(first.all()), ErrorCode::stale_handle);
  EXPECT_EQ(first.position(), 0u);
  const Logits second = moved.logits();
  moved.truncate(20).value();
  std::vector<float> out(1);
  const Token id = 4;
  EXPECT_EQ(code_of(second.rows({&id, 1}, out)), ErrorCode::stale_handle);
  EXPECT_EQ(code_of(moved.logits().all()), ErrorCode::no_hidden_state);
  moved.feed(3).value();
  std::optional<Session> ended(std::move(moved));
  const Logits third = ended->logits();
  std::vector<float> wrong(3);
  EXPECT_EQ(code_of(third.all(wrong)), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of(third.rows({&id, 1}, wrong)), ErrorCode::invalid_argument);
  ended.reset();
  EXPECT_EQ(code_of(third.all()), ErrorCode::stale_handle);
}

TEST_P(SessionTest, MayBeFedItsOwnTokens) {
  Session session = start(model_);
  session.feed(some_tokens(20)).value();
  std::vector<Token> twice(session.tokens().begin(), session.tokens().end());
  twice.insert(twice.end(), twice.begin(), twice.end());
  session.feed(session.tokens()).value();
  EXPECT_EQ(std::vector<Token>(session.tokens().begin(), session.tokens().end()), twice);
  Session other = start(model_);
  other.feed(twice).value();
  EXPECT_EQ(next_logits(session), next_logits(other));
}

TEST_P(SessionTest, ForksAreIndependent) {
  Session parent = start(model_);
  parent.feed(some_tokens(21)).value();
  const std::vector<float> before = next_logits(parent);
  Session child = parent.fork().value();
  Session grandchild = child.fork().value();
  child.feed(some_tokens(30, 3)).value();
  grandchild.truncate(3, {.refill = true}).value();
  EXPECT_EQ(next_logits(parent), before);
  {
    Session fresh = start(model_);
    fresh.feed(some_tokens(21)).value();
    fresh.feed(some_tokens(30, 3)).value();
    EXPECT_EQ(next_logits(child), next_logits(fresh));
  }
  const std::vector<float> of_child = next_logits(child);
  std::optional<Session> gone(std::move(parent));
  gone.reset();
  child.feed(9).value();
  child.truncate(51).value();
  child.feed(9).value();
  Session fresh = start(model_);
  fresh.feed(some_tokens(21)).value();
  fresh.feed(some_tokens(30, 3)).value();
  fresh.feed(9).value();
  EXPECT_EQ(next_logits(child), next_logits(fresh));
}

TEST_P(SessionTest, LogitsOfABatchAreThoseOfEach) {
  std::vector<Session> sessions;
  std::vector<Logits> handles;
  for (unsigned i = 0; i < 3; ++i) {
    sessions.push_back(start(model_, {.kv_type = i == 1 ? KvType::f32 : KvType::f16}));
    sessions.back().feed(some_tokens(5 + i, i), {.keep = {.mode = Keep::Mode::all}}).value();
    handles.push_back(sessions.back().logits());
    handles.push_back(sessions.back().logits(2).value());
  }
  const std::size_t vocabulary = model_->info().vocabulary_size;
  std::vector<float> together(handles.size() * vocabulary);
  logits_batch(handles, together).value();
  for (std::size_t i = 0; i < handles.size(); ++i) {
    const std::vector<float> alone = handles[i].all().value();
    ASSERT_EQ(std::memcmp(alone.data(), together.data() + i * vocabulary, vocabulary * sizeof(float)), 0) << i;
  }

  EXPECT_EQ(code_of(logits_batch({}, {})), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of(logits_batch(handles, std::span(together).subspan(1))), ErrorCode::invalid_argument);
  Session other = start(load_tiny(test::tiny_options(GetParam())));
  other.feed(some_tokens(3)).value();
  handles.push_back(other.logits());
  EXPECT_EQ(code_of(logits_batch(handles, together)), ErrorCode::invalid_argument);
  handles.pop_back();
  sessions[1].feed(some_tokens(1)).value();
  EXPECT_EQ(code_of(logits_batch(handles, together)), ErrorCode::stale_handle);
}

TEST_P(SessionTest, FeedBatchFailsForAllOrNone) {
  std::vector<Session> sessions;
  for (unsigned i = 0; i < 3; ++i) {
    sessions.push_back(start(model_, {.context_tokens = 200, .prefill_chunk = 16}));
    sessions.back().feed(some_tokens(10 + 7 * i, i)).value();
  }
  std::vector<Snapshot> before;
  for (Session& session : sessions) before.push_back(snapshot(session));
  const std::vector<Token> good = some_tokens(30, 5);
  const std::vector<Token> bad = {1, 2, -3};
  const std::vector<Token> long_one = some_tokens(190, 6);
  const std::vector<std::size_t> unsorted = {2, 1};
  Session of_other_type = start(model_, {.kv_type = KvType::f32});
  const auto other_model = load_tiny(test::tiny_options(GetParam()));
  Session of_other_model = start(other_model);

  const auto fails = [&](std::vector<FeedItem> items, StopToken stop = {}) { return code_of(feed_batch(items, stop)); };
  EXPECT_EQ(fails({}), ErrorCode::invalid_argument);
  EXPECT_EQ(fails({{&sessions[0], good}, {nullptr, good}}), ErrorCode::invalid_argument);
  EXPECT_EQ(fails({{&sessions[0], good}, {&sessions[1], bad}}), ErrorCode::invalid_argument);
  EXPECT_EQ(fails({{&sessions[0], good}, {&sessions[1], {}}}), ErrorCode::invalid_argument);
  EXPECT_EQ(fails({{&sessions[0], good}, {&sessions[1], long_one}}), ErrorCode::context_full);
  EXPECT_EQ(fails({{&sessions[0], good}, {&sessions[0], good}}), ErrorCode::invalid_argument);
  EXPECT_EQ(fails({{&sessions[0], good}, {&sessions[1], good, {.mode = Keep::Mode::positions, .positions = unsorted}}}),
            ErrorCode::invalid_argument);
  EXPECT_EQ(fails({{&sessions[0], good}, {&of_other_type, good}}), ErrorCode::invalid_argument);
  EXPECT_EQ(fails({{&sessions[0], good}, {&of_other_model, good}}), ErrorCode::invalid_argument);
  for (const std::size_t poll : {1u, 3u, 9u}) {
    EXPECT_EQ(fails({{&sessions[0], good}, {&sessions[1], good}, {&sessions[2], good}}, test::CountedStop(poll)),
              ErrorCode::cancelled);
  }
  {
    const auto inside = sessions[2].state()->enter().value();
    EXPECT_EQ(fails({{&sessions[0], good}, {&sessions[1], good}, {&sessions[2], good}}), ErrorCode::busy);
  }
  for (std::size_t i = 0; i < sessions.size(); ++i) EXPECT_EQ(snapshot(sessions[i]), before[i]) << i;

  // Each other's tokens may be fed, too.
  const std::vector<FeedItem> items = {{&sessions[0], sessions[1].tokens()}, {&sessions[1], sessions[0].tokens()}};
  feed_batch(items).value();
  EXPECT_EQ(sessions[0].length(), 27u);
  EXPECT_EQ(sessions[1].length(), 27u);
}

TEST_P(SessionTest, ScoreIsTheLogSoftmaxOfEachNextToken) {
  const std::vector<Token> tokens = some_tokens(40);
  Session session = start(model_, {.prefill_chunk = 16});
  session.feed(some_tokens(7, 9)).value();
  const Snapshot before = snapshot(session);
  const std::vector<float> scores = session.score(tokens).value();
  EXPECT_EQ(snapshot(session), before);
  ASSERT_EQ(scores.size(), tokens.size() - 1);
  Session fresh = start(model_);
  fresh.feed(tokens, {.keep = {.mode = Keep::Mode::all}}).value();
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    const std::vector<float> logits = fresh.logits(i).value().all().value();
    long double sum = 0;
    for (const float logit : logits) sum += std::exp(static_cast<long double>(logit));
    const auto expected =
        static_cast<double>(static_cast<long double>(logits[static_cast<std::size_t>(tokens[i + 1])]) - std::log(sum));
    EXPECT_NEAR(static_cast<double>(scores[i]), expected, 2e-6);
  }
  EXPECT_TRUE(session.score(some_tokens(1)).value().empty());
  EXPECT_EQ(code_of(session.score(tokens, test::CountedStop(3))), ErrorCode::cancelled);
}

TEST_P(SessionTest, OptionsAreValidated) {
  const auto refused = [&](SessionOptions options) { return code_of(Session::create(model_, std::move(options))); };
  EXPECT_EQ(code_of(Session::create(nullptr)), ErrorCode::invalid_argument);
  EXPECT_EQ(refused({.context_tokens = model_->info().context_length + 1}), ErrorCode::invalid_argument);
  EXPECT_EQ(refused({.context_tokens = std::numeric_limits<std::size_t>::max()}), ErrorCode::invalid_argument);
  EXPECT_EQ(refused({.kv_type = static_cast<KvType>(9)}), ErrorCode::invalid_argument);
  EXPECT_EQ(refused({.prefill_chunk = 0}), ErrorCode::invalid_argument);
  EXPECT_EQ(refused({.prefill_chunk = 1 << 20}), ErrorCode::invalid_argument);
  EXPECT_EQ(refused({.clock = nullptr}), ErrorCode::invalid_argument);
  EXPECT_EQ(start(model_).context_tokens(), model_->info().context_length);
}

TEST_P(SessionTest, EnumsOutOfRangeAreRefused) {
  Session session = start(model_);
  EXPECT_EQ(code_of(session.feed(some_tokens(3), {.keep = {.mode = static_cast<Keep::Mode>(9)}})), ErrorCode::invalid_argument);
  EXPECT_EQ(session.length(), 0u);
  EXPECT_EQ(code_of(model_->tokenizer().encode("a", {.add_special = static_cast<AddSpecial>(9)})), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of(model_->tokenizer().encode("a", {.unencodable = static_cast<Unencodable>(9)})), ErrorCode::invalid_argument);
  GenerateOptions options;
  options.sampling.repetition = {.penalty = 2, .scope = static_cast<PenaltyScope>(9)};
  EXPECT_EQ(code_of(session.generate(some_tokens(3), options)), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of(Grammar::json_schema("{}", {.property_order = static_cast<PropertyOrder>(9)})), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of(Grammar::json_schema("{}", {.whitespace = static_cast<JsonWhitespace>(9)})), ErrorCode::invalid_argument);
}

TEST(SessionSlidingWindowTest, TruncateSaysWhatIsEvictedAndRefills) {
  const auto model = load_tiny(test::tiny_options("gemma3"));  // a window of 20
  Session session = start(model, {.rollback_reserve = 16});
  const std::vector<Token> tokens = some_tokens(150);
  session.feed(tokens).value();
  const Snapshot before = snapshot(session);
  session.fork().value().truncate(150 - 16).value();
  const auto evicted = session.truncate(40);
  EXPECT_EQ(code_of(evicted), ErrorCode::window_evicted);
  EXPECT_EQ(snapshot(session), before);
  session.truncate(40, {.refill = true}).value();
  EXPECT_EQ(session.length(), 40u);
  EXPECT_EQ(code_of(session.logits().all()), ErrorCode::no_hidden_state);
  session.feed(std::span(tokens).subspan(40)).value();
  EXPECT_EQ(next_logits(session), before.logits);
  EXPECT_EQ(code_of(session.truncate(151)), ErrorCode::invalid_argument);
}

TEST(SessionSlidingWindowTest, AnyRollbackReserveWillDo) {
  const auto model = load_tiny(test::tiny_options("gemma3"));
  const std::vector<Token> tokens = some_tokens(150);
  Session expected = start(model);
  expected.feed(tokens).value();
  constexpr auto kMost = std::numeric_limits<std::size_t>::max();
  for (const std::size_t reserve : {std::size_t{0}, std::size_t{1}, kMost, kMost - 5, kMost - 19, kMost - 20, kMost - 21}) {
    Session session = start(model, {.rollback_reserve = reserve});
    for (std::size_t at = 0; at < tokens.size(); at += 50) session.feed(std::span(tokens).subspan(at, 50)).value();
    EXPECT_EQ(next_logits(session), next_logits(expected)) << reserve;
    if (reserve > 150) session.truncate(1).value();
  }
}

TEST(SessionFailureTest, PagesThatRunOutLeaveNoTrace) {
  const auto model = load_tiny(test::tiny_options("gemma3"));
  const std::size_t page = KvPool::create(model).value()->use().page_bytes;
  const auto pool = KvPool::create(model, {.budget_bytes = 40 * page}).value();
  const SessionOptions options{.context_tokens = 512, .prefill_chunk = 16, .kv_pool = pool};
  const auto state = session::SessionState::create(model, options).value();
  const Keep keep;
  const std::vector<Token> first = some_tokens(20), more = some_tokens(300, 4);
  const session::SessionState::Append begin{state.get(), first, &keep}, too_much{state.get(), more, &keep};
  ASSERT_TRUE(session::SessionState::append({&begin, 1}, {}, {}));
  const auto used = pool->use().used_bytes;
  const std::uint64_t epoch = state->epoch();
  EXPECT_EQ(code_of(session::SessionState::append({&too_much, 1}, {}, {})), ErrorCode::resource_exhausted);
  EXPECT_EQ(pool->use().used_bytes, used);
  EXPECT_EQ(state->tokens().size(), 20u);
  EXPECT_EQ(state->epoch(), epoch);
  EXPECT_EQ(code_of(state->replace(more, {}, {}, {})), ErrorCode::resource_exhausted);
  EXPECT_EQ(code_of(state->hidden_states(more, {})), ErrorCode::resource_exhausted);
  EXPECT_EQ(pool->use().used_bytes, used);
}

// Breaks one weight of a tiny model, and returns the file.
std::vector<std::byte> with_broken_weight(const test::TinyModelOptions& options, const std::string& name, float value) {
  std::vector<std::byte> bytes = test::make_tiny_model(options);
  const auto file = gguf::File::open({borrow_buffer(bytes).value()}).value();
  const gguf::TensorInfo* tensor = file.require_tensor(name).value();
  std::memcpy(bytes.data() + tensor->offset, &value, sizeof(value));
  return bytes;
}

TEST(SessionFailureTest, WeightsThatAreNotFiniteAreAnError) {
  for (const char* name : {"token_embd.weight", "blk.0.attn_norm.weight", "blk.1.attn_q.weight", "blk.1.attn_v.weight",
                           "blk.1.ffn_down.weight", "output_norm.weight", "output.weight"}) {
    for (const float value : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      test::TinyModelOptions options = test::tiny_options("llama");
      options.tied_head = false;
      const auto model = test::load_bytes(with_broken_weight(options, name, value));
      Session session = start(model);
      SCOPED_TRACE(testing::Message() << name << " " << value);
      const std::vector<Token> tokens = {0, 1, 2, 3};  // token 0 is the one whose embedding is broken
      const auto fed = session.feed(tokens);
      if (std::string_view(name) == "output.weight") {
        ASSERT_TRUE(fed);
        EXPECT_EQ(code_of(session.score(std::vector<Token>{3, 0})), ErrorCode::non_finite);
      } else {
        EXPECT_EQ(code_of(fed), ErrorCode::non_finite);
        EXPECT_EQ(session.length(), 0u);
        EXPECT_EQ(session.kv_bytes(), 0u);
      }
    }
  }
}

}  // namespace
}  // namespace rill
