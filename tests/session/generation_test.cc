// Answers, from scripts: how they end, what of their text is delivered, and what they leave in the session.
#include "rill/generation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "rill/session.h"
#include "support/scripted.h"

namespace rill {
namespace {

using test::code_of;
using test::Failing;
using test::script;
using test::some_tokens;
using test::token_of;
using test::tokens_of;

const std::shared_ptr<const Model>& model() {
  static const auto shared = [] {
    test::TinyModelOptions options = test::tiny_options("llama");
    options.vocabulary = 420;
    options.extra_controls = {"<|end|>", "<|mark|>"};
    options.extra_tokens = {"ok", "\nHum", "an", " x", "\n#", "fig ", "akiwi plum", "Human:"};
    return test::load_tiny(options);
  }();
  return shared;
}

Session start(SessionOptions options = {}) { return Session::create(model(), std::move(options)).value(); }

struct Answer {
  std::vector<std::string> chunks;
  GenerationResult result;
  std::size_t computed;  // tokens in the session
};

Answer answer(const std::vector<std::string>& pieces, GenerateOptions options, std::vector<Token> prompt = some_tokens(5)) {
  Session session = start();
  options.chain = script(tokens_of(*model(), pieces));
  Generation generation = session.generate(prompt, std::move(options)).value();
  Answer out;
  std::string text;
  while (auto chunk = generation.next()) {
    out.chunks.push_back(chunk->text);
    text += chunk->text;
  }
  EXPECT_FALSE(generation.next());
  out.result = generation.result().value();
  EXPECT_EQ(out.result.text, text);
  out.computed = session.length();
  return out;
}

constexpr const char* kEnd = "<|im_end|>";

TEST(Generation, X04StopOverSeveralTokens) {
  const Answer got = answer({"ok", "\nHum", "an", ":", " x"}, {.stop_strings = {"\nHuman:"}});
  EXPECT_EQ(got.result.text, "ok");
  EXPECT_EQ(got.chunks, (std::vector<std::string>{"ok", "", "", ""}));
  EXPECT_EQ(got.result.finish_reason, FinishReason::stop_string);
  EXPECT_EQ(got.result.stop_string, "\nHuman:");
  EXPECT_EQ(got.result.tokens, tokens_of(*model(), {"ok", "\nHum", "an", ":"}));
  EXPECT_EQ(got.computed, 5u + 3u);  // " x" was never computed, nor what would lead to it
}

TEST(Generation, X05TextHeldBackIsDeliveredAtTheEnd) {
  for (const bool by_max_tokens : {false, true}) {
    GenerateOptions options{.stop_strings = {"\n###"}};
    if (by_max_tokens) options.max_tokens = 2;
    const Answer got = answer({"a", "\n#", kEnd}, options);
    EXPECT_EQ(got.result.text, "a\n#");
    EXPECT_EQ(got.result.finish_reason, by_max_tokens ? FinishReason::max_tokens : FinishReason::end_token);
    EXPECT_FALSE(got.result.stop_string);
  }
}

TEST(Generation, X06StopInsideAToken) {
  const Answer got = answer({"fig ", "akiwi plum"}, {.stop_strings = {"kiw"}});
  EXPECT_EQ(got.result.text, "fig a");
  EXPECT_EQ(got.result.stop_string, "kiw");
}

TEST(Generation, X08AControlTokenAsStopString) {
  for (const bool show : {false, true}) {
    const Answer got = answer({"ok", "<|mark|>", " x"}, {.stop_strings = {"<|mark|>"}, .show_special = show});
    EXPECT_EQ(got.result.text, "ok");
    EXPECT_EQ(got.result.finish_reason, FinishReason::stop_string);
    EXPECT_EQ(got.result.stop_string, "<|mark|>");
    EXPECT_EQ(got.result.end_token, token_of(*model(), "<|mark|>"));
  }
  // As an ordinary control token it is not text, unless that is asked for.
  EXPECT_EQ(answer({"ok", "<|mark|>", "an", kEnd}, {}).result.text, "okan");
  EXPECT_EQ(answer({"ok", "<|mark|>", "an", kEnd}, {.show_special = true}).result.text, "ok<|mark|>an");
}

// Hidden tokens inside a stop string: found where they are, and shown, where they are text.
TEST(Generation, X08ControlTokensInsideStopStrings) {
  const auto stops_at = [](std::vector<std::string> pieces, const char* stop, bool show) {
    pieces.push_back(kEnd);
    const Answer got = answer(pieces, {.stop_strings = {stop}, .show_special = show});
    return got.result.stop_string == stop ? got.result.text : "not at all: " + got.result.text;
  };
  for (const bool show : {false, true}) {
    EXPECT_EQ(stops_at({"a", "ok", "<|mark|>", "an", " x"}, "<|mark|>an", show), "aok");
    EXPECT_EQ(stops_at({"a", "ok", "<|mark|>", "an", " x"}, "k<|mark|>", show), "ao");
    EXPECT_EQ(stops_at({"a", "ok", "<|mark|>", "an", " x"}, "ok<|mark|>a", show), "a");
    EXPECT_EQ(stops_at({"a", "<|mark|>", "ok", "<|mark|>", "an"}, "<|mark|>ok<|mark|>", show), "a");
    EXPECT_EQ(stops_at({"a", "<", "|", "m", "a", "r", "k", "|", ">", "an"}, "<|mark|>an", show),
              "a");  // text that only looks like it
  }
  EXPECT_EQ(stops_at({"ok", "<|mark|>", "an", " x"}, "okan", false), "");  // as in the output
  EXPECT_EQ(stops_at({"ok", "<|mark|>", "an"}, "<|mark|>x", false), "not at all: okan");
}

TEST(Generation, X09EveryEndTokenEnds) {
  test::TinyModelOptions options = test::tiny_options("llama");
  options.vocabulary = 400;
  options.extra_controls = {"<|first|>", "<|eot_id|>"};
  const auto with_names = test::load_tiny(options);  // the metadata names <|im_end|> only
  const auto ends_with = [](const std::shared_ptr<const Model>& of, Token token, GenerateOptions generate) {
    Session session = Session::create(of).value();
    generate.chain = script({token_of(*of, "a"), token});
    generate.max_tokens = 5;
    return session.generate(some_tokens(3), std::move(generate)).value().finish().value();
  };
  for (const char* name : {"<|im_end|>", "<|eot_id|>", "<|endoftext|>"}) {
    const GenerationResult result = ends_with(with_names, token_of(*with_names, name), {});
    EXPECT_EQ(result.finish_reason, FinishReason::end_token);
    EXPECT_EQ(result.end_token, token_of(*with_names, name));
    EXPECT_EQ(result.tokens.size(), 1u);
  }
  const Token first = token_of(*with_names, "<|first|>");
  EXPECT_EQ(ends_with(with_names, first, {}).finish_reason, FinishReason::max_tokens);
  test::GgufWriter writer = test::write_tiny_model(options);
  writer.add("tokenizer.ggml.eot_token_id", static_cast<std::uint32_t>(first));
  const auto with_eot = test::load_bytes(writer.finish());
  EXPECT_EQ(ends_with(with_eot, first, {}).end_token, first);
  EXPECT_EQ(ends_with(with_eot, token_of(*with_eot, "<|im_end|>"), {}).finish_reason, FinishReason::end_token);

  // The caller's set replaces the model's; stop_tokens add to it.
  std::vector<Token> ends(with_names->tokenizer().end_tokens().begin(), with_names->tokenizer().end_tokens().end());
  ends.push_back(first);
  ends.push_back(first);
  EXPECT_EQ(ends_with(with_names, first, {.end_tokens = ends}).end_token, first);
  EXPECT_EQ(ends_with(with_names, first, {.stop_tokens = {first}}).end_token, first);
  EXPECT_EQ(ends_with(with_names, token_of(*with_names, "<|im_end|>"), {.end_tokens = std::vector<Token>{first}}).finish_reason,
            FinishReason::max_tokens);
  EXPECT_EQ(ends_with(with_names, token_of(*with_names, "<|im_end|>"), {.end_tokens = std::vector<Token>{}}).finish_reason,
            FinishReason::max_tokens);
}

TEST(Generation, X12DegenerateStopLists) {
  Session session = start();
  const auto refused = [&](GenerateOptions options) { return code_of(session.generate(some_tokens(3), std::move(options))); };
  EXPECT_EQ(refused({.stop_strings = {""}}), ErrorCode::invalid_argument);
  EXPECT_EQ(refused({.stop_strings = {"a", "\xc3"}}), ErrorCode::invalid_argument);
  EXPECT_EQ(refused({.stop_tokens = {-1}}), ErrorCode::invalid_argument);
  EXPECT_EQ(refused({.end_tokens = std::vector<Token>{420}}), ErrorCode::invalid_argument);
  EXPECT_EQ(refused({.context_policy = static_cast<ContextPolicy>(3)}), ErrorCode::invalid_argument);
  EXPECT_EQ(answer({"a", "an", "b"}, {.stop_strings = {"an", "an"}}).result.text, "a");
  std::vector<std::string> thousand;
  for (int i = 0; i < 1000; ++i) thousand.push_back(std::string(1020, 'a') + std::to_string(i));
  const Answer got = answer({"a", "a", "b", kEnd}, {.stop_strings = thousand});
  EXPECT_EQ(got.result.text, "aab");
  // The prompt ends with the stop string, and with its beginning.
  std::vector<Token> prompt = tokens_of(*model(), {"ok", "Human:", "\nHum", "an"});
  EXPECT_EQ(answer({":", "a", kEnd}, {.stop_strings = {"Human:"}}, prompt).result.text, ":a");
}

TEST(Generation, TextDoesNotDependOnHowItIsCutIntoTokens) {
  const std::string text = "fig ok \xc3\xa9\xf0\x9f\x8c\xa7 the\nHuman x";
  std::vector<std::string> bytes;
  for (const char byte : text) bytes.push_back(std::string(1, byte));
  const auto encoded = model()->tokenizer().encode(text).value();
  std::vector<std::string> pieces;
  for (const Token token : encoded) pieces.emplace_back(model()->tokenizer().token_bytes(token));
  ASSERT_LT(pieces.size(), bytes.size());
  for (const std::vector<std::string>& stops :
       std::vector<std::vector<std::string>>{{}, {"\nHuman:"}, {"\xf0\x9f\x8c\xa7 th"}, {"he\nH"}}) {
    std::vector<std::string> results;
    for (std::vector<std::string> cut : {bytes, pieces}) {
      cut.push_back(kEnd);
      const Answer got = answer(cut, {.stop_strings = stops});
      results.push_back(got.result.text);
      for (const std::string& chunk : got.chunks)
        EXPECT_TRUE(chunk.empty() || (chunk[0] & 0xc0) != 0x80) << "a character was cut";
    }
    EXPECT_EQ(results[0], results[1]);
  }
  EXPECT_EQ(answer({"a", "\xf0", "\x9f", kEnd}, {}).result.text, "a\xef\xbf\xbd");
}

TEST(Generation, MaxTokensAreReservedOutOfTheWindow) {
  Session session = start({.context_tokens = 16});
  const auto refused = session.generate(some_tokens(10), {.max_tokens = 7});
  EXPECT_EQ(code_of(refused), ErrorCode::context_full);
  for (const char* number : {"10", "7", "16"})
    EXPECT_NE(refused.error().message.find(number), std::string::npos) << refused.error().message;
  EXPECT_EQ(code_of(session.generate(some_tokens(3), {.max_tokens = 0})), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of(session.generate(some_tokens(3), {.max_tokens = std::numeric_limits<std::size_t>::max()})),
            ErrorCode::context_full);
  EXPECT_EQ(code_of(session.generate(some_tokens(16))), ErrorCode::context_full);
  EXPECT_EQ(code_of(session.generate(some_tokens(16), {.context_policy = ContextPolicy::stop})), ErrorCode::context_full);
  EXPECT_EQ(session.generate(some_tokens(10), {.max_tokens = 6, .chain = script({5})}).value().finish().value().tokens.size(),
            6u);
}

TEST(Generation, APromptOfTenMegabytesIsRefused) {
  Session session = start();
  std::string prompt;
  while (prompt.size() < 10'000'000) prompt += "the rain and the wind ";
  const auto refused = session.generate(prompt, {.max_tokens = 8});
  EXPECT_EQ(code_of(refused), ErrorCode::context_full);
  EXPECT_NE(refused.error().message.find("512"), std::string::npos);
  EXPECT_EQ(session.length(), 0u);
}

TEST(Generation, K13AFullWindowStops) {
  for (const ContextPolicy policy : {ContextPolicy::error, ContextPolicy::stop}) {
    Session session = start({.context_tokens = 16});
    GenerateOptions options{.chain = script({50}), .context_policy = policy};
    if (policy == ContextPolicy::stop) options.max_tokens = 100;
    const GenerationResult result = session.generate(some_tokens(10), std::move(options)).value().finish().value();
    EXPECT_EQ(result.finish_reason, FinishReason::context_full);
    EXPECT_EQ(result.tokens.size(), 7u);  // the last one needs no place
    EXPECT_EQ(session.length(), 16u);
  }
}

TEST(Generation, K13DroppingTheOldestEndsAndFeedsAnewWhatRemains) {
  struct Case {
    std::size_t keep, drop;
  };
  for (const Case& one : {Case{0, 0}, {4, 0}, {4, 1}, {14, 1}, {3, 12}, {0, 15}}) {
    Session session = start({.context_tokens = 16});
    const std::vector<Token> prompt = some_tokens(10);
    std::vector<Token> scripted = some_tokens(60, 8);
    Generation generation = session
                                .generate(prompt, {.max_tokens = 60,
                                                   .chain = script(scripted),
                                                   .context_policy = ContextPolicy::drop_oldest,
                                                   .keep_tokens = one.keep,
                                                   .drop_tokens = one.drop})
                                .value();
    std::vector<Token> expected = prompt;
    std::size_t made = 0;
    while (generation.next()) {
      if (made > 0) expected.push_back(scripted[made - 1]);
      if (expected.size() > 16) {
        const std::size_t droppable = expected.size() - one.keep - 1;
        const std::size_t drop = one.drop == 0 ? (droppable + 1) / 2 : one.drop;
        const auto first = expected.begin() + static_cast<std::ptrdiff_t>(one.keep);
        expected.erase(first, first + static_cast<std::ptrdiff_t>(drop));
      }
      ++made;
      ASSERT_EQ(std::vector<Token>(session.tokens().begin(), session.tokens().end()), expected);
      if (made % 7 == 0) {
        Session fresh = start({.context_tokens = 16});
        fresh.feed(expected).value();
        ASSERT_EQ(session.logits().all().value(), fresh.logits().all().value());
      }
    }
    EXPECT_EQ(made, 60u);
    EXPECT_EQ(generation.result().value().finish_reason, FinishReason::max_tokens);
  }
  // A prompt that is too long loses its middle, too.
  Session session = start({.context_tokens = 16});
  const std::vector<Token> prompt = some_tokens(300);
  GenerateOptions options{
      .max_tokens = 1, .chain = script({50}), .context_policy = ContextPolicy::drop_oldest, .keep_tokens = 2, .drop_tokens = 3};
  session.generate(prompt, options).value().finish().value();
  std::vector<Token> expected(prompt.begin(), prompt.begin() + 2);
  expected.insert(expected.end(), prompt.begin() + 2 + 285, prompt.end());  // the least multiple of 3 that makes room
  EXPECT_EQ(std::vector<Token>(session.tokens().begin(), session.tokens().end()), expected);
}

TEST(Generation, K13BadNumbersAreRefused) {
  Session session = start({.context_tokens = 16});
  constexpr auto kMinusOne = std::numeric_limits<std::size_t>::max();
  for (const auto& [keep, drop] : {std::pair{std::size_t{0}, kMinusOne},
                                   {std::size_t{0}, std::size_t{16}},
                                   {std::size_t{4}, std::size_t{12}},
                                   {std::size_t{15}, std::size_t{0}},
                                   {std::size_t{16}, std::size_t{0}},
                                   {kMinusOne, std::size_t{1}},
                                   {kMinusOne, kMinusOne}}) {
    GenerateOptions options{
        .chain = script({50}), .context_policy = ContextPolicy::drop_oldest, .keep_tokens = keep, .drop_tokens = drop};
    EXPECT_EQ(code_of(session.generate(some_tokens(3), options)), ErrorCode::invalid_argument) << keep << " " << drop;
  }
}

TEST(Generation, CancelledDuringPrefillLeavesTheSessionAsItWas) {
  Session session = start({.prefill_chunk = 16});
  session.feed(some_tokens(7)).value();
  const std::vector<float> before = session.logits().all().value();
  for (const std::size_t poll : {1u, 2u, 4u, 7u}) {
    test::CountedStop stop(poll);
    Generation generation = session.generate(some_tokens(60, 2), {.chain = script({50}), .stop = stop}).value();
    EXPECT_FALSE(generation.next());
    EXPECT_EQ(stop.polls(), poll);  // no further layer was begun
    const GenerationResult result = generation.result().value();
    EXPECT_EQ(result.finish_reason, FinishReason::cancelled);
    EXPECT_TRUE(result.tokens.empty());
    EXPECT_FALSE(result.timings.ttft);
    EXPECT_EQ(session.length(), 7u);
    EXPECT_EQ(session.logits().all().value(), before);
  }
}

TEST(Generation, CancelledDuringDecodeDeliversWhatWasHeldBack) {
  Session session = start();
  StopSource source;
  Generation generation = session
                              .generate(some_tokens(5), {.chain = script(tokens_of(*model(), {"ok", "\nHum", "an"})),
                                                         .stop_strings = {"\nHuman:"},
                                                         .stop = source.token()})
                              .value();
  EXPECT_EQ(generation.next()->text, "ok");
  EXPECT_EQ(generation.next()->text, "");
  EXPECT_EQ(generation.result().value().finish_reason, FinishReason::cancelled);  // as far as it got
  EXPECT_EQ(generation.result().value().text, "ok");
  source.request_stop();
  const auto last = generation.next();
  ASSERT_TRUE(last);
  EXPECT_EQ(last->text, "\nHum");
  EXPECT_FALSE(last->token);
  EXPECT_FALSE(generation.next());
  const GenerationResult result = generation.result().value();
  EXPECT_EQ(result.finish_reason, FinishReason::cancelled);
  EXPECT_EQ(result.text, "ok\nHum");
  EXPECT_EQ(session.length(), 6u);
  // The session goes on.
  EXPECT_TRUE(session.generate(some_tokens(2), {.max_tokens = 2, .chain = script({50})}).value().finish());
}

TEST(Generation, AChangedSessionIsAStaleHandle) {
  Session session = start();
  Generation first = session.generate(some_tokens(5), {.max_tokens = 9, .chain = script({50})}).value();
  ASSERT_TRUE(first.next());
  Generation second = session.generate(some_tokens(2), {.max_tokens = 2, .chain = script({60})}).value();
  ASSERT_TRUE(first.next());  // the second has not begun
  EXPECT_FALSE(second.next());
  EXPECT_EQ(code_of(second.result()), ErrorCode::stale_handle);
  session.truncate(3).value();
  EXPECT_FALSE(first.next());
  EXPECT_EQ(code_of(first.finish()), ErrorCode::stale_handle);
}

TEST(Generation, OutlivesItsSessionAndMoves) {
  std::optional<Session> session(start());
  Generation generation = session->generate(some_tokens(5), {.max_tokens = 6, .chain = script({50})}).value();
  ASSERT_TRUE(generation.next());
  Session moved = *std::move(session);
  session.reset();
  ASSERT_TRUE(generation.next());
  EXPECT_EQ(moved.length(), 6u);
  { const Session ended = std::move(moved); }
  Generation other = std::move(generation);
  EXPECT_EQ(other.finish().value().tokens.size(), 6u);
}

TEST(Generation, BusyDoesNotEndTheAnswerAndIsReported) {
  Session session = start();
  Generation generation = session.generate(some_tokens(5), {.max_tokens = 3, .chain = script({50})}).value();
  ASSERT_TRUE(generation.next());
  std::optional<ErrorCode> inside;
  session.fork().value().feed(some_tokens(1)).value();
  session.score(some_tokens(4), StopToken([&] {
           if (!inside) {
             EXPECT_FALSE(generation.next());
             inside = code_of(generation.result());
           }
           return false;
         })).value();
  EXPECT_EQ(inside, ErrorCode::busy);
  EXPECT_EQ(code_of(generation.result()), ErrorCode::busy);
  EXPECT_EQ(generation.finish().value().tokens.size(), 3u);
}

TEST(Generation, AnErrorOfAProcessorEndsTheAnswerNotTheSession) {
  for (const bool throws : {false, true}) {
    Session session = start();
    Generation generation = session.generate(some_tokens(5), {.chain = script({50}, {Failing(3, throws)})}).value();
    EXPECT_TRUE(generation.next());
    EXPECT_TRUE(generation.next());
    EXPECT_FALSE(generation.next());
    const auto result = generation.finish();
    EXPECT_EQ(code_of(result), throws ? ErrorCode::callback_failed : ErrorCode::limit_exceeded);
    EXPECT_NE(result.error().message.find("its own"), std::string::npos);
    EXPECT_EQ(session.length(), 7u);
    session.feed(4).value();
  }
  Session session = start();
  Generation generation =
      session.generate(some_tokens(50), {.chain = script({50}), .prefill_progress = [](std::size_t, std::size_t) { throw 1; }})
          .value();
  EXPECT_EQ(code_of(generation.finish()), ErrorCode::callback_failed);
  EXPECT_EQ(session.length(), 0u);
}

// Refuses the n-th token.
class Refusing final : public LogitsProcessor {
 public:
  explicit Refusing(int at) : left_(at) {}
  Result<void> accept(Token) override {
    if (--left_ > 0) return {};
    return Error{ErrorCode::limit_exceeded, "its own limit"};
  }
  std::string describe() const override { return "refusing"; }
  std::unique_ptr<LogitsProcessor> clone() const override { return std::make_unique<Refusing>(*this); }

