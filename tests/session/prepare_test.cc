// Masks that are made while the pass runs: on another thread, and with the same answers, errors and ends as without.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <stdexcept>
#include <thread>

#include "rill/scheduler.h"
#include "rill/session.h"
#include "support/scripted.h"

namespace rill {
namespace {

using namespace std::chrono_literals;
using test::some_tokens;

std::shared_ptr<const Model> model(int threads) {
  static std::map<int, std::shared_ptr<const Model>> models;
  auto& slot = models[threads];
  if (slot == nullptr) {
    // Of passes this small a pool may find that one thread does them faster, and then nothing runs beside.
    const auto pool = ThreadPool::create({.threads = threads, .narrow = false}).value();
    slot = test::load_bytes(make_tiny_model(test::tiny_options("gemma3")), {.pool = pool});
  }
  return slot;
}

// What became of a processor's calls.
struct Calls {
  std::atomic<int> allow{0}, prepare{0};
  std::atomic<int> elsewhere{0};  // prepare() that the thread of the test did not make
  std::atomic<int> polls{0};      // of the stop token since the last allow()
  std::atomic<bool> ready{false};  // prepare() came since then
  std::atomic<bool> stopped{false};
  const std::thread::id thread = std::this_thread::get_id();
};

class Preparing final : public LogitsProcessor {
 public:
  enum class Kind { plain, throwing, slow };
  explicit Preparing(Calls& calls, Kind kind = Kind::plain) : calls_(&calls), kind_(kind) {}

  bool allow(TokenSet&) override {
    EXPECT_EQ(std::this_thread::get_id(), calls_->thread);
    ++calls_->allow;
    calls_->polls = 0;
    calls_->ready = false;
    return false;
  }
  void prepare() override {
    ++calls_->prepare;
    if (std::this_thread::get_id() != calls_->thread) ++calls_->elsewhere;
    calls_->ready = true;
    if (kind_ == Kind::throwing) throw std::runtime_error("too early");
    while (kind_ == Kind::slow && !calls_->stopped) std::this_thread::yield();
  }
  std::string describe() const override { return "preparing"; }
  std::unique_ptr<LogitsProcessor> clone() const override { return std::make_unique<Preparing>(*this); }

