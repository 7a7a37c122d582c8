// The library's first promise: the same bits whatever the threads, the cutting of the work, the company in a batch, the history of
// the cache, the SIMD target and the host's floating-point mode.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "kernels/kernel_table.h"
#include "model/loaded_model.h"
#include "rill/rill.h"
#include "support/host_float_mode.h"
#include "support/real_models.h"
#include "support/tiny_model.h"

namespace rill {
namespace {

using Rows = std::vector<std::vector<float>>;  // logits of positions

struct Subject {
  std::string name;
  std::string architecture;
  ElementType type;
  KvType kv_type = KvType::f16;
  Activations activations = Activations::fast;
};

void PrintTo(const Subject& subject, std::ostream* out) { *out << subject.name; }

std::vector<Subject> subjects() {
  std::vector<Subject> all;
  for (const char* architecture : {"llama", "gemma3"}) {
    for (std::size_t i = 0; i < kElementTypeCount; ++i) {
      const auto type = static_cast<ElementType>(i);
      all.push_back({std::string(architecture) + "_" + info(type).name, architecture, type});
    }
    for (const auto& [name, kv_type] : {std::pair{"f32", KvType::f32}, std::pair{"q8_0", KvType::q8_0}}) {
      all.push_back({std::string(architecture) + "_kv_" + name, architecture, ElementType::q4_1, kv_type});
    }
    for (const ElementType type : {ElementType::q4_1, ElementType::q8_0, ElementType::q6_k}) {
      all.push_back({std::string(architecture) + "_accurate_" + info(type).name, architecture, type, KvType::f16, Activations::accurate});
    }
  }
  return all;
}

std::vector<std::byte> file_of(const Subject& subject) {
  test::TinyModelOptions options = test::tiny_options(subject.architecture, subject.type);
  if (subject.kv_type == KvType::q8_0) options.head_dim = 32;
  return test::make_tiny_model(options);
}

std::shared_ptr<const Model> load(const std::vector<std::byte>& file, const Subject& subject, int threads, const std::string& target = "") {
  return Model::load(borrow_buffer(file).value(), {.threads = threads, .activations = subject.activations, .target = target}).value();
}

Session start(const std::shared_ptr<const Model>& model, const Subject& subject, std::size_t prefill_chunk = 256) {
  return Session::create(model, {.kv_type = subject.kv_type, .prefill_chunk = prefill_chunk}).value();
}

std::vector<Token> tokens_of(const Model& model, std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Token> tokens(count);
  for (Token& token : tokens) token = static_cast<Token>(random() % model.info().vocabulary_size);
  return tokens;
}

void append_logits(const Session& session, std::size_t kept, Rows& rows) {
  for (std::size_t i = 0; i < kept; ++i) rows.push_back(session.logits(i).value().all().value());
}

// Logits of every position, fed in pieces.
Rows feed_in_pieces(Session& session, std::span<const Token> tokens, std::size_t piece) {
  Rows rows;
  for (std::size_t at = 0; at < tokens.size(); at += piece) {
    const auto part = tokens.subspan(at, std::min(piece, tokens.size() - at));
    session.feed(part, {.keep = {.mode = Keep::Mode::all}}).value();
    append_logits(session, part.size(), rows);
  }
  return rows;
}

void expect_same_bits(const Rows& expected, const Rows& actual) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(actual[i].size(), expected[i].size());
    ASSERT_EQ(std::memcmp(actual[i].data(), expected[i].data(), expected[i].size() * sizeof(float)), 0) << "position " << i;
  }
}

class BitsTest : public testing::TestWithParam<Subject> {
 protected:
  static constexpr std::size_t kTokens = 70;  // over several pages and Gemma's tiny window
  void SetUp() override {
    file_ = file_of(GetParam());
    model_ = load(file_, GetParam(), 1);
    tokens_ = tokens_of(*model_, kTokens, 11);
    Session session = start(model_, GetParam());
    expected_ = feed_in_pieces(session, tokens_, kTokens);
  }

  std::vector<std::byte> file_;
  std::shared_ptr<const Model> model_;
  std::vector<Token> tokens_;
  Rows expected_;
};

INSTANTIATE_TEST_SUITE_P(TinyModels, BitsTest, testing::ValuesIn(subjects()), [](const auto& param) { return param.param.name; });

TEST_P(BitsTest, DoNotDependOnThreadsOrPieces) {
  for (const int threads : {1, 2, 3}) {
    const auto model = load(file_, GetParam(), threads);
    for (const std::size_t piece : {1, 7, 16, 64, 70}) {
      Session session = start(model, GetParam());
      SCOPED_TRACE(testing::Message() << threads << " threads, pieces of " << piece);
      expect_same_bits(expected_, feed_in_pieces(session, tokens_, piece));
    }
    for (const std::size_t chunk : {1, 5, 32}) {
      Session session = start(model, GetParam(), chunk);
      SCOPED_TRACE(testing::Message() << threads << " threads, prefill_chunk " << chunk);
      expect_same_bits(expected_, feed_in_pieces(session, tokens_, kTokens));
    }
  }
}

