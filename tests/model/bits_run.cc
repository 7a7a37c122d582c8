#include "model/bits_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <ostream>
#include <random>
#include <span>

namespace rill::test {
namespace {

constexpr std::size_t kLeavesAt = 48;  // tokens of a sequence of the company, which then starts anew

using Sink = std::function<void(std::size_t position, const Logits& logits)>;

class Run {
 public:
  Run(std::shared_ptr<const Model> model, const Way& way, const Sequence& sequence, const Sink& sink)
      : model_(std::move(model)), way_(way), sequence_(sequence), sink_(sink), mine_(way.batch / 2) {
    for (std::size_t i = 0; i < way_.batch; ++i) {
      sessions_.push_back(start());
      company_.push_back(random_tokens(model_->info().vocabulary_size, 2 + 5 * i, static_cast<unsigned>(100 + i)));
    }
  }

  void all() {
    feed_prompt();
    change_history();
    for (std::size_t at = sequence_.prompt; at < sequence_.tokens.size(); ++at) feed(1);
  }

 private:
  Session start() const {
    const std::size_t chunk = way_.cut == Cut::prefill_chunk ? way_.chunk : SessionOptions().prefill_chunk;
    return Session::create(model_, {.kv_type = way_.kv_type, .prefill_chunk = chunk}).value();
  }
  Session& mine() { return sessions_[mine_]; }

  void feed_prompt() {
    while (mine().length() < sequence_.prompt) {
      const std::size_t left = sequence_.prompt - mine().length();
      feed(way_.cut == Cut::pieces ? std::min(way_.chunk, left) : left);
    }
  }

  void change_history() {
    const std::vector<Token> other = random_tokens(model_->info().vocabulary_size, 20, 99);
    switch (way_.history) {
      case History::straight:
        break;
      case History::rolled_back:
        mine().feed(other).value();
        mine().truncate(sequence_.prompt).value();
        break;
      case History::refilled:
        mine().truncate(sequence_.prompt / 2 + 5, {.refill = true}).value();
        feed_prompt();
        break;
      case History::child_of_fork:
        forked_ = std::exchange(mine(), mine().fork().value());
        forked_->feed(other).value();  // on pages that both hold
        break;
      case History::parent_of_fork:
        forked_ = mine().fork().value();
        forked_->feed(other).value();
        break;
    }
  }

  // The sequence's next tokens, in the company of one token or the prompt of each of the others.
  void feed(std::size_t count) {
    const std::size_t first = mine().length();
    const std::span<const Token> part = std::span(sequence_.tokens).subspan(first, count);
    Keep keep;
    const std::size_t compared = std::max(first, sequence_.compared_from);
    for (std::size_t at = compared; at < first + count; ++at) keep.positions.push_back(at - first);
    if (!keep.positions.empty()) keep.mode = Keep::Mode::positions;

    std::vector<FeedItem> items;
    for (std::size_t i = 0; i < way_.batch; ++i) {
      if (i == mine_) {
        items.push_back({&mine(), part, keep});
      } else if (step_ >= i / 2) {
        if (sessions_[i].length() >= kLeavesAt) sessions_[i] = start();
        const std::span<const Token> tokens = company_[i];
        items.push_back(
            {&sessions_[i], sessions_[i].length() == 0 ? tokens : tokens.subspan(step_ % tokens.size(), 1)});
      }
    }
    ++step_;
    if (items.size() == 1) {
      mine().feed(part, {.keep = keep}).value();
    } else {
      feed_batch(items).value();
    }
    for (std::size_t i = 0; i < keep.positions.size(); ++i) sink_(compared + i, mine().logits(i).value());
  }

