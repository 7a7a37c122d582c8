#include "gguf/file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "gguf/open_bytes.h"
#include "support/gguf_writer.h"
#include "support/real_models.h"
#include "support/temp_dir.h"
#include "support/tiny_model.h"

namespace rill::gguf {
namespace {

std::vector<std::byte> pattern(std::size_t size, int start) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(start + static_cast<int>(i));
  return bytes;
}

class GgufVersionTest : public testing::TestWithParam<std::uint32_t> {};
INSTANTIATE_TEST_SUITE_P(Versions, GgufVersionTest, testing::Values(2, 3));

TEST_P(GgufVersionTest, ReadsTensorsAndTheirBytes) {
  test::GgufWriter writer;
  writer.version(GetParam()).alignment(64);
  writer.add_tensor("vector", ElementType::f32, {5}, pattern(20, 1));
  writer.add_tensor("matrix", ElementType::q8_0, {64, 3}, pattern(2 * 34 * 3, 100));
  writer.add_tensor("cube", ElementType::f16, {2, 3, 4}, pattern(48, 7));
  const File file = open_bytes(writer.finish()).value();

  EXPECT_EQ(file.version(), GetParam());
  ASSERT_EQ(file.tensors().size(), 3u);
  const TensorInfo& matrix = *file.require_tensor("matrix").value();
  EXPECT_EQ(&matrix, &file.tensors()[1]);
  EXPECT_EQ(matrix.type, ElementType::q8_0);
  EXPECT_EQ(matrix.rank, 2u);
  EXPECT_EQ(matrix.cols(), 64u);
  EXPECT_EQ(matrix.rows(), 3u);
  EXPECT_EQ(matrix.bytes, 204u);
  EXPECT_EQ(matrix.offset % 64, 0u);
  EXPECT_EQ(file.find_tensor("cube")->elements(), 24u);

  std::vector<std::byte> bytes(matrix.bytes);
  file.read(matrix, 0, bytes).value();
  EXPECT_EQ(bytes, pattern(204, 100));
  std::vector<std::byte> part(10);
  file.read(*file.find_tensor("vector"), 10, part).value();
  EXPECT_EQ(part, pattern(10, 11));
}

TEST(GgufFileTest, RefusesToReadPastATensor) {
  test::GgufWriter writer;
  writer.add_tensor("a", ElementType::f32, {8}, pattern(32, 0)).add_tensor("b", ElementType::f32, {8}, pattern(32, 0));
  const File file = open_bytes(writer.finish()).value();
  std::vector<std::byte> out(8);
  EXPECT_TRUE(file.read(file.tensors()[0], 24, out));
  for (const std::uint64_t offset : {std::uint64_t{25}, std::uint64_t{33}, ~std::uint64_t{0}}) {
    const Result<void> done = file.read(file.tensors()[0], offset, out);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(done.error().message.find("tensor 'a'"), std::string::npos);
  }
}

TEST(GgufFileTest, NamesTheMissingTensor) {
  const File file = open_bytes(test::GgufWriter().finish()).value();
  EXPECT_EQ(file.find_tensor("a"), nullptr);
  EXPECT_EQ(file.require_tensor("a").error().message, "test.gguf: tensor 'a' is missing");
  EXPECT_EQ(file.require_tensor("a").error().code, ErrorCode::not_found);
  EXPECT_EQ(file.require_tensor("a\nb").error().message, "test.gguf: tensor 'a\\x0ab' is missing");
}

TEST(GgufFileTest, AFileThatEndsAfterItsMetadataNeedsNoPadding) {
  test::GgufWriter writer;
  writer.add("general.architecture", "llama");
  EXPECT_TRUE(open_bytes(writer.finish()));
}

TEST(GgufFileTest, DigestsOfTheHeadAndOfTheState) {
  test::GgufWriter writer;
  const std::vector<std::string> strings(40'000, "a head that is longer than one buffer");
  writer.add("some.strings", strings).add("some.number", 7u);
  const std::vector<std::byte> bytes = writer.finish();
  Hasher hasher;
  hasher.add(bytes);
  EXPECT_EQ(open_bytes(bytes).value().head_digest(), hasher.digest());
  EXPECT_EQ(open_bytes(bytes).value().state_digest().error().code, ErrorCode::invalid_argument);

  const test::TempDir folder;
  const auto path = folder.write("model.gguf", bytes);
  const auto time = std::filesystem::last_write_time(path);
  const auto state_of = [&] { return File::open(path).value().state_digest().value(); };
  const Digest state = state_of();
  EXPECT_EQ(state_of(), state);
  std::filesystem::last_write_time(path, time + std::chrono::seconds(1));
  EXPECT_NE(state_of(), state);
  std::vector<std::byte> changed = bytes;
  changed.back() ^= std::byte{1};  // of the last key's value
  folder.write("model.gguf", changed);
  std::filesystem::last_write_time(path, time);
  EXPECT_NE(state_of(), state);
  changed = bytes;
  changed.resize(changed.size() + 1);
  folder.write("model.gguf", changed);
  std::filesystem::last_write_time(path, time);
  EXPECT_NE(state_of(), state);
}

TEST(GgufFileTest, RefusesNoSourcesAndNull) {
  EXPECT_EQ(File::open(std::vector<ByteSourcePtr>{}).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(File::open(std::vector<ByteSourcePtr>{nullptr}).error().code, ErrorCode::invalid_argument);
}

TEST(GgufFileTest, NamesTheTensorWhoseReadFails) {
  const std::vector<std::byte> bytes = test::make_tiny_model({});
  bool broken = false;
  const auto read = [&](std::uint64_t offset, std::span<std::byte> out) -> Result<std::size_t> {
    if (broken) return Error{ErrorCode::io, "the cable is out"};
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(offset), out.size(), out.begin());
    return out.size();
  };
  const File file = File::open(std::vector<ByteSourcePtr>{from_callback(bytes.size(), read, "net").value()}).value();
  broken = true;
  std::vector<std::byte> out(64);
  const Result<void> done = file.read(*file.find_tensor("output_norm.weight"), 0, out);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, ErrorCode::io);
  EXPECT_NE(done.error().message.find("tensor 'output_norm.weight'"), std::string::npos);
  EXPECT_NE(done.error().message.find("the cable is out"), std::string::npos);
}

TEST(GgufFileTest, ReadsSmolLm2) {
  RILL_REQUIRE_MODEL(path, "SmolLM2-135M-Instruct.Q4_1.gguf");
  const File file = File::open(path).value();
  EXPECT_EQ(file.version(), 3u);
  EXPECT_EQ(file.tensors().size(), 272u);
  EXPECT_EQ(file.metadata().get<std::string_view>("general.architecture").value(), "llama");
  EXPECT_EQ(file.metadata().get<std::uint32_t>("llama.block_count").value(), 30u);
  EXPECT_EQ(file.metadata().get<float>("llama.rope.freq_base").value(), 100000.0f);
  const FlatStrings& tokens = *file.metadata().get_strings("tokenizer.ggml.tokens").value();
  ASSERT_EQ(tokens.size(), 49152u);
  EXPECT_EQ(tokens[1], "<|im_start|>");
  const TensorInfo& embedding = *file.require_tensor("token_embd.weight").value();
  EXPECT_EQ(embedding.type, ElementType::q8_0);
  EXPECT_EQ(embedding.offset, 1785664u);
  EXPECT_EQ(embedding.bytes, 30081024u);
  EXPECT_EQ(embedding.rows(), 49152u);
  EXPECT_EQ(embedding.cols(), 576u);
}

TEST(GgufFileTest, ReadsGemma3) {
  RILL_REQUIRE_MODEL(path, "gemma-3-270m-q4_k_m.gguf");
  const File file = File::open(path).value();
  EXPECT_EQ(file.tensors().size(), 236u);
  EXPECT_EQ(file.metadata().get<std::uint32_t>("gemma3.attention.sliding_window").value(), 512u);
  EXPECT_EQ(file.metadata().get<bool>("tokenizer.ggml.add_bos_token").value(), true);
  EXPECT_EQ(file.metadata().get_strings("tokenizer.ggml.tokens").value()->size(), 262144u);
  const std::vector<float> scores = file.metadata().get_array<float>("tokenizer.ggml.scores").value();
  ASSERT_EQ(scores.size(), 262144u);
  EXPECT_EQ(scores[0], -1000.0f);
  const TensorInfo& down = *file.require_tensor("blk.0.ffn_down.weight").value();
  EXPECT_EQ(down.type, ElementType::q6_k);
  EXPECT_EQ(down.offset, 185896128u);
  EXPECT_EQ(down.bytes, 1075200u);
}

}  // namespace
}  // namespace rill::gguf
