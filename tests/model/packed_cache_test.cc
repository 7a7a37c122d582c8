// The packed cache: the same bits with it and without, and nothing but a message when it does not serve.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <set>
#include <thread>

#include "rill/rill.h"
#include "support/scripted.h"
#include "support/temp_dir.h"

namespace rill {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::byte>;
using test::tiny_options;

// Layout of the file, as its header says it.
constexpr std::size_t kHeaderBytes = 48;
constexpr std::size_t kKeyBytesOffset = 32;
constexpr std::size_t kWeightsOffset = 4096;

// A model of a few MiB: several slices under a checksum of their own.
Bytes large_model(std::uint64_t seed = 1) {
  test::TinyModelOptions options = tiny_options("llama");
  options.embedding = 256;
  options.heads = 16;  // of 16 elements: 8 rope frequencies, and a gap after them
  options.feed_forward = 512;
  options.rope_frequencies = true;
  options.seed = seed;
  return test::make_tiny_model(options);
}

Bytes read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const auto bytes = std::as_bytes(std::span(text));
  return Bytes(bytes.begin(), bytes.end());
}

// Has a version, and counts what is read.
class VersionedSource final : public ByteSource {
 public:
  explicit VersionedSource(Bytes bytes, std::int64_t version = 1) : bytes_(std::move(bytes)), version_(version) {}

  std::uint64_t size() const noexcept override { return bytes_.size(); }
  std::string_view name() const noexcept override { return "model"; }
  std::optional<std::int64_t> version() const noexcept override { return version_; }
  std::size_t bytes_read() const { return bytes_read_; }

 protected:
  Result<std::size_t> read_some(std::uint64_t offset, std::span<std::byte> out) const override {
    std::memcpy(out.data(), bytes_.data() + offset, out.size());
    bytes_read_ += out.size();
    return out.size();
  }

 private:
  Bytes bytes_;
  std::int64_t version_;
  mutable std::atomic<std::size_t> bytes_read_{0};
};

std::vector<float> logits_of(const std::shared_ptr<const Model>& model) {
  Session session = Session::create(model, {.context_tokens = 64}).value();
  session.feed(test::some_tokens(20)).value();
  return session.logits().all().value();
}

class PackedCacheTest : public testing::Test {
 protected:
  struct Loaded {
    std::vector<float> logits;
    std::string digest;
    std::vector<std::string> warnings;
    std::size_t bytes_read = 0;  // of the model file
  };

  Loaded load(const Bytes& file, std::int64_t version = 1, int threads = 2) {
    const auto source = std::make_shared<VersionedSource>(file, version);
    Loaded loaded;
    const auto log = [&](LogLevel level, std::string_view message) {
      if (level >= LogLevel::warning) loaded.warnings.emplace_back(message);
    };
    const auto model = Model::load(source, {.threads = threads, .packed_cache = cache_, .log = log}).value();
    loaded.bytes_read = source->bytes_read();
    loaded.logits = logits_of(model);
    loaded.digest = model->digest();
    return loaded;
  }

  // The cache is read and nothing is said of it.
  void expect_served(const Bytes& file, const Loaded& expected) {
    const Loaded loaded = load(file);
    EXPECT_EQ(loaded.warnings, std::vector<std::string>());
    EXPECT_LE(loaded.bytes_read, 500'000u);  // one buffer of the reader of the head, and samples
    EXPECT_EQ(loaded.logits, expected.logits);
    EXPECT_EQ(loaded.digest, expected.digest);
  }

  // The cache is not used, the log names it, and it serves afterwards.
  void expect_replaced(const Bytes& file, const Loaded& expected, const std::string& what) {
    SCOPED_TRACE(what);
    const Loaded loaded = load(file);
    ASSERT_EQ(loaded.warnings.size(), 1u);
    EXPECT_NE(loaded.warnings[0].find("weights.packed"), std::string::npos) << loaded.warnings[0];
    EXPECT_EQ(loaded.logits, expected.logits);
    EXPECT_EQ(loaded.digest, expected.digest);
    expect_served(file, expected);
  }

  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_.path()), fs::directory_iterator()));
  }

  const test::TempDir folder_;
  const fs::path cache_ = folder_.path() / "weights.packed";
};