 private:
  Calls* calls_;
  Kind kind_;
};

// Holds up each pass in its second layer until its mask is prepared. The first polls are before the pass and in the first layer,
// where helpers may still be asleep.
StopToken until_prepared(Calls& calls) {
  return StopToken([&calls] {
    const auto end = std::chrono::steady_clock::now() + 10s;  // a failure, not a hang
    if (++calls.polls >= 3) {
      while (!calls.ready && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    }
    return false;
  });
}

GenerateOptions options_for(std::vector<Processor> processors, std::uint64_t seed = 1) {
  GenerateOptions options{.max_tokens = 9, .chain = SamplerChain::create({.processors = std::move(processors),
                                                                          .sampler = categorical(),
                                                                          .seed = seed})
                                                        .value()};
  options.end_tokens = std::vector<Token>{};
  return options;
}

TEST(Prepare, RunsOnAnotherThreadInEveryPass) {
  for (const auto kind : {Preparing::Kind::plain, Preparing::Kind::throwing}) {
    Calls calls;
    Session session = Session::create(model(2)).value();
    GenerateOptions options = options_for({Preparing(calls, kind)});
    const auto expected = session.fork().value().generate(some_tokens(5), options_for({})).value().finish().value();
    options.stop = until_prepared(calls);
    const GenerationResult result = session.generate(some_tokens(5), options).value().finish().value();
    EXPECT_EQ(result.tokens, expected.tokens);
    EXPECT_EQ(calls.allow, 9);
    EXPECT_EQ(calls.prepare, 9);
    EXPECT_EQ(calls.elsewhere, 9);
  }
}

TEST(Prepare, IsNotCalledWithOneThread) {
  Calls calls;
  Session session = Session::create(model(1)).value();
  EXPECT_EQ(session.generate(some_tokens(5), options_for({Preparing(calls)})).value().finish().value().tokens.size(), 9u);
  EXPECT_EQ(calls.allow, 9);
  EXPECT_EQ(calls.prepare, 0);
}

TEST(Prepare, AStopWaitsForWhatWasBegun) {
  Calls calls;
  Session session = Session::create(model(2)).value();
  GenerateOptions options = options_for({Preparing(calls, Preparing::Kind::slow)});
  options.stop = StopToken([&calls] {
    if (++calls.polls < 3) return false;
    while (!calls.ready) std::this_thread::yield();
    return calls.stopped = true;
  });
  Generation generation = session.generate(some_tokens(5), options).value();
  EXPECT_FALSE(generation.next());
  EXPECT_EQ(generation.result().value().finish_reason, FinishReason::cancelled);
  EXPECT_EQ(calls.prepare, 1);
  EXPECT_EQ(calls.allow, 0);
  EXPECT_EQ(session.length(), 0u);
}

TEST(Prepare, EachSequenceOfABatch) {
  constexpr std::size_t kCount = 4;
  std::array<Calls, kCount> calls;
  Scheduler scheduler = Scheduler::create(model(2), {.max_sequences = kCount}).value();
  std::vector<Ticket> tickets;
  for (std::size_t i = 0; i < kCount; ++i) {
    GenerateOptions options = options_for({Preparing(calls[i])}, i);
    options.stop = until_prepared(calls[i]);
    tickets.push_back(scheduler.submit({.prompt = some_tokens(5), .options = options}).value());
  }
  scheduler.run_until_idle().value();
  for (std::size_t i = 0; i < kCount; ++i) {
    Session alone = Session::create(model(1)).value();
    EXPECT_EQ(tickets[i].result().value().tokens,
              alone.generate(some_tokens(5), options_for({}, i)).value().finish().value().tokens);
    EXPECT_EQ(calls[i].allow, 9);
    EXPECT_EQ(calls[i].prepare, 9);
    EXPECT_EQ(calls[i].elsewhere, 9);
  }
}

// Nothing but the answers tells how many threads there are.
GenerationResult under(const Grammar& grammar, int threads, std::uint64_t seed, bool guess = false) {
  GenerateOptions options{.max_tokens = 60, .sampling = {.temperature = 0.9f, .seed = seed}, .grammar = grammar};
  options.speculation.prompt_lookup = guess;
  Session session = Session::create(model(threads)).value();
  return session.generate(some_tokens(9), options).value().finish().value();
}

TEST(Prepare, GrammarsGiveTheSameAnswersOnAnyNumberOfThreads) {
  const auto make = [] {  // anew: with nothing in its cache
    return Grammar::json_schema(R"({"type": "object", "properties": {"a": {"type": "array", "items": {"enum": ["on", "of", 7]},
      "uniqueItems": true, "maxItems": 3}, "b": {"type": "string", "maxLength": 9}}, "required": ["a", "b"]})")
        .value();
  };
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    const GenerationResult expected = under(make(), 1, seed);
    EXPECT_EQ(expected.finish_reason, FinishReason::grammar_complete);
    EXPECT_EQ(under(make(), 3, seed).tokens, expected.tokens);
    EXPECT_EQ(under(make(), 2, seed, true).tokens, expected.tokens);
  }
}

TEST(Prepare, AMaskThatFailsIsTheSameErrorAtTheSameToken) {
  const auto run = [](int threads) {
    const Grammar nested =
        Grammar::gbnf(R"g(root ::= "(" root ")" | "(" root "]" | "x")g", {.limits = {.max_stack_edges = 40}}).value();
    const Token open = test::token_of(*model(threads), "(");
    GenerateOptions options{.max_tokens = 200};
    options.chain = test::script({open}, {grammar_mask(nested, model(threads)->tokenizer())});
    Session session = Session::create(model(threads)).value();
    Generation generation = session.generate(some_tokens(5), options).value();
    std::size_t tokens = 0;
    while (generation.next()) ++tokens;
    return std::pair(tokens, generation.result().error().message);
  };
  const auto expected = run(1);
  EXPECT_GT(expected.first, 3u);
  EXPECT_NE(expected.second.find("max_stack_edges"), std::string::npos) << expected.second;
  EXPECT_EQ(run(2), expected);
}

}  // namespace
}  // namespace rill
