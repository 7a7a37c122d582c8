// Loading: what is refused, and why; progress and cancellation.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <random>
#include <thread>

#include "rill/rill.h"
#include "support/scripted.h"
#include "support/temp_dir.h"

namespace rill {
namespace {

using test::tiny_options;

Result<std::shared_ptr<const Model>> load(std::vector<std::byte> bytes, ModelOptions options = {.threads = 1}) {
  return Model::load(own_buffer(std::move(bytes)).value(), std::move(options));
}

void expect_refused(const std::vector<std::byte>& bytes, ErrorCode code, std::initializer_list<const char*> named) {
  const auto model = load(bytes);
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, code) << model.error().message;
  for (const char* name : named) EXPECT_NE(model.error().message.find(name), std::string::npos) << model.error().message;
}

// A tiny model whose metadata says `value` for `key`, but whose tensors do not.
template <typename T>
std::vector<std::byte> with_metadata(std::string_view key, T value, test::TinyModelOptions options = tiny_options("llama")) {
  test::GgufWriter writer = test::write_tiny_model(options);
  std::vector<std::byte> bytes = writer.finish();
  const auto at = std::search(bytes.begin(), bytes.end(), key.begin(), key.end(),
                              [](std::byte b, char c) { return b == static_cast<std::byte>(c); });
  if (at == bytes.end()) {
    writer.add(key, value);
    return writer.finish();
  }
  std::memcpy(&*at + key.size() + sizeof(std::uint32_t), &value, sizeof(value));
  return bytes;
}

TEST(LoadTest, F22HyperParametersThatDoNotFit) {
  expect_refused(with_metadata("llama.attention.head_count", 0u), ErrorCode::malformed, {"llama.attention.head_count", "0"});
  expect_refused(with_metadata("llama.attention.head_count_kv", 8u), ErrorCode::malformed, {"head_count_kv", "8", "4"});
  expect_refused(with_metadata("llama.attention.head_count_kv", 3u), ErrorCode::malformed, {"head_count_kv", "3", "4"});
  expect_refused(with_metadata("llama.attention.head_count", 5u), ErrorCode::malformed, {"head_count"});
  expect_refused(with_metadata("llama.embedding_length", 63u), ErrorCode::malformed, {"llama.embedding_length", "63", "4"});
  expect_refused(with_metadata("llama.embedding_length", 128u), ErrorCode::malformed, {"64", "128"});
  expect_refused(with_metadata("llama.embedding_length", 0u), ErrorCode::malformed, {"llama.embedding_length"});
  expect_refused(with_metadata("llama.block_count", 1u), ErrorCode::unsupported, {"blk.1.", "1 layers"});
  expect_refused(with_metadata("llama.block_count", 3u), ErrorCode::not_found, {"blk.2."});
  expect_refused(with_metadata("llama.block_count", 0xffffffffu), ErrorCode::malformed, {"llama.block_count"});
  expect_refused(with_metadata("llama.context_length", 0xffffffffu), ErrorCode::malformed,
                 {"llama.context_length", "4294967295"});
  expect_refused(with_metadata("llama.context_length", 0u), ErrorCode::malformed, {"llama.context_length"});
  expect_refused(with_metadata("llama.rope.dimension_count", 18u), ErrorCode::malformed,
                 {"llama.rope.dimension_count", "18", "16"});
  expect_refused(with_metadata("llama.rope.dimension_count", 7u), ErrorCode::malformed, {"llama.rope.dimension_count"});
  expect_refused(with_metadata("llama.feed_forward_length", 97u), ErrorCode::malformed, {"ffn_gate", "97", "96"});
  expect_refused(with_metadata("llama.attention.layer_norm_rms_epsilon", 0.0f), ErrorCode::malformed, {"epsilon"});
  expect_refused(with_metadata("llama.attention.layer_norm_rms_epsilon", std::numeric_limits<float>::quiet_NaN()),
                 ErrorCode::malformed, {"epsilon"});
  expect_refused(with_metadata("llama.rope.freq_base", -1.0f), ErrorCode::malformed, {"freq_base"});
  expect_refused(with_metadata("llama.rope.scaling.type", "yarn"), ErrorCode::unsupported, {"yarn"});
  expect_refused(with_metadata("llama.expert_count", 8u), ErrorCode::unsupported, {"expert_count"});
  expect_refused(with_metadata("llama.attention.sliding_window", 4096u), ErrorCode::unsupported, {"sliding_window", "4096"});
  expect_refused(with_metadata("llama.logit_scale", 0.5f), ErrorCode::unsupported, {"logit_scale"});
  EXPECT_TRUE(load(with_metadata("llama.expert_count", 0u)));  // as many files have it
  EXPECT_TRUE(load(with_metadata("llama.logit_scale", 0.0f)));
  expect_refused(with_metadata("gemma3.attention.sliding_window", 0u, tiny_options("gemma3")), ErrorCode::malformed,
                 {"sliding_window"});
}

TEST(LoadTest, F16VocabularyAndEmbeddingRows) {
  test::TinyModelOptions options = tiny_options("llama");
  options.embedding_rows = options.vocabulary - 2;
  expect_refused(test::make_tiny_model(options), ErrorCode::malformed, {"390", "388", "token_embd.weight"});

  options.embedding_rows = options.vocabulary + 2;
  const auto model = load(test::make_tiny_model(options)).value();
  EXPECT_EQ(model->info().vocabulary_size, 390u);
  Session session = Session::create(model).value();
  EXPECT_EQ(session.feed(Token{390}).error().code, ErrorCode::invalid_argument);
  session.feed(Token{5}).value();
  EXPECT_EQ(session.logits().vocabulary_size(), 390u);
  EXPECT_EQ(session.logits().all().value().size(), 390u);  // 390 and 391 have no logit, and so can never be chosen
}

TEST(LoadTest, OtherArchitecturesAreUnsupported) {
  test::GgufWriter writer;
  writer.add("general.architecture", "rwkv9");
  expect_refused(writer.finish(), ErrorCode::unsupported, {"rwkv9", "llama", "gemma3"});
  expect_refused(test::GgufWriter().finish(), ErrorCode::not_found, {"general.architecture"});
}

TEST(LoadTest, FilesCutShortOrOfChanceAreErrors) {
  const std::vector<std::byte> whole = test::make_tiny_model(tiny_options("llama"));
  for (std::size_t size = 0; size < whole.size(); size = size < 4096 ? size + 61 : size + whole.size() / 23) {
    EXPECT_FALSE(load({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)})) << size;
  }
  const auto cut = load({whole.begin(), whole.end() - 1});
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().code, ErrorCode::file_truncated) << cut.error().message;
  std::mt19937 random(5);
  for (int i = 0; i < 50; ++i) {
    std::vector<std::byte> bytes(random() % 5000);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    if (i % 2 == 0 && bytes.size() > 8) std::memcpy(bytes.data(), "GGUF\3\0\0\0", 8);
    EXPECT_FALSE(load(bytes));
  }
  // Bytes flipped in the header: an error or a model, never anything else.
  for (int i = 0; i < 200; ++i) {
    std::vector<std::byte> bytes = whole;
    for (int flips = 0; flips < 3; ++flips) bytes[random() % 12000] = static_cast<std::byte>(random());
    const auto model = load(std::move(bytes));
    if (!model) continue;
    auto session = Session::create(*model, {.context_tokens = 16});
    if (session) (void)session->feed(test::some_tokens(3)).has_value();
  }
}