 private:
  int left_;
};

TEST(Generation, ATokenThatAStageRefusesIsAnErrorTheLastOneToo) {
  for (const int at : {1, 2, 3}) {
    Session session = start();
    Generation generation =
        session.generate(some_tokens(5), {.max_tokens = 3, .chain = script({50}, {Refusing(at)})}).value();
    int delivered = 0;
    while (generation.next()) ++delivered;
    EXPECT_EQ(delivered, at);
    EXPECT_EQ(code_of(generation.result()), ErrorCode::limit_exceeded);
  }
}

TEST(Generation, AClockThatThrowsIsAnError) {
  int calls = 0;
  for (int throw_at = 1; throw_at < 30; ++throw_at) {
    calls = 0;
    Session session = start({.clock = [&]() -> Duration {
      if (++calls == throw_at) throw std::runtime_error("stopped clock");
      return Duration(calls);
    }});
    auto generation = session.generate(some_tokens(3), {.max_tokens = 2, .chain = script({50})});
    if (!generation) {
      EXPECT_EQ(code_of(generation), ErrorCode::callback_failed);
      continue;
    }
    const auto result = generation->finish();
    if (result) {
      EXPECT_GT(throw_at, calls);
    } else {
      EXPECT_EQ(code_of(result), ErrorCode::callback_failed);
      EXPECT_FALSE(generation->next());
    }
  }
  EXPECT_LT(calls, 30);  // so the last rounds ran without a throw
}

// What a grammar does: a mask that allows given tokens in turn.
class AllowInTurn final : public LogitsProcessor {
 public:
  explicit AllowInTurn(std::vector<std::vector<Token>> allowed) : allowed_(std::move(allowed)) {}
  bool allow(TokenSet& set) override {
    TokenSet mine(set.vocabulary_size());
    mine.clear();
    for (const Token token : allowed_[at_]) mine.allow(token);
    set.intersect(mine);
    return true;
  }
  Result<void> accept(Token) override { return ++at_, Result<void>(); }
  void rollback(std::size_t count) override { at_ -= count; }
  std::string describe() const override { return "allow_in_turn"; }
  std::unique_ptr<LogitsProcessor> clone() const override { return std::make_unique<AllowInTurn>(*this); }