TEST_F(PackedCacheTest, TheSameBitsWithItAndWithout) {
  for (const char* architecture : {"llama", "gemma3"}) {
    for (const ElementType type : {ElementType::f32, ElementType::bf16, ElementType::q8_0, ElementType::q4_1,
                                   ElementType::q5_0, ElementType::q4_k, ElementType::q6_k}) {
      SCOPED_TRACE(testing::Message() << architecture << ' ' << info(type).name);
      test::TinyModelOptions options = tiny_options(architecture, type);
      options.tied_head = type != ElementType::q8_0;
      options.rope_frequencies = options.architecture == "llama";
      const Bytes file = test::make_tiny_model(options);
      fs::remove(cache_);
      const auto plain = test::load_bytes(file);
      const Loaded first = load(file);
      EXPECT_EQ(first.logits, logits_of(plain));
      EXPECT_EQ(first.digest, plain->digest());
      EXPECT_EQ(first.warnings, std::vector<std::string>());
      expect_served(file, first);
    }
  }
  EXPECT_EQ(files(), 1u);
}

TEST_F(PackedCacheTest, ServesAnyOptionsAndIsNotWrittenAgain) {
  const Bytes file = large_model();
  const Loaded first = load(file);
  const Bytes written = read_file(cache_);
  EXPECT_GT(written.size(), kWeightsOffset + (2u << 20));
  const auto time = fs::last_write_time(cache_);
  EXPECT_EQ(load(file, 1, 1).logits, first.logits);
  EXPECT_EQ(load(file, 1, 3).logits, first.logits);
  const auto source = std::make_shared<VersionedSource>(file);
  const ModelOptions options = {
      .threads = 1, .activations = Activations::accurate, .target = "scalar", .packed_cache = cache_};
  const auto model = Model::load(source, options).value();
  EXPECT_LE(source->bytes_read(), 500'000u);
  EXPECT_EQ(model->digest(), first.digest);
  EXPECT_EQ(read_file(cache_), written);
  EXPECT_EQ(fs::last_write_time(cache_), time);
}

TEST_F(PackedCacheTest, ACutFileIsReplaced) {
  const Bytes file = large_model();
  const Loaded expected = load(file);
  const Bytes whole = read_file(cache_);
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{8}, kHeaderBytes - 1, kHeaderBytes, kHeaderBytes + 9,
        kWeightsOffset - 1, kWeightsOffset, kWeightsOffset + 1, whole.size() / 2, whole.size() - 1}) {
    folder_.write("weights.packed", std::span(whole).first(size));
    expect_replaced(file, expected, "cut to " + std::to_string(size));
    EXPECT_EQ(read_file(cache_), whole);
  }
  Bytes longer = whole;
  longer.push_back(std::byte{0});
  folder_.write("weights.packed", longer);
  expect_replaced(file, expected, "longer");
}

TEST_F(PackedCacheTest, AFlippedBitIsNoticedWhereverItIs) {
  const Bytes file = large_model();
  const Loaded expected = load(file);
  const Bytes whole = read_file(cache_);
  const std::size_t slices = (whole.size() - kWeightsOffset + (1 << 20) - 1) >> 20;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < kHeaderBytes + 8 * slices; ++i) places.push_back(i);
  for (std::size_t i = 0; i < slices; ++i) places.push_back(kWeightsOffset + (i << 20) + i * 997);
  places.push_back(kWeightsOffset);
  places.push_back(whole.size() - 1);
  for (std::size_t i = 0; i < places.size(); ++i) {
    Bytes damaged = whole;
    damaged[places[i]] ^= std::byte{1} << i % 8;
    folder_.write("weights.packed", damaged);
    expect_replaced(file, expected, "bit of byte " + std::to_string(places[i]));
  }
}

