// Ledgers and histograms: phases that add up, and nothing where there is nothing to say.
#include <gtest/gtest.h>

#include "rill/scheduler_metrics.h"
#include "schedule/ledger_book.h"

namespace rill::schedule {
namespace {

using namespace std::chrono_literals;

TEST(LedgerBook, PhasesAddUp) {
  LedgerBook book;
  book.begin(12, 3ms);
  book.enter(Phase::prefill, 10ms);
  book.enter(Phase::preempted, 15ms);
  book.enter(Phase::prefill, 25ms);
  book.enter(Phase::first_sample, 40ms);
  book.count_token(42ms, 3, 1000);
  book.count_token(50ms, 2, 1000);
  book.enter(Phase::preempted, 52ms);
  book.enter(Phase::decode, 60ms);
  book.count_token(61ms, 1, 1000);
  book.enter(Phase::ended, 62ms);
  const Ledger& ledger = book.ledger();
  EXPECT_EQ(ledger.tokenize, 3ms);
  EXPECT_EQ(ledger.queued, 7ms);
  EXPECT_EQ(ledger.prefill, 20ms);
  EXPECT_EQ(ledger.first_sample, 2ms);
  EXPECT_EQ(ledger.decode, 12ms);
  EXPECT_EQ(ledger.preempted, 18ms);
  EXPECT_EQ(ledger.total, 62ms);
  EXPECT_EQ(ledger.tokenize + ledger.queued + ledger.prefill + ledger.first_sample + ledger.decode + ledger.preempted,
            ledger.total);
  EXPECT_EQ(ledger.ttft, 42ms);
  EXPECT_EQ(ledger.tpot, 9500us);
  EXPECT_EQ(ledger.worst_gap, 11ms);
  EXPECT_NE(ledger.explain().find("prefill"), std::string::npos) << ledger.explain();
  book.enter(Phase::decode, 99ms);  // the end is the end
  EXPECT_EQ(book.ledger().total, 62ms);
}

TEST(LedgerBook, ExplainsWhatMasksTook) {
  Ledger ledger;
  ledger.decode = ledger.total = 10ms;
  ledger.masking = 5ms;
  ledger.sampling = 1ms;
  EXPECT_EQ(ledger.explain(), "10.0 ms, 100 % of it in decode; choosing tokens took 6.0 ms, 5.0 of it for the grammar "
                              "and other masks");
}

// Nothing but what was measured.
TEST(LedgerBook, ExplainsWhatPassesRead) {
  Ledger ledger;
  ledger.decode = ledger.total = 10ms;
  ledger.tokens = {{5ms, 1, 60'000'000}, {10ms, 2, 40'000'000}};
  EXPECT_EQ(ledger.explain(), "10.0 ms, 100 % of it in decode; its passes served 1.5 answers each and read 10.0 GB/s");
}

TEST(LedgerBook, AbsentForNoTokenAndForOne) {
  LedgerBook book;
  book.begin(1, 0ms);
  EXPECT_FALSE(book.ledger().ttft);
  EXPECT_NE(book.ledger().explain(), "");
  book.enter(Phase::prefill, 1ms);
  book.enter(Phase::first_sample, 1ms);
  book.count_token(1ms, 1, 1);
  EXPECT_TRUE(book.ledger().ttft);
  EXPECT_FALSE(book.ledger().tpot);
  EXPECT_FALSE(book.ledger().worst_gap);
  EXPECT_EQ(book.ledger().explain().find("inf"), std::string::npos);
  EXPECT_EQ(book.ledger().explain().find("nan"), std::string::npos);
}

TEST(Histogram, CountsAndQuantiles) {
  Histogram values(1.0);
  EXPECT_FALSE(values.quantile(0.5));
  EXPECT_FALSE(values.mean());
  for (int i = 1; i <= 100; ++i) values.add(i);
  values.add(0.0);
  EXPECT_EQ(values.count(), 101u);
  EXPECT_EQ(values.sum(), 5050.0);
  for (const double q : {0.1, 0.5, 0.9, 0.99}) {
    EXPECT_GE(*values.quantile(q), 100 * q - 1);
    EXPECT_LE(*values.quantile(q), 1.19 * 101 * q + 1);
  }
  values.add(1e30);  // in the last bucket, whose bound is finite
  EXPECT_EQ(values.in_bucket(Histogram::kBuckets - 1), 1u);
}

TEST(Prometheus, TextFormat) {
  SchedulerMetrics metrics;
  metrics.submitted = 7;
  std::string text = prometheus_text(metrics);
  EXPECT_NE(text.find("# TYPE rill_requests_total counter\nrill_requests_total 7\n"), std::string::npos) << text;
  for (const char* absent : {"inf\n", "nan", "hit_ratio", "pool_share"})
    EXPECT_EQ(text.find(absent), std::string::npos) << absent;
  EXPECT_NE(text.find("rill_ttft_seconds_bucket{le=\"+Inf\"} 0\nrill_ttft_seconds_sum 0\nrill_ttft_seconds_count 0\n"),
            std::string::npos);
  metrics.ttft.add(0.25);
  metrics.ttft.add(0.5);
  metrics.prompt_tokens = 4;
  metrics.reused_tokens = 1;
  text = prometheus_text(metrics, "app");
  EXPECT_NE(text.find("app_prefix_hit_ratio 0.25\n"), std::string::npos);
  EXPECT_NE(text.find("app_ttft_seconds_bucket{le=\"+Inf\"} 2\napp_ttft_seconds_sum 0.75\n"), std::string::npos);
  // Every line is a comment, or a name and a number; buckets never decrease.
  std::uint64_t before = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    const std::string line = text.substr(at, end - at);
    at = end + 1;
    if (line[0] == '#') continue;
    const std::size_t space = line.rfind(' ');
    ASSERT_NE(space, std::string::npos);
    const double value = std::stod(line.substr(space + 1));
    if (line.find("ttft_seconds_bucket") == std::string::npos) continue;
    EXPECT_GE(static_cast<std::uint64_t>(value), before);
    before = static_cast<std::uint64_t>(value);
  }
  EXPECT_EQ(before, 2u);
}

}  // namespace
}  // namespace rill::schedule
