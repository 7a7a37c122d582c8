// Embeddings and logits against the forward pass in double.
#include "rill/embedding.h"

#include <gtest/gtest.h>

#include <cmath>

#include "gguf/file.h"
#include "rill/session.h"
#include "session/pooling.h"
#include "support/reference_model.h"
#include "support/scripted.h"

namespace rill {
namespace {

using test::code_of;
using test::some_tokens;

struct Shape {
  const char* name;
  test::TinyModelOptions options;
};

void PrintTo(const Shape& shape, std::ostream* out) { *out << shape.name; }

std::vector<Shape> shapes() {
  const auto make = [](const char* name, const char* architecture, auto change) {
    test::TinyModelOptions options = test::tiny_options(architecture);
    change(options);
    return Shape{name, options};
  };
  return {
      make("llama", "llama", [](auto&) {}),
      make("llama_untied", "llama", [](auto& o) { o.tied_head = false; }),
      make("llama_rope_frequencies", "llama", [](auto& o) { o.rope_frequencies = true; }),
      make("llama_heads_of_40", "llama",
           [](auto& o) { o.embedding = 80, o.heads = 2, o.kv_heads = 1, o.head_dim = 40, o.feed_forward = 100; }),
      make("llama_each_head_its_own", "llama", [](auto& o) { o.kv_heads = 4; }),
      make("llama_one_kv_head", "llama", [](auto& o) { o.kv_heads = 1; }),
      make("llama_odd_sizes", "llama",
           [](auto& o) { o.embedding = 54, o.heads = 3, o.kv_heads = 3, o.head_dim = 18, o.feed_forward = 37, o.layers = 1; }),
      make("gemma3", "gemma3", [](auto&) {}),
      make("gemma3_untied", "gemma3", [](auto& o) { o.tied_head = false; }),
      make("gemma3_all_sliding", "gemma3", [](auto& o) { o.layers = 3; }),
      make("gemma3_window_of_one", "gemma3", [](auto& o) { o.sliding_window = 1; }),
      make("gemma3_heads_of_40", "gemma3", [](auto& o) { o.head_dim = 40, o.kv_heads = 2; }),
  };
}

class ReferenceTest : public testing::TestWithParam<Shape> {};
INSTANTIATE_TEST_SUITE_P(Shapes, ReferenceTest, testing::ValuesIn(shapes()),
                         [](const auto& param) { return std::string(param.param.name); });

TEST_P(ReferenceTest, LogitsAreThoseOfTheForwardPassInDouble) {
  const std::vector<std::byte> bytes = test::make_tiny_model(GetParam().options);
  const test::ReferenceModel reference(gguf::File::open({borrow_buffer(bytes).value()}).value());
  const auto model = test::load_bytes(bytes);
  const std::vector<Token> tokens = some_tokens(50);
  Session session = Session::create(model, {.kv_type = KvType::f32, .prefill_chunk = 13}).value();
  session.feed(tokens, {.keep = {.mode = Keep::Mode::all}}).value();
  const auto expected = reference.logits(tokens);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const std::vector<float> logits = session.logits(i).value().all().value();
    ASSERT_EQ(logits.size(), expected[i].size());
    for (std::size_t id = 0; id < logits.size(); ++id) {
      ASSERT_NEAR(static_cast<double>(logits[id]), expected[i][id], 1e-4) << "position " << i << ", token " << id;
    }
  }
}

double cosine(std::span<const float> a, std::span<const double> b) {
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto x = static_cast<double>(a[i]);
    ab += x * b[i], aa += x * x, bb += b[i] * b[i];
  }
  return ab / std::sqrt(aa * bb);
}

double length(std::span<const float> a) {
  double sum = 0;
  for (const float x : a) sum += static_cast<double>(x) * static_cast<double>(x);
  return std::sqrt(sum);
}

