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
  static Result<std::shared_ptr<SessionState>> create(std::shared_ptr<const Model> model,
                                                      const SessionOptions& options);
  // The same tokens on shared pages.
  Result<std::shared_ptr<SessionState>> fork() const;

  SessionState(std::shared_ptr<const Model> model, const SessionOptions& options, std::shared_ptr<kv::PagePool> pool,
               kv::SequenceCache cache)
      : model_(std::move(model)), options_(options), pool_(std::move(pool)), cache_(std::move(cache)) {}

  // Held by every public call that reads or changes the session. `busy` if another thread is inside one, or this thread
  // is and calls again from a callback.
  struct Leave {
    void operator()(const SessionState* state) const noexcept { state->busy_.store(false, std::memory_order_release); }
  };
  using Entry = std::unique_ptr<const SessionState, Leave>;
  Result<Entry> enter() const {
    if (busy_.exchange(true, std::memory_order_acquire)) {
      return Error{ErrorCode::busy, "the session is inside another call"};
    }
    return Entry(this);
  }

  struct Append {
    SessionState* state;
    std::span<const Token> tokens;
    const Keep* keep;
    std::span<const Token> drafts = {};  // computed with them, but not appended: advance() does that
  };
  // All or nothing over all of them, which are of one model. `forward` of the first does the work.
  static Result<void> append(std::span<const Append> appends, const StopToken& stop,
                             const model::Forward::Progress& progress, const BesideWork& beside = {});
  // The same with the caller's scratch memory.
  static Result<void> append(std::span<const Append> appends, model::Forward& forward, const StopToken& stop,
                             const model::Forward::Progress& progress, const BesideWork& beside = {});
  // Takes the pages of an append of `count` tokens, which then cannot fail for want of them; or gives them back where
  // it does not come to that. resource_exhausted: none was taken.
  Result<void> take_pages(std::size_t count);
  void give_back_pages() noexcept { cache_.abort(); }
  // Holds what `from` holds, on shared pages.
  Result<void> share(const SessionState& from, kv::Reservation reservation = {});
  // Of a session that holds nothing: it draws its pages from the reservation from now on.
  void reserve(kv::Reservation reservation);
  // Whether it promises all that the session may come to take when it grows so, append by append; and gives back what
  // it promises beyond.
  bool has_promise(const KvSequence& growth) const noexcept {
    return cache_.pages_to_come(growth) <= cache_.reservation().pages();
  }
  void shrink_reservation(const KvSequence& growth) noexcept { cache_.shrink_reservation(growth); }

  // All that a saved session keeps.
  struct Content {
    std::vector<Token> tokens;
    std::vector<std::size_t> kept_positions;
    std::vector<float> hidden;  // [kept_positions.size(), embedding_length]
    kv::SequenceCache cache;    // of this session's pool, as long as `tokens`
  };
  void adopt(Content content) noexcept;
  kv::SequenceCache empty_cache() const { return kv::SequenceCache(pool_, options_.rollback_reserve); }
  const kv::SequenceCache& cache() const { return cache_; }

  // Most drafts that an append of one token may have.
  std::size_t room_for_drafts() const;
  // Appends `token` with what the last append has already computed, if it is the next of that append's drafts and
  // nothing else came in between: just as an append of it with Keep::last.
  bool advance(Token token);
  bool has_drafts() const { return !drafts_.empty(); }
  void drop_drafts() noexcept;  // and their memory

  // append() of what begins sequences: an empty session takes what its prefix cache has, and leaves what was computed.
  static Result<void> feed(std::span<const Append> feeds, const StopToken& stop,
                           const model::Forward::Progress& progress);

  Result<void> truncate(std::size_t length, bool refill);

  struct Reused {
    std::size_t tokens = 0;          // that were not computed
    std::size_t cached = 0;          // of those, from the prefix cache
    std::size_t window_evicted = 0;  // more that the prefix cache knew, but had no window for
  };
  // Makes the session hold `tokens`, computing only what follows the longest common prefix that it or its prefix cache
  // has, the last token in any case. Leaves what it holds at each of the ascending `boundaries` to the prefix cache.
  Result<Reused> replace(std::vector<Token> tokens, std::span<const std::size_t> boundaries, const StopToken& stop,
                         const model::Forward::Progress& progress, BesideWork beside = {});

  // With a prefix cache and a domain:
  bool caches() const { return options_.prefix_cache != nullptr && !options_.domain.empty(); }
  // Makes an empty session hold the longest prefix of `tokens` that the cache has, if any.
  Result<Reused> adopt_prefix(std::span<const Token> tokens);
  // Of the pages that adopt_prefix(tokens) would share, those that take no more room in the pool.
  std::size_t prefix_pages_in_use(std::span<const Token> tokens) const;
  // Leaves what the session holds to the cache; if there is no memory for that, the cache just does not have it.
  void cache_prefix() const noexcept {
    if (caches() && !tokens_.empty()) leave_prefix(tokens_, cache_);
  }

  // Hidden states [tokens, embedding_length] after the output norm for a sequence that starts anew; the session is not
  // touched.
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
  const float* kept_hidden(std::size_t index) const {
    return hidden_.data() + (first_kept_ + index) * loaded().config.embedding_length;
  }
  Result<void> kept_logits(std::size_t index, std::span<float> out) const;  // [vocabulary_size]

 private:
  Result<model::Forward*> forward() const;
  void changed(std::vector<float> hidden, std::vector<std::size_t> kept_positions, std::vector<Token> drafts = {});
  void forget_drafts() noexcept;
  void leave_prefix(std::span<const Token> tokens, const kv::SequenceCache& cache) const noexcept;

  std::shared_ptr<const Model> model_;
  SessionOptions options_;
  std::shared_ptr<kv::PagePool> pool_;
  kv::SequenceCache cache_;
  std::vector<Token> tokens_;
  std::vector<float> hidden_;  // [kept and then drafts, embedding_length], behind rows that were kept before
  std::size_t first_kept_ = 0;               // row of hidden_
  std::vector<std::size_t> kept_positions_;
  std::vector<Token> drafts_;  // behind tokens_: their keys and values are in the cache, ahead of its length
  mutable std::vector<float> ahead_logits_;  // [ahead_rows_, vocabulary] of the last kept position and the drafts
  mutable std::size_t ahead_rows_ = 0;       // 0: not computed yet
  std::uint64_t epoch_ = 0;                  // counts changes: what handles compare
  mutable std::optional<model::Forward> forward_;  // scratch memory, made at the first use
  mutable std::atomic<bool> busy_{false};
};

// The LM head over a kept hidden state of a session that the caller has entered.
class HeldLogits final : public LogitsSource {
 public:
  HeldLogits(const SessionState& state, std::size_t kept_index) : state_(state), kept_index_(kept_index) {}

  std::size_t vocabulary_size() const override { return state_.loaded().vocabulary_size(); }
  std::size_t position() const override { return state_.kept_position(kept_index_) + 1; }
  Result<void> all(std::span<float> out) const override;
  Result<void> rows(std::span<const Token> ids, std::span<float> out) const override;

 private:
  const SessionState& state_;
  std::size_t kept_index_;
};

}  // namespace rill::session
