// What a rill::Session holds, and the one way in which it changes: tokens are appended, taken back or replaced, whole.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kv/page_pool.h"
#include "kv/sequence_cache.h"
#include "model/forward.h"
#include "rill/session.h"

namespace rill::session {

class SessionState {
 public:
  static Result<std::shared_ptr<SessionState>> create(std::shared_ptr<const Model> model, const SessionOptions& options);
  // The same tokens on shared pages.
  Result<std::shared_ptr<SessionState>> fork() const;

  SessionState(std::shared_ptr<const Model> model, const SessionOptions& options, std::shared_ptr<kv::PagePool> pool,
               kv::SequenceCache cache)
      : model_(std::move(model)), options_(options), pool_(std::move(pool)), cache_(std::move(cache)) {}

  // Held by every public call that reads or changes the session. False if another thread is inside one.
  class Entry {
   public:
    explicit Entry(const SessionState& state) : state_(state), entered_(!state.busy_.exchange(true, std::memory_order_acquire)) {}
    ~Entry() {
      if (entered_) state_.busy_.store(false, std::memory_order_release);
    }
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    Result<void> check() const {
      if (entered_) return {};
      return Error{ErrorCode::busy, "the session is in use by another thread"};
    }

   private:
    const SessionState& state_;
    bool entered_;
  };

  struct Append {
    SessionState* state;
    std::span<const Token> tokens;
    const Keep* keep;
  };
  // All or nothing over all of them, which are of one model. `forward` of the first does the work.
  static Result<void> append(std::span<const Append> appends, const StopToken& stop, const model::Forward::Progress& progress);

  Result<void> truncate(std::size_t length, bool refill);
  // Makes the session hold `tokens`, computing only what follows the longest common prefix that the cache still has, the
  // last token in any case. Returns how many tokens were kept.
  Result<std::size_t> replace(std::vector<Token> tokens, const StopToken& stop, const model::Forward::Progress& progress);

  // Hidden states [tokens, embedding_length] after the output norm for a sequence that starts anew; the session is not touched.
  Result<std::vector<float>> hidden_states(std::span<const Token> tokens, const StopToken& stop) const;

  Result<void> check_tokens(std::span<const Token> tokens) const;

  const std::shared_ptr<const Model>& model() const { return model_; }
  const model::LoadedModel& loaded() const { return model_->loaded(); }
  const SessionOptions& options() const { return options_; }
  std::span<const Token> tokens() const { return tokens_; }
  std::uint64_t kv_bytes() const { return cache_.bytes_held(); }
  std::uint64_t epoch() const { return epoch_; }
  std::size_t kept_count() const { return kept_positions_.size(); }
  std::size_t kept_position(std::size_t index) const { return kept_positions_[index]; }
  const float* kept_hidden(std::size_t index) const { return hidden_.data() + index * loaded().config.embedding_length; }

 private:
  Result<model::Forward*> forward() const;
  void changed(std::vector<float> hidden, std::vector<std::size_t> kept_positions);

  std::shared_ptr<const Model> model_;
  SessionOptions options_;
  std::shared_ptr<kv::PagePool> pool_;
  kv::SequenceCache cache_;
  std::vector<Token> tokens_;
  std::vector<float> hidden_;                // [kept, embedding_length]
  std::vector<std::size_t> kept_positions_;  // of hidden_'s rows
  std::uint64_t epoch_ = 0;                  // counts changes: what handles compare
  mutable std::optional<model::Forward> forward_;  // scratch memory, made at the first use
  mutable std::atomic<bool> busy_{false};
};

}  // namespace rill::session
