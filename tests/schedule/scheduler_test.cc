// What a scheduler owes each request: the answer that it has alone, whatever else runs.
#include "rill/scheduler.h"

#include <gtest/gtest.h>

#include "support/scripted.h"

namespace rill {
namespace {

using test::some_tokens;

std::shared_ptr<const Model> tiny(const char* architecture) {
  static const auto llama = test::load_tiny(test::tiny_options("llama"));
  static const auto gemma = test::load_tiny(test::tiny_options("gemma3"));
  return std::string_view(architecture) == "llama" ? llama : gemma;
}

GenerateOptions sampled(std::size_t max_tokens, std::uint64_t seed) {
  GenerateOptions options{.max_tokens = max_tokens};
  options.sampling.seed = seed;
  options.end_tokens = std::vector<Token>{};
  return options;
}

TEST(Scheduler, AnswersAreThoseOfSessions) {
  for (const char* architecture : {"llama", "gemma3"}) {
    const auto model = tiny(architecture);
    Scheduler scheduler = Scheduler::create(model, {.max_sequences = 3, .prefill_chunk = 16}).value();
    std::vector<Ticket> tickets;
    for (unsigned i = 0; i < 7; ++i) {
      tickets.push_back(scheduler.submit({.prompt = some_tokens(3 + 11 * i, i), .options = sampled(5 + i, i)}).value());
    }
    scheduler.run_until_idle().value();
    for (unsigned i = 0; i < 7; ++i) {
      Session session = Session::create(model).value();
      const auto alone = session.generate(some_tokens(3 + 11 * i, i), sampled(5 + i, i)).value().finish().value();
      const auto together = tickets[i].result().value();
      EXPECT_EQ(together.tokens, alone.tokens) << architecture << " " << i;
      EXPECT_EQ(together.text, alone.text);
      EXPECT_EQ(together.finish_reason, alone.finish_reason);
    }
  }
}

}  // namespace
}  // namespace rill