TEST_P(BitsTest, DoNotDependOnTheTarget) {
  const auto tables = kernels::available_tables();
  for (const kernels::KernelTable* table : tables) {
    if (table->numerics_class != model_->loaded().kernels->numerics_class) continue;
    const auto model = load(file_, GetParam(), 2, table->name);
    for (const std::size_t piece : {1, 9, 70}) {
      Session session = start(model, GetParam());
      SCOPED_TRACE(testing::Message() << table->name << ", pieces of " << piece);
      expect_same_bits(expected_, feed_in_pieces(session, tokens_, piece));
    }
  }
}

TEST_P(BitsTest, DoNotDependOnTheCompanyInABatch) {
  const auto model = load(file_, GetParam(), 2);
  for (const std::size_t others : {0, 1, 4, 7}) {
    std::vector<Session> sessions;
    std::vector<std::vector<Token>> prompts;
    for (std::size_t i = 0; i <= others; ++i) {
      sessions.push_back(start(model, GetParam()));
      prompts.push_back(i == others / 2 ? tokens_ : tokens_of(*model, 3 + 11 * i, static_cast<unsigned>(100 + i)));
    }
    // A ragged prefill of the first 60, then steps of one token each.
    Rows rows;
    const std::size_t mine = others / 2;
    std::vector<FeedItem> items;
    for (std::size_t i = 0; i <= others; ++i) {
      const auto part = i == mine ? std::span<const Token>(tokens_).first(60) : std::span<const Token>(prompts[i]);
      items.push_back({&sessions[i], part, {.mode = Keep::Mode::all}});
    }
    feed_batch(items).value();
    append_logits(sessions[mine], 60, rows);
    for (std::size_t at = 60; at < tokens_.size(); ++at) {
      for (std::size_t i = 0; i <= others; ++i) items[i] = {&sessions[i], {&tokens_[i == mine ? at : at - i - 1], 1}, {}};
      feed_batch(items).value();
      append_logits(sessions[mine], 1, rows);
    }
    SCOPED_TRACE(testing::Message() << "beside " << others);
    expect_same_bits(expected_, rows);
  }
}

TEST_P(BitsTest, SurviveTruncationAndForks) {
  const auto model = load(file_, GetParam(), 2);
  Session session = start(model, GetParam());
  feed_in_pieces(session, tokens_, 70);
  for (const std::size_t length : {66u, 50u, 17u, 16u, 1u, 0u}) {
    session.truncate(length, {.refill = true}).value();
    feed_in_pieces(session, tokens_of(*model, 3, 5), 3);  // something else, taken back again
    session.truncate(length, {.refill = true}).value();
    SCOPED_TRACE(testing::Message() << "truncated to " << length);
    const Rows rows = feed_in_pieces(session, std::span<const Token>(tokens_).subspan(length), 9);
    expect_same_bits({expected_.begin() + static_cast<std::ptrdiff_t>(length), expected_.end()}, rows);
  }

  Session parent = start(model, GetParam());
  feed_in_pieces(parent, std::span<const Token>(tokens_).first(37), 37);
  Session child = parent.fork().value();
  expect_same_bits({expected_[36]}, {child.logits().all().value()});
  feed_in_pieces(child, tokens_of(*model, 20, 6), 20);  // on pages that the parent shares
  const Rows rows = feed_in_pieces(parent, std::span<const Token>(tokens_).subspan(37), 8);
  expect_same_bits({expected_.begin() + 37, expected_.end()}, rows);
}

TEST_P(BitsTest, OfSomeRowsAreThoseOfTheWholeHead) {
  Session session = start(model_, GetParam());
  session.feed(tokens_).value();
  std::mt19937 random(3);
  for (const std::size_t count : {1, 2, 17, 200}) {
    std::vector<Token> ids;
    for (Token id = 0; id < static_cast<Token>(expected_.back().size()) && ids.size() < count; ++id) {
      if (random() % 2 == 0) ids.push_back(id);
    }
    std::vector<float> some(ids.size());
    session.logits().rows(ids, some).value();
    for (std::size_t i = 0; i < ids.size(); ++i) {
      ASSERT_EQ(std::memcmp(&some[i], &expected_.back()[static_cast<std::size_t>(ids[i])], sizeof(float)), 0) << ids[i];
    }
  }
}