  const std::shared_ptr<const Model> model_;
  const Way& way_;
  const Sequence& sequence_;
  const Sink& sink_;
  const std::size_t mine_;  // in the midst of the others
  std::vector<Session> sessions_;
  std::vector<std::vector<Token>> company_;
  std::optional<Session> forked_;
  std::size_t step_ = 0;
};

void run(const Load& load, const Way& way, const Sequence& sequence, const Sink& sink) {
  Run(load({.threads = way.threads, .activations = way.activations, .target = way.target}), way, sequence, sink).all();
}

// Ascending, and the last id of all among them; empty for the whole vocabulary.
std::vector<Token> ids_of(Head head, std::size_t vocabulary_size) {
  const auto size = static_cast<Token>(vocabulary_size);
  if (head == Head::few) return {0, 1, 17, size / 2, size - 1};
  std::vector<Token> ids;
  if (head == Head::half) {
    std::mt19937 random(3);
    for (Token id = 0; id < size; ++id) {
      if (random() % 2 == 0 || id == size - 1) ids.push_back(id);
    }
  }
  return ids;
}

}  // namespace

Rows logits_of(const Load& load, const Way& way, const Sequence& sequence) {
  Rows rows;
  run(load, way, sequence, [&](std::size_t, const Logits& logits) { rows.push_back(logits.all().value()); });
  return rows;
}

std::size_t expect_same_bits(const Load& load, const Way& way, const Sequence& sequence, const Rows& baseline) {
  const std::vector<Token> ids = ids_of(way.head, baseline.front().size());
  std::size_t compared = 0;
  std::size_t different = 0;
  const auto compare = [&](std::size_t position, const Logits& logits) {
    std::vector<float> expected = baseline[position - sequence.compared_from], actual(expected.size());
    if (ids.empty()) {
      logits.all(actual).value();
    } else {
      std::transform(ids.begin(), ids.end(), expected.begin(), [&](Token id) {
        return baseline[position - sequence.compared_from][static_cast<std::size_t>(id)];
      });
      expected.resize(ids.size());
      actual.resize(ids.size());
      logits.rows(ids, actual).value();
    }
    compared += actual.size();
    if (std::memcmp(expected.data(), actual.data(), actual.size() * sizeof(float)) == 0 || different++ != 0) return;
    const auto at = std::mismatch(expected.begin(), expected.end(), actual.begin(),
                                  [](float a, float b) { return std::memcmp(&a, &b, sizeof(a)) == 0; });
    ADD_FAILURE() << way << ": at position " << position << " logit " << at.first - expected.begin()
                  << " of those asked for is " << *at.second << ", not the baseline's " << *at.first;
  };
  std::optional<ScopedHostFloatMode> host;
  if (way.host) host.emplace(*way.host);
  run(load, way, sequence, compare);
  EXPECT_TRUE(!host || host->unchanged()) << way;
  return compared;
}

std::vector<Token> random_tokens(std::size_t vocabulary_size, std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Token> tokens(count);
  for (Token& token : tokens) token = static_cast<Token>(random() % vocabulary_size);
  return tokens;
}

std::ostream& operator<<(std::ostream& out, const Way& way) {
  constexpr const char* kKv[] = {"f32", "f16", "q8_0"};
  constexpr const char* kHead[] = {"full head", "five rows", "half of the rows"};
  constexpr const char* kHistory[] = {"straight", "rolled back", "refilled", "child of a fork", "parent of a fork"};
  constexpr const char* kHost[] = {"flush to zero", "round down", "round up", "round to zero"};
  out << (way.target.empty() ? "best target" : way.target) << ", "
      << (way.activations == Activations::fast ? "fast" : "accurate") << ", KV " << kKv[static_cast<int>(way.kv_type)]
      << ", " << way.threads << " threads, " << (way.cut == Cut::pieces ? "pieces" : "chunks") << " of " << way.chunk
      << ", batch " << way.batch << ", " << kHead[static_cast<int>(way.head)] << ", "
      << kHistory[static_cast<int>(way.history)];
  if (way.host) out << ", host's mode " << kHost[static_cast<int>(*way.host)];
  return out;
}

}  // namespace rill::test
