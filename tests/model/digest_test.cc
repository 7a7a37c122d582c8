// Model::digest: what it depends on, and what not.
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "rill/rill.h"
#include "support/tiny_model.h"

namespace rill {
namespace {

using test::tiny_options;

std::string digest_of(std::vector<std::byte> file, ModelOptions options = {.threads = 1}) {
  return Model::load(own_buffer(std::move(file)).value(), std::move(options)).value()->digest();
}

// Fails when the packed bytes of a model change: raise kPackingVersion, so that packed caches of before are not read,
// and put the new digests here.
TEST(DigestTest, IsTheSameInEveryBuildOfAPackingVersion) {
  EXPECT_EQ(digest_of(test::make_tiny_model(tiny_options("llama"))), "51ebe307f7607d0becba4d5f387407be");
  EXPECT_EQ(digest_of(test::make_tiny_model(tiny_options("llama", ElementType::q4_k))), "d55f4537535644d332b0ca399d9e0404");
  EXPECT_EQ(digest_of(test::make_tiny_model(tiny_options("gemma3", ElementType::q5_0))), "4c7eb7a62abae61a5c10bcc9f21f99ff");
}

TEST(DigestTest, DoesNotDependOnOptions) {
  const std::vector<std::byte> file = test::make_tiny_model(tiny_options("llama", ElementType::q8_0));
  const std::string digest = digest_of(file);
  EXPECT_EQ(digest.size(), 32u);
  EXPECT_EQ(digest_of(file, {.threads = 3}), digest);
  EXPECT_EQ(digest_of(file, {.threads = 1, .activations = Activations::accurate}), digest);
  EXPECT_EQ(digest_of(file, {.threads = 1, .target = "scalar"}), digest);
}

TEST(DigestTest, IsAnotherForOtherWeightsOrMetadata) {
  std::vector<std::byte> file = test::make_tiny_model(tiny_options("llama"));
  std::set<std::string> digests = {digest_of(file)};
  file[file.size() / 4 * 3] ^= std::byte{1};  // the lowest bit of a weight's mantissa
  digests.insert(digest_of(file));
  test::GgufWriter writer = test::write_tiny_model(tiny_options("llama"));
  writer.add("general.url", "another");
  digests.insert(digest_of(writer.finish()));
  test::TinyModelOptions options = tiny_options("llama");
  options.seed = 2;
  digests.insert(digest_of(test::make_tiny_model(options)));
  EXPECT_EQ(digests.size(), 4u);
}

TEST(DigestTest, SeveralThreadsAsk) {
  const auto model =
      Model::load(own_buffer(test::make_tiny_model(tiny_options("llama"))).value(), {.threads = 2}).value();
  std::vector<std::string> digests(4);
  std::vector<std::thread> threads;
  for (std::string& digest : digests) threads.emplace_back([&] { digest = model->digest(); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(std::set<std::string>(digests.begin(), digests.end()).size(), 1u);
}

}  // namespace
}  // namespace rill