TEST_P(BitsTest, DoNotDependOnTheHostsFloatingPointMode) {
  for (const test::HostFloatMode mode : test::kHostFloatModes) {
    const test::ScopedHostFloatMode host(mode);
    const auto model = load(file_, GetParam(), 2);
    Session session = start(model, GetParam());
    const Rows rows = feed_in_pieces(session, tokens_, 13);
    expect_same_bits(expected_, rows);
    EXPECT_TRUE(host.unchanged());
  }
}

// The same promises on a real model, for the logits of the last positions of a prompt of some pages.
class BitsOnSmolLM2Test : public testing::Test {
 protected:
  static constexpr std::size_t kTokens = 300;
  static constexpr std::size_t kCompared = 4;  // last positions

  void SetUp() override {
    RILL_REQUIRE_MODEL(path, "SmolLM2-135M-Instruct.Q4_1.gguf");
    path_ = path;
    model_ = load_real(2);
    tokens_ = tokens_of(*model_, kTokens, 21);
    expected_ = run(load_real(1), kTokens);
  }

  std::shared_ptr<const Model> load_real(int threads, const std::string& target = "") const {
    return Model::load(path_, {.threads = threads, .target = target}).value();
  }
  Session start_real(const std::shared_ptr<const Model>& model) const { return Session::create(model).value(); }
  std::span<const Token> prompt() const { return std::span(tokens_).first(kTokens - kCompared); }
  std::span<const Token> compared() const { return std::span(tokens_).last(kCompared); }

  Rows decode(Session& session) const {
    Rows rows;
    for (const Token& token : compared()) {
      session.feed(token).value();
      append_logits(session, 1, rows);
    }
    return rows;
  }
  Rows run(const std::shared_ptr<const Model>& model, std::size_t piece) const {
    Session session = start_real(model);
    for (std::size_t at = 0; at < prompt().size(); at += piece) {
      session.feed(prompt().subspan(at, std::min(piece, prompt().size() - at))).value();
    }
    return decode(session);
  }

  std::filesystem::path path_;
  std::shared_ptr<const Model> model_;
  std::vector<Token> tokens_;
  Rows expected_;
};

TEST_F(BitsOnSmolLM2Test, DoNotDependOnThreadsPiecesOrTarget) {
  for (const int threads : {1, 2, 3}) {
    const auto model = load_real(threads);
    for (const std::size_t piece : {7, 16, 64, 300}) expect_same_bits(expected_, run(model, piece));
  }
  expect_same_bits(expected_, run(model_, 1));
  for (const kernels::KernelTable* table : kernels::available_tables()) {
    if (table->numerics_class != kernels::NumericsClass::fma) continue;
    SCOPED_TRACE(table->name);
    expect_same_bits(expected_, run(load_real(2, table->name), 64));
  }
}

TEST_F(BitsOnSmolLM2Test, DoNotDependOnCompanyTruncationForksOrMasks) {
  std::vector<Session> sessions;
  std::vector<std::vector<Token>> others;
  std::vector<FeedItem> items;
  for (unsigned i = 0; i < 5; ++i) {
    sessions.push_back(start_real(model_));
    others.push_back(tokens_of(*model_, 20 + 13 * i, i));
  }
  for (std::size_t i = 0; i < 5; ++i) items.push_back({&sessions[i], i == 2 ? prompt() : std::span<const Token>(others[i])});
  feed_batch(items).value();
  Rows beside;
  for (const Token& token : compared()) {
    for (std::size_t i = 0; i < 5; ++i) items[i] = {&sessions[i], {i == 2 ? &token : &others[i][0], 1}};
    feed_batch(items).value();
    append_logits(sessions[2], 1, beside);
  }
  expect_same_bits(expected_, beside);

  Session session = start_real(model_);
  session.feed(prompt()).value();
  Session forked = session.fork().value();
  session.feed(tokens_of(*model_, 40, 9)).value();
  expect_same_bits(expected_, decode(forked));
  session.truncate(100).value();
  session.feed(prompt().subspan(100)).value();
  expect_same_bits(expected_, decode(session));

  const std::vector<Token> ids = {0, 1, 17, 4000, 49151};
  std::vector<float> some(ids.size());
  session.logits().rows(ids, some).value();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    EXPECT_EQ(std::memcmp(&some[i], &expected_.back()[static_cast<std::size_t>(ids[i])], sizeof(float)), 0) << ids[i];
  }
}

TEST_F(BitsOnSmolLM2Test, DoNotDependOnTheHostsFloatingPointMode) {
  const test::ScopedHostFloatMode host(test::HostFloatMode::flush_denormals);
  expect_same_bits(expected_, run(load_real(2), 64));
}

}  // namespace
}  // namespace rill