 private:
  std::vector<std::vector<Token>> allowed_;
  std::size_t at_ = 0;
};

TEST(Generation, GrammarCompleteIsAnEndTokenThatHadNoAlternative) {
  const Token end = token_of(*model(), kEnd), other_end = token_of(*model(), "<|endoftext|>"), a = token_of(*model(), "a");
  const auto finish = [&](std::vector<Token> last_allowed) {
    Session session = start();
    auto chain = script({a, end}, {AllowInTurn({{a}, std::move(last_allowed)})});
    return session.generate(some_tokens(3), {.chain = std::move(chain)}).value().finish().value();
  };
  EXPECT_EQ(finish({end, other_end}).finish_reason, FinishReason::grammar_complete);
  EXPECT_EQ(finish({end}).end_token, end);
  EXPECT_EQ(finish({end}).finish_reason, FinishReason::grammar_complete);
  EXPECT_EQ(finish({end, a}).finish_reason, FinishReason::end_token);
  EXPECT_EQ(answer({"a", kEnd}, {}).result.finish_reason, FinishReason::end_token);
  Session session = start();
  auto chain = script({a}, {AllowInTurn({{a}, {}})});
  EXPECT_EQ(code_of(session.generate(some_tokens(3), {.chain = std::move(chain)}).value().finish()),
            ErrorCode::degenerate_logits);
}

TEST(Generation, TimingsAddUpOnAnInjectedClock) {
  Duration now{};
  Session session = start({.clock = [&now] { return now += std::chrono::microseconds(1); }});
  session.feed(some_tokens(4)).value();
  Generation generation = session.generate("the rain", {.max_tokens = 5, .chain = script({50})}).value();
  while (generation.next()) now += std::chrono::seconds(1);  // the caller's own time
  const Timings timings = generation.result().value().timings;
  EXPECT_EQ(timings.prompt_tokens, session.length() - 4);
  EXPECT_EQ(timings.reused_tokens, 4u);
  EXPECT_EQ(timings.prefilled_tokens, timings.prompt_tokens - timings.reused_tokens);
  ASSERT_EQ(timings.token_times.size(), 5u);
  EXPECT_EQ(timings.ttft, timings.token_times[0]);
  EXPECT_EQ(timings.tpot(), (timings.token_times[4] - timings.token_times[0]) / 4);
  for (std::size_t i = 1; i < 5; ++i) EXPECT_GT(timings.token_times[i] - timings.token_times[i - 1], std::chrono::seconds(1));
  EXPECT_GE(*timings.worst_gap(), *timings.tpot());
  Duration parts = std::chrono::seconds(4);
  for (const Duration part : {timings.tokenize, timings.prefill, timings.decode, timings.masking, timings.head,
                              timings.sampling}) {
    EXPECT_GT(part, Duration(0));
    parts += part;
  }
  EXPECT_LE(parts, timings.token_times.back());
  EXPECT_LT(timings.token_times.back() - parts, std::chrono::microseconds(50));

  const Timings one = answer({"a", "b"}, {.max_tokens = 1}).result.timings;
  EXPECT_TRUE(one.ttft);
  EXPECT_FALSE(one.tpot());
  EXPECT_FALSE(one.worst_gap());
}

TEST(Generation, LogprobsAreRawAndFinal) {
  const Token a = token_of(*model(), "a"), b = token_of(*model(), "b");
  Session session = start();
  auto chain = SamplerChain::create({.processors = {AllowInTurn({{a, b}, {a, b}})}, .sampler = greedy()}).value();
  Generation generation =
      session
          .generate(some_tokens(6), {.max_tokens = 1, .chain = std::move(chain), .logprobs = LogprobOptions{.top_logprobs = 3}})
          .value();
  const Sample sample = generation.next()->sample.value();
  const std::vector<float> logits = session.logits().all().value();
  const auto logit = [&](Token token) { return static_cast<double>(logits[static_cast<std::size_t>(token)]); };
  double sum = 0;
  for (const float one : logits) sum += std::exp(static_cast<double>(one));
  EXPECT_EQ(sample.token, logit(a) >= logit(b) ? a : b);
  EXPECT_NEAR(static_cast<double>(*sample.logprob_raw), logit(sample.token) - std::log(sum), 1e-5);
  EXPECT_NEAR(static_cast<double>(sample.logprob_final), logit(sample.token) - std::log(std::exp(logit(a)) + std::exp(logit(b))),
              1e-5);
  ASSERT_EQ(sample.top_final.size(), 2u);
  EXPECT_NEAR(
      std::exp(static_cast<double>(sample.top_final[0].logprob)) + std::exp(static_cast<double>(sample.top_final[1].logprob)),
      1.0, 1e-5);
  EXPECT_EQ(sample.top_raw.size(), 3u);
}

TEST(Generation, EmptyPromptsAreRefused) {
  Session session = start();
  EXPECT_EQ(code_of(session.generate("")), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of(session.generate(std::vector<Token>{})), ErrorCode::invalid_argument);
  EXPECT_EQ(session.length(), 0u);
}

TEST(Generation, TheSameSeedGivesTheSameTokensHoweverThePromptArrives) {
  const std::vector<Token> prompt = some_tokens(30);
  const auto run = [&](std::size_t fed_before, std::uint64_t seed) {
    Session session = start();
    if (fed_before > 0) session.feed(std::span(prompt).first(fed_before)).value();
    return session
        .generate(std::span(prompt).subspan(fed_before), {.max_tokens = 20, .sampling = {.temperature = 0.9f, .seed = seed}})
        .value()
        .finish()
        .value()
        .tokens;
  };
  EXPECT_EQ(run(0, 3), run(17, 3));
  EXPECT_NE(run(0, 3), run(0, 4));
}

// Without an end token, a text that may not go on is the whole answer.
TEST(Generation, AFiniteGrammarEndsWithoutEndTokens) {
  const Grammar grammar = Grammar::gbnf("root ::= \"yes\" | \"no\"").value();
  for (const bool guess : {false, true}) {
    Session session = start();
    GenerateOptions options{.max_tokens = 20, .grammar = grammar, .end_tokens = std::vector<Token>()};
    options.speculation.prompt_lookup = guess;
    const auto result = session.generate(some_tokens(5), options).value().finish().value();
    EXPECT_EQ(result.finish_reason, FinishReason::grammar_complete);
    EXPECT_TRUE(result.text == "yes" || result.text == "no") << result.text;
    EXPECT_FALSE(result.end_token);
    // Where the text is not whole, nothing is complete.
    for (Token token = 0; token < static_cast<Token>(model()->tokenizer().size()); ++token)
      options.sampling.banned.push_back(token);
    EXPECT_EQ(code_of(session.generate(some_tokens(5), options).value().finish()), ErrorCode::degenerate_logits);
  }
}

TEST(Generation, GrammarHoldsTheAnswer) {
  const Grammar grammar = Grammar::gbnf("root ::= (\"ok\" | \"no\") [0-9]{2,4} \" x\"").value();
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    Session session = start();
    GenerateOptions options{.max_tokens = 20, .sampling = {.seed = seed}, .grammar = grammar};
    options.speculation.prompt_lookup = seed % 2 == 1;
    const auto result = session.generate(some_tokens(5), options).value().finish().value();
    EXPECT_EQ(result.finish_reason, FinishReason::grammar_complete);
    EXPECT_TRUE(grammar.match(result.text).value().matches) << result.text;
  }
  // Cut short, it is the begin of a text.
  Session session = start();
  const GenerateOptions cut{.max_tokens = 2, .grammar = grammar, .close_within_budget = false};
  const auto result = session.generate(some_tokens(5), cut).value().finish().value();
  EXPECT_EQ(result.finish_reason, FinishReason::max_tokens);
  EXPECT_EQ(grammar.match(result.text).value().matching_bytes, result.text.size());
}

TEST(Generation, GrammarIsFinishedWithinItsBudget) {
  const Grammar grammar =
      Grammar::json_schema(R"({"type":"object","required":["a"],"properties":{"a":{"type":"array","minItems":2,
      "items":{"type":["string","integer","array"]}}}})")
          .value();
  const std::size_t shortest = GrammarMatcher::create(grammar, model()->tokenizer()).value().shortest_tokens().value();
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    // Either max_tokens or the window is the budget.
    const std::size_t budget = shortest + seed / 3;
    const bool by_window = seed % 3 == 0;
    Session session = start({.context_tokens = by_window ? 5 + budget : 200});
    GenerateOptions options{.sampling = {.seed = seed}, .grammar = grammar};
    if (!by_window) options.max_tokens = budget;
    options.speculation.prompt_lookup = seed % 2 == 1;
    const auto result = session.generate(some_tokens(5), options).value().finish().value();
    EXPECT_TRUE(grammar.match(result.text).value().matches) << result.text << " within " << budget;
    EXPECT_LT(result.tokens.size(), budget);
    EXPECT_TRUE(result.end_token);
  }
  Session session = start();
  const auto refused = session.generate(some_tokens(5), {.max_tokens = shortest - 1, .grammar = grammar});
  ASSERT_EQ(code_of(refused), ErrorCode::invalid_argument);
  EXPECT_NE(refused.error().message.find(std::to_string(shortest)), std::string::npos) << refused.error().message;
}

