// What a scheduler owes each request: the answer that it has alone, whatever else runs, fails or is cancelled.
#include "rill/scheduler.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <limits>
#include <thread>

#include "gguf/file.h"
#include "schedule/workload.h"

namespace rill {
namespace {

using namespace std::chrono_literals;
using test::code_of;
using test::Digests;
using test::Job;
using test::some_tokens;
using test::tiny_gemma;
using test::tiny_llama;

Scheduler make(SchedulerOptions options = {}) { return Scheduler::create(tiny_llama(), std::move(options)).value(); }

GenerateOptions sampled(std::size_t max_tokens, std::uint64_t seed = 1) {
  GenerateOptions options{.max_tokens = max_tokens};
  options.sampling.seed = seed;
  options.end_tokens = std::vector<Token>{};
  return options;
}

GenerationResult alone(std::vector<Token> prompt, GenerateOptions options) {
  Session session = Session::create(tiny_llama()).value();
  return session.generate(prompt, std::move(options)).value().finish().value();
}

// Random requests that come at random steps; some are cancelled. Each gives the tokens and logits that it gives alone.
void run_mix(const std::shared_ptr<const Model>& model, unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  SchedulerOptions options{.max_sequences = 1 + below(6), .prefill_chunk = 16 + below(40)};
  if (below(2) == 0) {
    options.tpot_target = Duration(1000 + below(5000));
    options.cost_model = [](const PassShape& pass) { return Duration(100 * (pass.decode_rows + pass.prefill_rows)); };
    if (below(2) == 0) options.ttft_target = 1us;
  }
  Scheduler scheduler = Scheduler::create(model, options).value();
  struct Running {
    Job job;
    std::shared_ptr<Digests> digests;
    Ticket ticket;
    std::size_t cancel_after;  // steps
    std::string streamed;
  };
  std::vector<Running> all;
  const std::size_t requests = 4 + below(6);
  for (std::size_t step = 0;; ++step) {
    while (all.size() < requests && below(3) == 0) {
      const Job job = test::random_job(random, 70, 16);
      const auto digests = std::make_shared<Digests>();
      Ticket ticket = scheduler.submit({.prompt = job.prompt, .options = job.options(digests), .priority = job.priority}).value();
      all.push_back({job, digests, std::move(ticket), below(8) == 0 ? step + below(20) : ~std::size_t{0}, ""});
    }
    for (Running& one : all) {
      if (one.cancel_after == step) one.ticket.cancel();
    }
    const StepReport report = scheduler.step().value();
    for (Running& one : all) {
      while (auto chunk = one.ticket.try_next()) one.streamed += chunk->text;
    }
    if (report.idle() && all.size() == requests) break;
    ASSERT_LT(step, 2000u);
  }
  for (const Running& one : all) {
    const test::Outcome expected = test::alone(model, one.job);
    const GenerationResult result = one.ticket.result().value();
    EXPECT_EQ(one.streamed, result.text);
    if (result.finish_reason == FinishReason::cancelled) {
      ASSERT_LE(result.tokens.size(), expected.tokens.size());
      EXPECT_TRUE(std::equal(result.tokens.begin(), result.tokens.end(), expected.tokens.begin()));
      EXPECT_TRUE(std::equal(one.digests->begin(), one.digests->end(), expected.digests.begin()));
    } else {
      EXPECT_EQ(result.finish_reason, FinishReason::max_tokens);
      EXPECT_EQ((test::Outcome{result.tokens, result.text, *one.digests}), expected) << "seed " << seed;
    }
  }
}

TEST(Scheduler, RandomMixesHaveTheBitsOfEachAlone) {
  for (unsigned seed = 0; seed < 25; ++seed) run_mix(tiny_llama(), seed);
  for (unsigned seed = 100; seed < 115; ++seed) run_mix(tiny_gemma(), seed);
}

TEST(Scheduler, OnTwoThreadsToo) {
  const auto model = test::load_bytes(test::make_tiny_model(test::tiny_options("gemma3")), {.threads = 2});
  for (unsigned seed = 200; seed < 204; ++seed) run_mix(model, seed);
}

TEST(Scheduler, CompletionsOfOnePrefill) {
  for (const auto& model : {tiny_llama(), tiny_gemma()}) {
    Scheduler scheduler = Scheduler::create(model, {.max_sequences = 6, .prefill_chunk = 32}).value();
    Job job{.prompt = some_tokens(75), .max_tokens = 12, .seed = 5};
    const auto digests = std::make_shared<Digests>();
    Ticket other = scheduler.submit({.prompt = some_tokens(9), .options = sampled(20)}).value();
    Ticket ticket = scheduler.submit({.prompt = job.prompt, .options = job.options(digests), .completions = 4}).value();
    std::size_t prefilled = 0;
    while (!ticket.finished()) prefilled += scheduler.step().value().prefilled;
    EXPECT_EQ(prefilled, 75u + 9);
    std::vector<std::vector<Token>> answers;
    for (std::uint32_t i = 0; i < 4; ++i) {
      answers.push_back(ticket.result(i).value().tokens);
      EXPECT_EQ(answers.back(), test::alone(model, job, i).tokens) << i;
      EXPECT_EQ(ticket.ledger(i).value().reused_tokens, i == 0 ? 0u : 75u);
    }
    EXPECT_NE(answers[0], answers[1]);
    EXPECT_EQ(code_of(ticket.result(4)), ErrorCode::invalid_argument);
    std::vector<std::string> streamed(4);
    while (auto chunk = ticket.try_next()) streamed[chunk->completion] += chunk->text;
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(streamed[i], ticket.result(i).value().text);
  }
}

TEST(Scheduler, TextAndSamplingOptions) {
  Scheduler scheduler = make();
  GenerateOptions options = sampled(10, 3);
  options.sampling.completion_index = 2;
  Ticket ticket = scheduler.submit({.prompt = std::string("the rain"), .options = options}).value();
  EXPECT_EQ(code_of(ticket.result()), ErrorCode::busy);
  scheduler.run_until_idle().value();
  Session session = Session::create(tiny_llama()).value();
  EXPECT_EQ(ticket.result().value().tokens, session.generate("the rain", options).value().finish().value().tokens);

  const std::vector<Message> messages = {{"system", "be brief"}, {"user", "the rain"}};
  ticket = scheduler.submit({.prompt = messages, .options = options}).value();
  scheduler.run_until_idle().value();
  Conversation conversation = Conversation::create(Session::create(tiny_llama()).value()).value();
  conversation.add(messages[0]);
  conversation.add(messages[1]);
  EXPECT_EQ(ticket.result().value().tokens, conversation.respond(options).value().finish().value().tokens);
}

TEST(Scheduler, AFullWindowStopsOrDropsTheOldest) {
  Scheduler scheduler = make({.context_tokens = 32, .prefill_chunk = 16});
  const auto options = [](ContextPolicy policy) {
    GenerateOptions options = sampled(60);
    options.context_policy = policy;
    return options;
  };
  Ticket stopped = scheduler.submit({.prompt = some_tokens(20), .options = options(ContextPolicy::stop)}).value();
  Ticket dropped =
      scheduler.submit({.prompt = some_tokens(50), .options = options(ContextPolicy::drop_oldest), .completions = 2}).value();
  scheduler.run_until_idle().value();
  Session session = Session::create(tiny_llama(), {.context_tokens = 32}).value();
  auto expected = session.generate(some_tokens(20), options(ContextPolicy::stop)).value().finish().value();
  EXPECT_EQ(stopped.result().value().finish_reason, FinishReason::context_full);
  EXPECT_EQ(stopped.result().value().tokens, expected.tokens);
  session = Session::create(tiny_llama(), {.context_tokens = 32}).value();
  expected = session.generate(some_tokens(50), options(ContextPolicy::drop_oldest)).value().finish().value();
  EXPECT_EQ(dropped.result(0).value().tokens, expected.tokens);
  EXPECT_EQ(dropped.result(1).value().tokens.size(), 60u);
}

TEST(Scheduler, A08BadRequestsAreRefused) {
  Scheduler scheduler = make({.context_tokens = 64});
  const auto refused = [&](Request request) { return code_of(scheduler.submit(std::move(request))); };
  const Token vocabulary = static_cast<Token>(tiny_llama()->info().vocabulary_size);
  for (const Token token : {Token{-1}, vocabulary, std::numeric_limits<Token>::max()}) {
    EXPECT_EQ(refused({.prompt = std::vector<Token>{1, token}}), ErrorCode::invalid_argument);
  }
  EXPECT_EQ(refused({.prompt = std::vector<Token>{}}), ErrorCode::invalid_argument);
  EXPECT_EQ(refused({.prompt = some_tokens(3), .options = sampled(3), .completions = 0}), ErrorCode::invalid_argument);
  EXPECT_EQ(refused({.prompt = some_tokens(3), .options = sampled(3), .completions = 33}), ErrorCode::invalid_argument);
  EXPECT_EQ(refused({.prompt = some_tokens(3), .options = sampled(3), .deadline = -1ns}), ErrorCode::invalid_argument);
  EXPECT_EQ(refused({.prompt = some_tokens(3), .options = {.stop_strings = {""}}}), ErrorCode::invalid_argument);
  Session draft = Session::create(tiny_llama()).value();
  GenerateOptions drafted = sampled(3);
  drafted.speculation.draft_session = &draft;
  EXPECT_EQ(refused({.prompt = some_tokens(3), .options = drafted}), ErrorCode::invalid_argument);
  const auto too_long = scheduler.submit({.prompt = some_tokens(40), .options = sampled(30)});
  ASSERT_EQ(code_of(too_long), ErrorCode::context_full);
  for (const char* number : {"40", "30", "64"}) EXPECT_NE(too_long.error().message.find(number), std::string::npos);
  EXPECT_EQ(scheduler.metrics().refused, 10u);
  EXPECT_EQ(scheduler.metrics().submitted, 0u);
  EXPECT_TRUE(scheduler.step().value().idle());

  EXPECT_EQ(code_of(Scheduler::create(nullptr)), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of(Scheduler::create(tiny_llama(), {.context_tokens = 1 << 20})), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of(Scheduler::create(tiny_llama(), {.max_sequences = 1025})), ErrorCode::invalid_argument);
  const SwapOptions swap{.memory_bytes = ~std::uint64_t{0}, .file_bytes = 1};  // 0 if they are added up
  EXPECT_EQ(code_of(Scheduler::create(tiny_llama(), {.swap = swap})), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of(Scheduler::create(tiny_llama(), {.max_queue = 0})), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of(Scheduler::create(tiny_llama(), {.prefill_chunk = 1})), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of(Scheduler::create(tiny_llama(), {.tpot_target = 0ms})), ErrorCode::invalid_argument);
}

TEST(Scheduler, TheQueueIsBounded) {
  Scheduler scheduler = make({.max_sequences = 1, .max_queue = 2});
  const auto submit = [&] { return scheduler.submit({.prompt = some_tokens(3), .options = sampled(2)}); };
  Ticket first = submit().value(), second = submit().value();
  const auto third = submit();
  ASSERT_EQ(code_of(third), ErrorCode::resource_exhausted);
  EXPECT_NE(third.error().message.find("2"), std::string::npos);
  scheduler.step().value();  // one is admitted
  Ticket fourth = submit().value();
  EXPECT_EQ(code_of(submit()), ErrorCode::resource_exhausted);
  second.cancel();
  scheduler.step().value();
  Ticket fifth = submit().value();
  scheduler.run_until_idle().value();
  EXPECT_EQ(fifth.result().value().tokens.size(), 2u);
}

TEST(Scheduler, PrioritiesThenArrival) {
  Scheduler scheduler = make({.max_sequences = 1});
  std::vector<int> order;
  std::vector<Ticket> tickets;
  for (const int priority : {0, 2, 1, 2, 0}) {
    const int name = static_cast<int>(tickets.size());
    tickets.push_back(scheduler.submit({.prompt = some_tokens(3), .options = sampled(2), .priority = priority}).value());
    tickets.back().on_ready([&order, name] { order.push_back(name); });
  }
  scheduler.run_until_idle().value();
  order.erase(std::unique(order.begin(), order.end()), order.end());
  EXPECT_EQ(order, (std::vector<int>{1, 3, 2, 0, 4}));
}

// A clock that moves only when told to, or by a step with each look.
struct TestClock {
  std::shared_ptr<Duration> time = std::make_shared<Duration>(1s);
  Duration step{};
  operator Clock() const {
    return [time = time, step = step] { return *time += step; };
  }
};

TEST(Scheduler, Deadlines) {
  TestClock clock;
  Scheduler scheduler = make({.max_sequences = 1, .clock = clock});
  Ticket running = scheduler.submit({.prompt = some_tokens(3), .options = sampled(100), .deadline = 10ms}).value();
  Ticket queued = scheduler.submit({.prompt = some_tokens(3), .options = sampled(100), .deadline = 5ms}).value();
  Ticket patient = scheduler.submit({.prompt = some_tokens(3), .options = sampled(3)}).value();
  for (int i = 0; i < 3; ++i) scheduler.step().value();
  *clock.time += 5ms;
  scheduler.step().value();
  EXPECT_EQ(queued.result().value().finish_reason, FinishReason::deadline);
  EXPECT_TRUE(queued.result().value().tokens.empty());
  EXPECT_FALSE(queued.ledger().value().ttft);
  EXPECT_FALSE(running.finished());
  *clock.time += 5ms;
  scheduler.run_until_idle().value();
  EXPECT_EQ(running.result().value().finish_reason, FinishReason::deadline);
  EXPECT_EQ(running.result().value().tokens.size(), 4u);
  EXPECT_EQ(patient.result().value().finish_reason, FinishReason::max_tokens);
  EXPECT_EQ(scheduler.metrics().cancelled, 2u);
}

TEST(Scheduler, TimesThatNeverCome) {
  const auto cost = [](const PassShape&) { return 1s; };
  Scheduler scheduler = make({.tpot_target = Duration::max(), .ttft_target = 1ns, .cost_model = cost});
  std::vector<Ticket> tickets;
  for (const Duration deadline : {Duration::max(), Duration::max() - 1ns, Duration(std::chrono::hours(2'000'000))}) {
    Request request{.prompt = some_tokens(40), .options = sampled(3), .deadline = deadline};
    tickets.push_back(scheduler.submit(std::move(request)).value());
  }
  scheduler.step().value();
  EXPECT_EQ(scheduler.step().value().decoded, 3u);
  tickets.push_back(scheduler.submit({.prompt = some_tokens(40), .options = sampled(3)}).value());
  EXPECT_EQ(scheduler.step().value().prefilled, 40u);
  scheduler.run_until_idle().value();
  for (const Ticket& ticket : tickets) EXPECT_EQ(ticket.result().value().finish_reason, FinishReason::max_tokens);
}

TEST(Scheduler, LedgersAddUpToTheClock) {
  Scheduler scheduler = make({.max_sequences = 2, .prefill_chunk = 16, .clock = TestClock{.step = 7us}});
  std::vector<Ticket> tickets;
  for (unsigned i = 0; i < 4; ++i) {
    tickets.push_back(
        scheduler.submit({.prompt = some_tokens(10 + 13 * i, i), .options = sampled(1 + 3 * i), .completions = 1 + i % 2})
            .value());
  }
  scheduler.run_until_idle().value();
  for (unsigned i = 0; i < 4; ++i) {
    for (std::size_t completion = 0; completion < 1 + i % 2; ++completion) {
      const Ledger ledger = tickets[i].ledger(completion).value();
      const Timings timings = tickets[i].result(completion).value().timings;
      EXPECT_EQ(ledger.ttft, ledger.tokenize + ledger.queued + ledger.prefill + ledger.first_sample);
      EXPECT_EQ(ledger.ttft, timings.ttft);
      EXPECT_EQ(ledger.tpot, timings.tpot());
      EXPECT_EQ(ledger.worst_gap, timings.worst_gap());
      EXPECT_EQ(ledger.total, *ledger.ttft + ledger.decode);
      EXPECT_EQ(ledger.tokens.size(), timings.token_times.size());
      EXPECT_EQ(ledger.prompt_tokens, 10 + 13 * i);
      EXPECT_EQ(ledger.prefilled_tokens + ledger.reused_tokens, ledger.prompt_tokens);
      EXPECT_GT(ledger.tokens[0].bytes_read, tiny_llama()->info().weight_bytes);
      EXPECT_GT(ledger.queued, 0us);
      // Its own share of those phases. The clock is read before the masks, after them, around the head, and at the end.
      EXPECT_EQ(ledger.masking, 7us * ledger.tokens.size());
      EXPECT_GE(ledger.head, 7us * ledger.tokens.size());
      EXPECT_EQ(ledger.sampling, 14us * ledger.tokens.size());
      EXPECT_LE(ledger.masking + ledger.head + ledger.sampling, ledger.first_sample + ledger.decode);
      EXPECT_EQ(ledger.masking, timings.masking);
      EXPECT_EQ(ledger.head, timings.head);
      EXPECT_EQ(ledger.sampling, timings.sampling);
    }
  }
  const SchedulerMetrics metrics = scheduler.metrics();
  EXPECT_EQ(metrics.submitted, 4u);
  EXPECT_EQ(metrics.finished, 6u);
  EXPECT_EQ(metrics.generated_tokens, 1u + 4 + 4 + 7 + 10 + 10);
  EXPECT_EQ(metrics.ttft.count(), 6u);
  EXPECT_EQ(metrics.tpot.count(), 5u);  // an answer of one token has none
  EXPECT_EQ(metrics.queued + metrics.running, 0u);
}

TEST(Scheduler, OneThatFailsDisturbsNoOther) {
  for (const bool throws : {false, true}) {
    Scheduler scheduler = make();
    std::vector<Ticket> tickets;
    for (unsigned i = 0; i < 3; ++i) {
      GenerateOptions options = sampled(12, i);
      if (i == 1) options.chain = SamplerChain::create({.processors = {test::Failing(5, throws)}}).value();
      tickets.push_back(scheduler.submit({.prompt = some_tokens(20 + i, i), .options = options}).value());
    }
    scheduler.run_until_idle().value();
    EXPECT_EQ(code_of(tickets[1].result()), throws ? ErrorCode::callback_failed : ErrorCode::limit_exceeded);
    EXPECT_EQ(tickets[1].ledger().value().tokens.size(), 4u);
    for (const unsigned i : {0u, 2u})
      EXPECT_EQ(tickets[i].result().value().tokens, alone(some_tokens(20 + i, i), sampled(12, i)).tokens);
    EXPECT_EQ(scheduler.metrics().failed, 1u);
  }
}

// The embedding of token 0 is not a number: whoever feeds it fails, in a pass with others.
TEST(Scheduler, ANonFinitePassIsTheFaultOfOne) {
  test::TinyModelOptions tiny = test::tiny_options("llama");
  tiny.tied_head = false;
  std::vector<std::byte> bytes = test::make_tiny_model(tiny);
  {
    const auto file = gguf::File::open({borrow_buffer(bytes).value()}).value();
    const float broken = std::numeric_limits<float>::quiet_NaN();
    std::memcpy(bytes.data() + file.require_tensor("token_embd.weight").value()->offset, &broken, sizeof(broken));
  }
  const auto model = test::load_bytes(std::move(bytes));
  Scheduler scheduler = Scheduler::create(model, {.prefill_chunk = 32}).value();
  std::vector<Ticket> good;
  const auto submit_good = [&](unsigned i) {
    good.push_back(scheduler.submit({.prompt = some_tokens(30, i), .options = sampled(12, i)}).value());
  };
  submit_good(0);
  std::vector<Token> prompt = some_tokens(20);
  prompt[10] = 0;
  Ticket in_prefill = scheduler.submit({.prompt = prompt, .options = sampled(8), .completions = 2}).value();
  submit_good(1);
  GenerateOptions scripted = sampled(8);
  scripted.chain = test::script({5, 6, 0, 7});
  Ticket in_decode = scheduler.submit({.prompt = some_tokens(4), .options = scripted}).value();
  submit_good(2);
  scheduler.run_until_idle().value();
  for (const std::size_t i : {0u, 1u}) EXPECT_EQ(code_of(in_prefill.result(i)), ErrorCode::non_finite);
  EXPECT_EQ(code_of(in_decode.result()), ErrorCode::non_finite);
  EXPECT_EQ(in_decode.ledger().value().tokens.size(), 3u);
  for (unsigned i = 0; i < 3; ++i) {
    Session session = Session::create(model).value();
    EXPECT_EQ(good[i].result().value().tokens,
              session.generate(some_tokens(30, i), sampled(12, i)).value().finish().value().tokens);
  }
}

TEST(Scheduler, ACallbackThatThrowsEndsItsRequest) {
  Scheduler scheduler = make();
  GenerateOptions options = sampled(8, 4);
  options.prefill_progress = [](std::size_t, std::size_t) { throw std::logic_error("its own fault"); };
  Ticket failing = scheduler.submit({.prompt = some_tokens(40, 4), .options = options, .completions = 2}).value();
  Ticket other = scheduler.submit({.prompt = some_tokens(9), .options = sampled(8)}).value();
  scheduler.run_until_idle().value();
  for (const std::size_t i : {0u, 1u}) EXPECT_EQ(code_of(failing.result(i)), ErrorCode::callback_failed);
  EXPECT_EQ(other.result().value().tokens, alone(some_tokens(9), sampled(8)).tokens);
}

// Cancels its request at its n-th token, from inside the step.
class Cancelling final : public LogitsProcessor {
 public:
  Cancelling(std::shared_ptr<std::optional<Ticket>> ticket, int at) : ticket_(std::move(ticket)), left_(at) {}
  Result<void> process(Candidates&, Draws&) override {
    if (--left_ == 0) (*ticket_)->cancel();
    return {};
  }
  std::string describe() const override { return "cancelling"; }
  std::unique_ptr<LogitsProcessor> clone() const override { return std::make_unique<Cancelling>(*this); }

