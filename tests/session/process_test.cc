// What a process sees of the library: no processor time when idle, no growth. That it prints nothing: silence_test.cc.
#include <gtest/gtest.h>

#if defined(__unix__)
#include <sys/resource.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <chrono>
#include <fstream>
#include <thread>

#include "support/scripted.h"

namespace rill {
namespace {

using test::some_tokens;

#if defined(__unix__)
double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

TEST(ProcessTest, A10IdleTakesNoProcessorTime) {
  const auto model = test::load_bytes(test::make_tiny_model(test::tiny_options("llama")), {.threads = 4});
  Session session = Session::create(model).value();
  (void)session.generate(some_tokens(20), {.max_tokens = 8}).value().finish().value();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // the threads' spin is over long before
  const double before = processor_seconds();
  std::this_thread::sleep_for(std::chrono::seconds(2));
  EXPECT_LT(processor_seconds() - before, 0.020);
}
#endif

#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
std::size_t resident_pages() {
  std::ifstream statm("/proc/self/statm");
  std::size_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident;
}

void load_and_generate(const std::vector<std::byte>& file, int threads) {
  const auto model = Model::load(borrow_buffer(file).value(), {.threads = threads}).value();
  Session session = Session::create(model).value();
  GenerateOptions options{.max_tokens = 8};
  options.end_tokens = std::vector<Token>{};
  ASSERT_EQ(session.generate(some_tokens(20), std::move(options)).value().finish().value().tokens.size(), 8u);
}

TEST(ProcessTest, A11TwoHundredCyclesDoNotGrow) {
  const std::vector<std::byte> file = test::make_tiny_model(test::tiny_options("llama"));
  std::size_t after_20 = 0;
  for (int round = 1; round <= 200; ++round) {
    load_and_generate(file, 2);
    if (round == 20) after_20 = resident_pages();
  }
  // Huge pages come and go in steps of 2 MiB, more than 2 % of so small a process; a leak of 23 KiB a cycle shows all the same.
  const std::size_t step = (4 << 20) / static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  EXPECT_LE(resident_pages(), after_20 + std::max(after_20 / 50, step));
}
#endif

}  // namespace
}  // namespace rill
