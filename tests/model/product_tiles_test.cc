#include "model/product_tiles.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace rill::model {
namespace {

TEST(ProductTiles, CoverEachGroupOnceWhateverTheNumberOfThreads) {
  for (const std::size_t group_work : {1u, 100'000'000u}) {
    for (std::size_t threads = 1; threads <= 5; ++threads) {
      for (std::size_t groups = 1; groups <= 300; ++groups) {
        const ProductTiles tiles(groups, group_work, threads);
        EXPECT_EQ(tiles.count() % threads, 0u);
        EXPECT_EQ(tiles.begin(0), 0u);
        EXPECT_EQ(tiles.begin(tiles.count()), groups);
        for (std::size_t tile = 0; tile < tiles.count(); ++tile) {
          ASSERT_LE(tiles.begin(tile), tiles.begin(tile + 1)) << groups << " groups, " << threads << " threads";
        }
      }
    }
  }
}

TEST(ProductTiles, OfLongProductsEndShort) {
  const ProductTiles brief(6400, 1, 2), lengthy(6400, 100'000, 2);
  const auto last = [](const ProductTiles& tiles) { return tiles.begin(tiles.count()) - tiles.begin(tiles.count() - 1); };
  EXPECT_EQ(last(brief), 400u);
  EXPECT_EQ(last(lengthy), 50u);
}

TEST(NeighbouringTiles, GiveEachThreadOneRunOfThem) {
  for (std::size_t threads = 1; threads <= 5; ++threads) {
    for (std::size_t tiles = 0; tiles <= 40; ++tiles) {
      const NeighbouringTiles order(tiles, threads);
      std::size_t next = 0;
      const std::size_t sharing = std::min(threads, tiles);
      for (std::size_t thread = 0; thread < sharing; ++thread) {
        for (std::size_t tile = thread; tile < tiles;
             tile += sharing) {  // what the pool deals to the thread, in its order
          ASSERT_EQ(order[tile], next++) << tiles << " tiles, " << threads << " threads";
        }
      }
      EXPECT_EQ(next, tiles);
    }
  }
}

}  // namespace
}  // namespace rill::model