 private:
  std::shared_ptr<std::optional<Ticket>> ticket_;
  int left_;
};

TEST(Scheduler, K14CancelledInPrefillInDecodeAndFromInside) {
  for (const int when : {0, 1, 2, 3}) {  // in prefill, in decode, from a processor, from on_ready
    Scheduler scheduler = make({.prefill_chunk = 16});
    std::vector<Ticket> others;
    for (unsigned i = 0; i < 3; ++i)
      others.push_back(scheduler.submit({.prompt = some_tokens(20, i), .options = sampled(15, i)}).value());
    const auto ticket = std::make_shared<std::optional<Ticket>>();
    GenerateOptions options = sampled(50);
    if (when == 2) options.chain = SamplerChain::create({.processors = {Cancelling(ticket, 3)}}).value();
    *ticket = scheduler.submit({.prompt = some_tokens(100, 9), .options = options, .completions = when == 1 ? 2u : 1u}).value();
    if (when == 3) (*ticket)->on_ready([&] { (*ticket)->cancel(); });
    for (int step = 0; !(*ticket)->finished(); ++step) {
      ASSERT_LT(step, 40);
      if (step == (when == 0 ? 2 : 14) && when < 2) (*ticket)->cancel();
      scheduler.step().value();
    }
    const GenerationResult result = (*ticket)->result().value();
    EXPECT_EQ(result.finish_reason, FinishReason::cancelled);
    EXPECT_EQ(result.tokens.empty(), when == 0);
    if (when == 2) {
      EXPECT_EQ(result.tokens.size(), 3u);
    }
    scheduler.run_until_idle().value();
    for (unsigned i = 0; i < 3; ++i)
      EXPECT_EQ(others[i].result().value().tokens, alone(some_tokens(20, i), sampled(15, i)).tokens);
    ticket->reset();
  }
}

TEST(Scheduler, StoppedWithinAPassIsNoWantOfPages) {
  for (int polls = 1; polls < 30; ++polls) {
    Scheduler scheduler = make({.prefill_chunk = 16});
    GenerateOptions options = sampled(50);
    options.stop = StopToken([left = std::make_shared<int>(polls)] { return --*left <= 0; });
    const Ticket ticket = scheduler.submit({.prompt = some_tokens(60), .options = options}).value();
    const Result<void> done = scheduler.run_until_idle();
    ASSERT_TRUE(done) << polls << " polls: " << done.error().message;
    EXPECT_EQ(ticket.result().value().finish_reason, FinishReason::cancelled);
    EXPECT_EQ(scheduler.options().kv_pool->use().pages, 0u);
  }
}

TEST(Scheduler, AStopThatThrowsEndsItsRequest) {
  for (const int polls : {1, 2, 3, 6, 20}) {
    Scheduler scheduler = make({.prefill_chunk = 16});
    GenerateOptions options = sampled(50);
    options.stop = StopToken([left = std::make_shared<int>(polls)] {
      return --*left <= 0 ? throw std::logic_error("its own fault") : false;
    });
    const Ticket failing = scheduler.submit({.prompt = some_tokens(60), .options = options}).value();
    const Ticket other = scheduler.submit({.prompt = some_tokens(9), .options = sampled(8)}).value();
    scheduler.run_until_idle().value();
    EXPECT_EQ(code_of(failing.result()), ErrorCode::callback_failed);
    EXPECT_EQ(other.result().value().tokens, alone(some_tokens(9), sampled(8)).tokens);
  }
}

TEST(Scheduler, ASignalIsLetGoWhenItsRequestHasEnded) {
  Scheduler scheduler = make();
  Ticket ticket = scheduler.submit({.prompt = some_tokens(5), .options = sampled(3)}).value();
  const auto held = std::make_shared<int>(0);
  const auto count = [held, ticket] { ++*held; };  // a ticket that would hold itself
  ticket.on_ready(count);
  ticket.on_ready(count);  // replaces the one before
  EXPECT_EQ(held.use_count(), 3);
  scheduler.run_until_idle().value();
  EXPECT_EQ(*held, 3);  // once for each token
  EXPECT_EQ(held.use_count(), 2);
  ticket.on_ready(count);  // at once, and then never
  EXPECT_EQ(*held, 4);
  EXPECT_EQ(held.use_count(), 2);
  ticket.on_ready([] { throw std::logic_error("dropped"); });
}

// It comes from another thread just before the second layer. A pass that is mostly for others goes on.
TEST(Scheduler, A03ACancelEndsALongPromptWithinALayer) {
  for (const std::size_t length : {200u, 1u}) {
    const bool breaks_off = length > 1;
    Scheduler scheduler = Scheduler::create(tiny_gemma(), {.prefill_chunk = 64}).value();
    std::vector<Job> jobs;
    std::vector<std::shared_ptr<Digests>> digests;
    std::vector<Ticket> others;
    int polls = 0;  // of the others' first: one a step, and one a layer
    for (unsigned i = 0; i < 2; ++i) {
      jobs.push_back({.prompt = some_tokens(20, i), .max_tokens = 30, .seed = i});
      GenerateOptions options = jobs[i].options(digests.emplace_back(std::make_shared<Digests>()));
      if (i == 0) options.stop = StopToken([&] { return ++polls, false; });
      others.push_back(scheduler.submit({.prompt = jobs[i].prompt, .options = options}).value());
    }
    scheduler.step().value();
    polls = 0;
    scheduler.step().value();
    const int layers = polls - 1;
    ASSERT_GT(layers, 2);

    std::optional<Ticket> ticket;
    int polls_until_cancel = 0;
    GenerateOptions options = sampled(50);
    options.stop = StopToken([&] {
      if (polls_until_cancel > 0 && --polls_until_cancel == 0) std::thread([&] { ticket->cancel(); }).join();
      return false;
    });
    ticket = scheduler.submit({.prompt = some_tokens(length, 9), .options = options}).value();
    if (breaks_off) {
      EXPECT_EQ(scheduler.step().value().prefilled, 64u);
    }
    polls_until_cancel = 2;
    polls = 0;
    const StepReport report = scheduler.step().value();
    EXPECT_EQ(ticket->finished(), breaks_off);
    EXPECT_EQ(report.prefilled, breaks_off ? 0u : 1u);
    EXPECT_EQ(report.decoded, 2u);
    EXPECT_EQ(polls, 1 + layers + (breaks_off ? 2 : 0));  // the first layer, what stopped the second, and the others' pass
    scheduler.step().value();
    EXPECT_EQ(ticket->result().value().finish_reason, FinishReason::cancelled);
    EXPECT_EQ(ticket->result().value().tokens.size(), breaks_off ? 0u : 1u);
    EXPECT_EQ(ticket->ledger().value().prefilled_tokens, breaks_off ? 64u : 1u);
    scheduler.run_until_idle().value();
    for (unsigned i = 0; i < 2; ++i) {
      const GenerationResult result = others[i].result().value();
      EXPECT_EQ((test::Outcome{result.tokens, result.text, *digests[i]}), test::alone(tiny_gemma(), jobs[i])) << i;
    }
  }
}

TEST(Scheduler, ATicketThatIsDroppedCancels) {
  Scheduler scheduler = make();
  { Ticket dropped = scheduler.submit({.prompt = some_tokens(5), .options = sampled(50)}).value(); }
  scheduler.run_until_idle().value();
  EXPECT_EQ(scheduler.metrics().cancelled, 1u);
  EXPECT_EQ(scheduler.metrics().generated_tokens, 0u);
}

TEST(Scheduler, TheSchedulersEndEndsItsRequests) {
  std::optional<Ticket> ticket;
  {
    Scheduler scheduler = make();
    ticket = scheduler.submit({.prompt = some_tokens(5), .options = sampled(50)}).value();
    scheduler.step().value();
  }
  ticket->wait();
  EXPECT_EQ(ticket->result().value().finish_reason, FinishReason::cancelled);
  EXPECT_EQ(ticket->result().value().tokens.size(), 1u);
}

TEST(Scheduler, A02AStepInsideAStepIsBusy) {
  Scheduler scheduler = make();
  Ticket ticket = scheduler.submit({.prompt = some_tokens(5), .options = sampled(3)}).value();
  std::optional<ErrorCode> code;
  std::optional<Ticket> another;
  ticket.on_ready([&] {
    code = code_of(scheduler.step());
    if (!another) another = scheduler.submit({.prompt = some_tokens(6), .options = sampled(2)}).value();
    throw std::logic_error("dropped");
  });
  scheduler.run_until_idle().value();
  EXPECT_EQ(code, ErrorCode::busy);
  EXPECT_EQ(another->result().value().tokens, alone(some_tokens(6), sampled(2)).tokens);
}

TEST(Scheduler, ChunksKeepToTheBudget) {
  SchedulerOptions options{.tpot_target = 2ms};
  options.cost_model = [](const PassShape& pass) { return 20us * (pass.decode_rows + pass.prefill_rows); };
  Scheduler scheduler = make(options);
  Ticket decoding = scheduler.submit({.prompt = some_tokens(5), .options = sampled(100)}).value();
  scheduler.step().value();
  Ticket prompt = scheduler.submit({.prompt = some_tokens(300), .options = sampled(1)}).value();
  std::vector<std::size_t> chunks;
  while (!prompt.finished()) {
    const StepReport report = scheduler.step().value();
    EXPECT_EQ(report.decoded, 1u);
    chunks.push_back(report.prefilled);
  }
  EXPECT_EQ(chunks, (std::vector<std::size_t>{96, 96, 96, 12}));
}

TEST(BackgroundScheduler, ManyThreadsShareOne) {
  const auto model = test::load_bytes(test::make_tiny_model(test::tiny_options("gemma3")), {.threads = 2});
  BackgroundScheduler scheduler = BackgroundScheduler::create(model, {.max_sequences = 4}).value();
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (unsigned round = 0; round < 3; ++round) {
        const Job job{.prompt = some_tokens(8 + 5 * i, round), .max_tokens = 10, .seed = i};
        const auto digests = std::make_shared<Digests>();
        Ticket ticket = scheduler.submit({.prompt = job.prompt, .options = job.options(digests)}).value();
        std::string text;
        while (!ticket.finished()) {
          ticket.wait();
          while (auto chunk = ticket.try_next()) text += chunk->text;
          (void)scheduler.metrics();
          (void)ticket.ledger().value();
        }
        while (auto chunk = ticket.try_next()) text += chunk->text;
        const GenerationResult result = ticket.result().value();
        EXPECT_EQ(result.text, text);
        EXPECT_EQ((test::Outcome{result.tokens, result.text, *digests}), test::alone(model, job));
        Ticket cancelled = scheduler.submit({.prompt = job.prompt, .options = sampled(400)}).value();
        cancelled.wait(std::chrono::steady_clock::now() + 2ms);
        cancelled.cancel();
        while (!cancelled.finished()) {
          cancelled.wait();
          while (cancelled.try_next()) {
          }
        }
        EXPECT_EQ(cancelled.result().value().finish_reason, FinishReason::cancelled);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(scheduler.metrics().finished, 24u);
}

TEST(BackgroundScheduler, StepsThatFailEndTheRequests) {
  BackgroundScheduler scheduler =
      BackgroundScheduler::create(tiny_llama(),
                                  {.tpot_target = 1ms,
                                   .ttft_target = 1ms,
                                   .cost_model = [](const PassShape&) -> Duration { throw std::runtime_error("no idea"); }})
          .value();
  Ticket ticket = scheduler.submit({.prompt = some_tokens(5), .options = sampled(5)}).value();
  ticket.wait();
  ASSERT_TRUE(ticket.finished());
  EXPECT_EQ(code_of(ticket.result()), ErrorCode::callback_failed);
}

// A clock that throws fails the steps that look at it, and nobody waits for ever.
TEST(BackgroundScheduler, AClockThatThrowsEndsTheRequests) {
  auto throws = std::make_shared<std::atomic<bool>>(false);
  const Clock clock = [throws] { return *throws ? throw std::runtime_error("no time") : steady_now(); };
  BackgroundScheduler scheduler = BackgroundScheduler::create(tiny_llama(), {.clock = clock}).value();
  Request request{.prompt = some_tokens(5), .options = sampled(100)};
  request.completions = 2;
  request.options.prefill_progress = [throws](std::size_t, std::size_t) { *throws = true; };
  Ticket ticket = scheduler.submit(std::move(request)).value();
  while (!ticket.finished()) {
    ticket.wait();
    while (ticket.try_next()) continue;
  }
  for (const std::size_t completion : {0u, 1u}) EXPECT_EQ(code_of(ticket.result(completion)), ErrorCode::callback_failed);
  EXPECT_EQ(code_of(scheduler.submit({.prompt = some_tokens(5)})), ErrorCode::callback_failed);
  *throws = false;
  Ticket later = scheduler.submit({.prompt = some_tokens(5), .options = sampled(5)}).value();
  while (!later.finished()) {
    later.wait();
    while (later.try_next()) continue;
  }
  EXPECT_EQ(later.result().value().tokens.size(), 5u);
}

TEST(Scheduler, AClockThatThrowsIsGoneWithoutALeak) {
  const auto pool = KvPool::create(tiny_llama(), {}).value();
  bool throws = false;
  Ticket ticket = [&] {
    Scheduler scheduler =
        make({.kv_pool = pool, .clock = [&] { return throws ? throw std::runtime_error("no time") : steady_now(); }});
    Ticket running = scheduler.submit({.prompt = some_tokens(5), .options = sampled(100)}).value();
    for (int i = 0; i < 3; ++i) scheduler.step().value();
    EXPECT_GT(pool->use().used_bytes, 0u);
    throws = true;
    EXPECT_EQ(code_of(scheduler.step()), ErrorCode::callback_failed);
    return running;
  }();
  EXPECT_TRUE(ticket.finished());
  EXPECT_EQ(pool->use().used_bytes + pool->use().reserved_bytes, 0u);
}

// Whoever ended in a step that failed later is not ended again.
TEST(Scheduler, AStepThatFailsHalfWayLeavesNothingTwice) {
  bool throws = false;
  Scheduler scheduler =
      make({.context_tokens = 64, .tpot_target = 1s, .ttft_target = 1s, .cost_model = [&](const PassShape&) -> Duration {
              if (throws) throw std::runtime_error("no idea");
              return 1us;
            }});
  GenerateOptions to_the_end = sampled(1000);
  to_the_end.context_policy = ContextPolicy::stop;
  Ticket full = scheduler.submit({.prompt = some_tokens(63), .options = std::move(to_the_end)}).value();
  while (full.ledger().value().tokens.size() < 2) ASSERT_TRUE(scheduler.step());
  Ticket other = scheduler.submit({.prompt = some_tokens(5), .options = sampled(5)}).value();
  throws = true;
  EXPECT_EQ(code_of(scheduler.step()), ErrorCode::callback_failed);
  full.cancel();
  throws = false;
  ASSERT_TRUE(scheduler.run_until_idle());
  EXPECT_EQ(full.result().value().finish_reason, FinishReason::context_full);
  EXPECT_EQ(other.result().value().tokens.size(), 5u);
}

TEST(BackgroundScheduler, StopsWithWorkLeft) {
  BackgroundScheduler scheduler = BackgroundScheduler::create(tiny_llama()).value();
  std::atomic<int> signals{0};
  Ticket ticket = scheduler.submit({.prompt = some_tokens(5), .options = sampled(500)}).value();
  ticket.on_ready([&] { ++signals; });
  ticket.wait();
  scheduler.stop();
  EXPECT_TRUE(ticket.finished());
  EXPECT_GT(signals, 0);
  EXPECT_EQ(code_of(scheduler.submit({.prompt = some_tokens(5)})), ErrorCode::cancelled);
  BackgroundScheduler moved = std::move(scheduler);
  moved.stop();
}

}  // namespace
}  // namespace rill