TEST_P(ReferenceTest, N08N09EmbeddingsAreThoseOfTheForwardPassInDouble) {
  const std::vector<std::byte> bytes = test::make_tiny_model(GetParam().options);
  const auto hidden = test::ReferenceModel(gguf::File::open({borrow_buffer(bytes).value()}).value()).hidden(some_tokens(30));
  const auto model = test::load_bytes(bytes);
  std::vector<double> mean(hidden[0].size());
  for (const auto& row : hidden) {
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += row[i] / static_cast<double>(hidden.size());
  }
  for (const auto& [pooling, expected] :
       {std::pair{Pooling::mean, mean}, {Pooling::cls, hidden.front()}, {Pooling::last, hidden.back()}}) {
    std::optional<std::vector<float>> first;
    for (const std::size_t chunk : {4u, 512u}) {
      Session session = Session::create(model, {.kv_type = KvType::f32, .prefill_chunk = chunk}).value();
      session.feed(some_tokens(9, 4)).value();
      const auto plain = session.embed(some_tokens(30), {.pooling = pooling, .normalize = false}).value();
      ASSERT_EQ(plain.size(), 1u);
      for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(static_cast<double>(plain[0][i]), expected[i], 1e-4);
      const auto unit = session.embed(some_tokens(30), {.pooling = pooling}).value();
      EXPECT_NEAR(length(unit[0]), 1.0, 1e-6);
      EXPECT_GT(cosine(unit[0], expected), 0.9999999);
      if (!first) first = unit[0];
      EXPECT_EQ(unit[0], *first);  // bit for bit, whatever the chunk
      EXPECT_EQ(session.length(), 9u);
    }
  }
  Session session = Session::create(model, {.kv_type = KvType::f32}).value();
  const auto each = session.embed(some_tokens(30), {.pooling = Pooling::none, .normalize = false}).value();
  ASSERT_EQ(each.size(), 30u);
  for (std::size_t i = 0; i < each.size(); ++i) EXPECT_GT(cosine(each[i], hidden[i]), 0.9999999);
}

TEST(EmbeddingTest, N08DoesNotDependOnTheTextsBesideIt) {
  const auto model = test::load_tiny(test::tiny_options("llama"));
  const Session alone = Session::create(model).value(), busy = Session::create(model).value();
  const auto expected = alone.embed("the rain", {.pooling = Pooling::mean}).value();
  for (const char* other : {"snow", "and the wind", "a"}) {
    EXPECT_NE(busy.embed(other, {.pooling = Pooling::mean}).value(), expected);
    EXPECT_EQ(busy.embed("the rain", {.pooling = Pooling::mean}).value(), expected);
  }
}

TEST(PoolingTest, N08N09PoolsAndNormalizesOnce) {
  const std::vector<float> two = {1, 0, 0, 1}, three = {1, 2, 3};
  std::vector<float> mean = session::pool_hidden(two, 2, Pooling::mean);
  EXPECT_EQ(mean, (std::vector<float>{0.5f, 0.5f}));
  session::normalize(mean);
  for (const float x : mean) EXPECT_NEAR(x, 0.70711, 1e-5);
  EXPECT_EQ(session::pool_hidden(three, 1, Pooling::mean), std::vector<float>{2});
  EXPECT_EQ(session::pool_hidden(three, 1, Pooling::cls), std::vector<float>{1});
  EXPECT_EQ(session::pool_hidden(three, 1, Pooling::last), std::vector<float>{3});
}

TEST(EmbeddingTest, N09UsesTheDeclaredPooling) {
  for (const auto& [number, pooling] :
       {std::pair{0u, Pooling::none}, {1u, Pooling::mean}, {2u, Pooling::cls}, {3u, Pooling::last}}) {
    test::GgufWriter writer = test::write_tiny_model(test::tiny_options("llama"));
    writer.add("llama.pooling_type", number);
    Session session = Session::create(test::load_bytes(writer.finish())).value();
    EXPECT_EQ(session.embed(some_tokens(5)).value(), session.embed(some_tokens(5), {.pooling = pooling}).value());
    EXPECT_NE(session.embed(some_tokens(5)).value(),
              session.embed(some_tokens(5), {.pooling = static_cast<Pooling>((number + 1) % 4)}).value());
  }
  test::GgufWriter writer = test::write_tiny_model(test::tiny_options("llama"));
  writer.add("llama.pooling_type", 4u);
  EXPECT_EQ(code_of(Model::load(own_buffer(writer.finish()).value(), {.threads = 1})), ErrorCode::unsupported);
}

TEST(EmbeddingTest, RefusesWhatItCannotDo) {
  Session session = Session::create(test::load_tiny(test::tiny_options("llama")), {.context_tokens = 20}).value();
  EXPECT_EQ(code_of(session.embed(some_tokens(5))), ErrorCode::invalid_argument);  // no pooling declared
  EXPECT_EQ(code_of(session.embed(some_tokens(21), {.pooling = Pooling::mean})), ErrorCode::context_full);
  EXPECT_EQ(code_of(session.embed("", {.pooling = Pooling::mean})), ErrorCode::invalid_argument);
  EXPECT_EQ(code_of(session.embed(some_tokens(9), {.pooling = Pooling::mean, .stop = test::CountedStop(2)})),
            ErrorCode::cancelled);
  EXPECT_EQ(code_of(session.embed(some_tokens(5), {.pooling = static_cast<Pooling>(9)})), ErrorCode::invalid_argument);
  EXPECT_TRUE(session.embed("the rain", {.pooling = Pooling::mean}));
}

}  // namespace
}  // namespace rill