TEST(LoadTest, AFileThatShrinksWhileItIsReadIsAnError) {
  const std::vector<std::byte> whole = test::make_tiny_model(tiny_options("llama"));
  const test::TempDir folder;
  const std::filesystem::path path = folder.write("shrinks.gguf", whole);
  bool shrunk = false;
  const auto model = Model::load(path, {.threads = 1, .progress = [&](double fraction) {
                                          if (shrunk || fraction < 0.2) return;
                                          std::filesystem::resize_file(path, whole.size() / 4);
                                          shrunk = true;
                                        }});
  ASSERT_TRUE(shrunk);
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, ErrorCode::file_truncated) << model.error().message;
  EXPECT_NE(model.error().message.find("shrinks.gguf"), std::string::npos);
}

class ThrowingSource final : public ByteSource {
 public:
  explicit ThrowingSource(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}
  std::uint64_t size() const noexcept override { return bytes_.size(); }
  std::string_view name() const noexcept override { return "throwing"; }

 protected:
  Result<std::size_t> read_some(std::uint64_t offset, std::span<std::byte> out) const override {
    if (offset > bytes_.size() / 2) throw std::logic_error("the disk is on fire");  // on a thread of the pool
    std::memcpy(out.data(), bytes_.data() + offset, out.size());
    return out.size();
  }

 private:
  std::vector<std::byte> bytes_;
};