TEST_F(PackedCacheTest, AnyOtherContentIsReplaced) {
  const Bytes file = large_model(), other = large_model(2);
  load(other);
  const Bytes of_other = read_file(cache_);
  fs::remove(cache_);
  const Loaded expected = load(file);
  const Bytes whole = read_file(cache_);
  ASSERT_EQ(of_other.size(), whole.size());

  folder_.write("weights.packed", of_other);
  expect_replaced(file, expected, "another model's");
  Bytes mixed = whole;
  std::copy(of_other.begin() + kWeightsOffset, of_other.end(), mixed.begin() + kWeightsOffset);
  folder_.write("weights.packed", mixed);
  expect_replaced(file, expected, "another model's weights under this one's header");
  mixed = whole;  // all vectors, and the gaps between them, lie in the last slice
  std::fill(mixed.end() - 16'384, mixed.end(), std::byte{0x7f});
  folder_.write("weights.packed", mixed);
  expect_replaced(file, expected, "an end of other floats");
  folder_.write("weights.packed", Bytes(whole.size()));
  expect_replaced(file, expected, "zeros");
  folder_.write(
      "weights.packed",
      std::as_bytes(std::span(std::string_view("a text that somebody keeps here, of more bytes than a header"))));
  expect_replaced(file, expected, "a text");
  for (const std::uint64_t bytes :
       {std::uint64_t{0}, std::uint64_t{1} << 40, std::numeric_limits<std::uint64_t>::max()}) {
    Bytes absurd = whole;
    std::memcpy(absurd.data() + kKeyBytesOffset, &bytes, sizeof(bytes));
    folder_.write("weights.packed", absurd);
    expect_replaced(file, expected, "size " + std::to_string(bytes));
  }
}

TEST_F(PackedCacheTest, AChangeOfTheModelFileInvalidatesIt) {
  const Bytes file = large_model();
  const Loaded expected = load(file);
  const auto expect_refused = [&](const Loaded& loaded) {
    ASSERT_EQ(loaded.warnings.size(), 1u);
    EXPECT_GT(loaded.bytes_read, file.size() / 2);
  };
  expect_refused(load(file, 2));  // modified
  expect_refused(load(file, 1));
  Bytes longer = file;
  longer.resize(longer.size() + 32);
  expect_refused(load(longer));
  Bytes renamed = file;  // one letter of the metadata
  constexpr std::string_view kKey = "general.name";
  const auto key = std::search(renamed.begin(), renamed.end(), kKey.begin(), kKey.end(),
                               [](std::byte b, char c) { return b == static_cast<std::byte>(c); });
  ASSERT_NE(key, renamed.end());
  key[static_cast<std::ptrdiff_t>(kKey.size()) + 4 + 8] ^= std::byte{1};
  const Loaded other_head = load(renamed);
  expect_refused(other_head);
  EXPECT_EQ(other_head.logits, expected.logits);
  EXPECT_NE(other_head.digest, expected.digest);
}

TEST_F(PackedCacheTest, FollowsAFile) {
  const fs::path path = folder_.write("model.gguf", large_model());
  std::size_t warnings = 0;
  const ModelOptions options = {
      .threads = 1, .packed_cache = cache_, .log = [&](LogLevel, std::string_view) { ++warnings; }};
  const auto first = Model::load(path, options).value();
  EXPECT_EQ(Model::load(path, options).value()->digest(), first->digest());
  EXPECT_EQ(warnings, 0u);
  const auto time = fs::last_write_time(path);
  folder_.write("model.gguf", large_model(2));  // of the same size and head
  fs::last_write_time(path, time);
  const auto second = Model::load(path, options).value();
  EXPECT_EQ(warnings, 1u);
  EXPECT_NE(second->digest(), first->digest());
  EXPECT_EQ(logits_of(second), logits_of(test::load_bytes(large_model(2))));
}

TEST_F(PackedCacheTest, TheLoadGoesOnWhereItCannotBe) {
  const Bytes file = large_model();
  const std::vector<float> expected = logits_of(test::load_bytes(file));
  folder_.write("a file", Bytes(3));
  fs::create_directories(folder_.path() / "a folder");
  for (const char* name : {"missing/weights.packed", "a file/weights.packed", "a folder"}) {
    std::vector<std::string> warnings;
    const auto log = [&](LogLevel, std::string_view message) { warnings.emplace_back(message); };
    const auto source = std::make_shared<VersionedSource>(file);
    const ModelOptions options = {.threads = 1, .packed_cache = folder_.path() / name, .log = log};
    EXPECT_EQ(logits_of(Model::load(source, options).value()), expected);
    ASSERT_EQ(warnings.size(), 1u);
    EXPECT_NE(warnings[0].find(fs::path(name).filename().string()), std::string::npos) << warnings[0];
  }
  EXPECT_EQ(files(), 2u);  // nothing is added
  EXPECT_TRUE(fs::is_empty(folder_.path() / "a folder"));
}

TEST_F(PackedCacheTest, WritersAtOnceDoNotMeet) {
  const Bytes file = large_model();
  const Loaded expected = load(file);
  for (int round = 0; round < 5; ++round) {
    fs::remove(cache_);
    std::vector<Loaded> loaded(4);
    std::vector<std::thread> threads;
    for (Loaded& own : loaded) threads.emplace_back([&] { own = load(file, 1, 1); });
    for (std::thread& thread : threads) thread.join();
    for (const Loaded& own : loaded) {
      EXPECT_EQ(own.logits, expected.logits);
      EXPECT_EQ(own.warnings, std::vector<std::string>());
    }
    EXPECT_EQ(files(), 1u);
    expect_served(file, expected);
  }
}

TEST_F(PackedCacheTest, ProgressAndCancellation) {
  const Bytes file = large_model();
  const auto load_with = [&](std::function<void(double)> progress, StopToken stop = {}) {
    const auto source = std::make_shared<VersionedSource>(file);
    return Model::load(
        source, {.threads = 1, .progress = std::move(progress), .stop = std::move(stop), .packed_cache = cache_});
  };
  const auto expect_progress = [&](const char* what, std::size_t least) {
    SCOPED_TRACE(what);
    std::vector<double> seen;
    ASSERT_TRUE(load_with([&](double fraction) { seen.push_back(fraction); }));
    EXPECT_GE(seen.size(), least);
    EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
    EXPECT_EQ(seen.front(), 0.0);
    EXPECT_EQ(seen.back(), 1.0);
    EXPECT_EQ(std::count(seen.begin(), seen.end(), 1.0), 1);
  };
  // Stopped at any report, by the token or by an exception: an error, and no file.
  std::size_t reports = 0;
  for (std::size_t stop_at = 0, seen = 0; stop_at <= seen; ++stop_at) {
    for (const bool throws : {false, true}) {
      fs::remove(cache_);
      StopSource source;
      seen = 0;
      const auto loaded = load_with(
          [&](double) {
            if (seen++ != stop_at) return;
            if (throws) throw std::runtime_error("no more");
            source.request_stop();
          },
          source.token());
      reports = std::max(reports, seen);
      if (stop_at >= seen) continue;  // it was not stopped
      ASSERT_FALSE(loaded);
      EXPECT_EQ(loaded.error().code, throws ? ErrorCode::callback_failed : ErrorCode::cancelled);
      EXPECT_EQ(files(), fs::exists(cache_) ? 1u : 0u);
    }
  }
  EXPECT_GE(reports, 6u);
  fs::remove(cache_);
  expect_progress("packed and written", 6);
  expect_progress("read", 3);
  Bytes damaged = read_file(cache_);
  damaged.back() ^= std::byte{1};
  folder_.write("weights.packed", damaged);
  expect_progress("read in vain", 3);
}

TEST_F(PackedCacheTest, WhatItCannotBe) {
  const Bytes file = large_model();
  const auto buffer = Model::load(own_buffer(file).value(), {.threads = 1, .packed_cache = cache_});
  ASSERT_FALSE(buffer);
  EXPECT_EQ(buffer.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(buffer.error().message.find("no version"), std::string::npos);

  const fs::path path = folder_.write("model.gguf", file);
  const auto itself = Model::load(path, {.threads = 1, .packed_cache = path});
  ASSERT_FALSE(itself);
  EXPECT_EQ(itself.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(read_file(path), file);
  EXPECT_EQ(files(), 1u);
}

}  // namespace
}  // namespace rill