TEST(Generation, TheSchemaOfTheGrammarJudgesTheAnswer) {
  constexpr std::string_view kSchema =
      R"({"type":"object","required":["a"],"properties":{"a":{"type":"integer","minimum":10,"maximum":9999}},
      "additionalProperties":false})";
  const auto finish = [](const Grammar& grammar, std::optional<std::size_t> max_tokens, bool close) {
    Session session = start();
    return session.generate(some_tokens(5), {.max_tokens = max_tokens, .grammar = grammar, .close_within_budget = close})
        .value()
        .finish()
        .value();
  };
  const Grammar plain = Grammar::json_schema(kSchema, {.whitespace = JsonWhitespace::compact}).value();
  const GenerationResult valid = finish(plain, std::nullopt, true);
  ASSERT_TRUE(valid.validation);
  EXPECT_EQ(valid.validation->status, Validity::valid) << valid.text;
  EXPECT_TRUE(valid.validation->errors.empty());
  EXPECT_EQ(finish(plain, 2, false).validation->status, Validity::incomplete);

  const FieldCheck never{.instance = "/a", .check = [](const JsonField& field) { return "not " + std::string(field.json); }};
  const Grammar checked =
      Grammar::json_schema(JsonSchema::compile(kSchema, {.checks = {never}}).value(), {.whitespace = JsonWhitespace::compact})
          .value();
  const GenerationResult invalid = finish(checked, std::nullopt, true);
  EXPECT_EQ(invalid.text, valid.text);
  EXPECT_EQ(invalid.validation->status, Validity::invalid);
  ASSERT_EQ(invalid.validation->errors.size(), 1u);
  EXPECT_EQ(invalid.validation->errors[0].instance, "/a");

  const Grammar limited = Grammar::json_schema(JsonSchema::compile(kSchema, {.limits = {.max_values = 2}}).value()).value();
  const GenerationResult beyond = finish(limited, std::nullopt, true);
  EXPECT_EQ(beyond.validation->status, Validity::invalid);
  EXPECT_NE(beyond.validation->errors[0].message.find("max_values = 2"), std::string::npos);

  EXPECT_FALSE(finish(Grammar::regex("ok").value(), std::nullopt, true).validation);
  EXPECT_FALSE(finish(grammar::sequence(std::vector{plain, Grammar::regex("!").value()}).value(), std::nullopt, true).validation);

  Session session = start();
  Generation early = session.generate(some_tokens(5), {.grammar = plain}).value();
  ASSERT_TRUE(early.next());
  EXPECT_EQ(early.result().value().validation->status, Validity::incomplete);
}

TEST(Generation, GrammarGoesIntoAChainByItself) {
  const Grammar grammar = Grammar::regex("ok").value();
  Session session = start();
  GenerateOptions options{.chain = script({}), .grammar = grammar};
  EXPECT_EQ(code_of(session.generate(some_tokens(5), options)), ErrorCode::invalid_argument);
  // An end token of the caller's own.
  const Token end = token_of(*model(), "<|mark|>");
  const auto result =
      session.generate(some_tokens(5), {.grammar = grammar, .end_tokens = std::vector<Token>{end}}).value().finish().value();
  EXPECT_EQ(result.text, "ok");
  EXPECT_EQ(result.end_token, end);
}

}  // namespace
}  // namespace rill