TEST(LoadTest, WhatCallbacksThrowIsAnError) {
  const std::vector<std::byte> whole = test::make_tiny_model(tiny_options("llama"));
  const auto model = Model::load(std::make_shared<ThrowingSource>(whole), {.threads = 2});
  ASSERT_FALSE(model);
  EXPECT_NE(model.error().message.find("the disk is on fire"), std::string::npos) << model.error().message;
  for (const double at : {0.0, 0.4, 1.0}) {
    const auto thrown = load(whole, {.threads = 2, .progress = [at](double fraction) {
                                       if (fraction >= at) throw std::runtime_error("no more");
                                     }});
    ASSERT_FALSE(thrown);
    EXPECT_EQ(thrown.error().code, ErrorCode::callback_failed);
  }
}

TEST(LoadTest, A04ProgressAndCancel) {
  const std::vector<std::byte> whole = test::make_tiny_model(tiny_options("llama"));
  std::vector<double> seen;
  const auto model = load(whole, {.threads = 1, .progress = [&](double fraction) { seen.push_back(fraction); }}).value();
  ASSERT_GE(seen.size(), 4u);
  EXPECT_EQ(seen.front(), 0.0);
  EXPECT_EQ(seen.back(), 1.0);
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 1.0), 1);
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  for (const double at : {0.0, 0.5, 1.0}) {
    StopSource source;
    std::size_t calls_after = 0;
    const auto cancelled = load(whole, {.threads = 1,
                                        .progress =
                                            [&](double fraction) {
                                              calls_after += source.stop_requested() ? 1 : 0;
                                              if (fraction >= at) source.request_stop();
                                            },
                                        .stop = source.token()});
    ASSERT_FALSE(cancelled);
    EXPECT_EQ(cancelled.error().code, ErrorCode::cancelled);
    EXPECT_EQ(calls_after, 0u);
  }
}

TEST(LoadTest, A09ThreadCounts) {
  const std::vector<std::byte> whole = test::make_tiny_model(tiny_options("llama"));
  for (const int threads : {-1, std::numeric_limits<int>::min(), 100'000, std::numeric_limits<int>::max()}) {
    const auto model = load(whole, {.threads = threads});
    ASSERT_FALSE(model);
    EXPECT_EQ(model.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(model.error().message.find(std::to_string(threads)), std::string::npos) << model.error().message;
  }
  const int many = 4 * static_cast<int>(std::thread::hardware_concurrency());
  for (const int threads : {0, 1, 3, many}) {
    const auto model = load(whole, {.threads = threads}).value();
    EXPECT_EQ(model->thread_pool().threads(), threads == 0 ? model->thread_pool().threads() : static_cast<std::size_t>(threads));
    EXPECT_GE(model->thread_pool().threads(), 1u);
    Session session = Session::create(model).value();
    session.feed(test::some_tokens(20)).value();
    EXPECT_TRUE(session.logits().all());
  }
}

TEST(LoadTest, A12PathsThatAreNotAscii) {
  const std::vector<std::byte> whole = test::make_tiny_model(tiny_options("llama"));
  const test::TempDir folder;
  const std::u8string name = u8"Модели_日本";
  std::filesystem::create_directory(folder.path() / name);
  const std::filesystem::path path = folder.write(std::filesystem::path(name) / u8"модель.gguf", whole);
  EXPECT_TRUE(Model::load(path, {.threads = 1}));
  const std::u8string utf8 = path.u8string();
  EXPECT_TRUE(Model::load(std::string(utf8.begin(), utf8.end()), {.threads = 1}));
  EXPECT_TRUE(Model::load(std::string(utf8.begin(), utf8.end()).c_str(), {.threads = 1}));
  const auto missing = Model::load(folder.path() / name / u8"нет.gguf");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::not_found);
  EXPECT_NE(missing.error().message.find("нет.gguf"), std::string::npos);
  EXPECT_FALSE(Model::load(folder.path()));  // a folder
  EXPECT_FALSE(Model::load(std::string()));
}

TEST(LoadTest, OptionsAreValidated) {
  const std::vector<std::byte> whole = test::make_tiny_model(tiny_options("llama"));
  EXPECT_EQ(load(whole, {.threads = 1, .target = "sparc"}).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(Model::load(std::shared_ptr<const ByteSource>()).error().code, ErrorCode::invalid_argument);
  const auto pool = ThreadPool::create({.threads = 2}).value();
  EXPECT_EQ(&load(whole, {.pool = pool}).value()->thread_pool(), pool.get());
}

}  // namespace
}  // namespace rill
