#include "model/scratch_cache.h"

#include <gtest/gtest.h>

namespace rill::model {
namespace {

TEST(ScratchCacheTest, GivesTheSameMemoryAgain) {
  ScratchCache cache;
  Buffer buffer = cache.take(5000).value();
  const std::byte* const data = buffer.data();
  cache.give(std::move(buffer));
  buffer = cache.take(4000).value();
  EXPECT_EQ(buffer.data(), data);
  EXPECT_EQ(buffer.size(), 5000u);
  EXPECT_NE(cache.take(4000).value().data(), data) << "it is in use";
}

// Passes that grow row by row, as those of a scheduler do: what one of them had does not stay beside what the next one has.
TEST(ScratchCacheTest, KeepsNothingThatWasOutgrown) {
  ScratchCache cache;
  for (std::size_t bytes = 1000; bytes < 2000; bytes += 100) cache.give(cache.take(bytes).value());
  Buffer one = cache.take(1).value();
  EXPECT_EQ(one.size(), 1900u);
  EXPECT_EQ(cache.take(1).value().size(), 1u) << "there was but one user, so that one is kept";
}

}  // namespace
}  // namespace rill::model
