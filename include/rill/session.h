// A session: one sequence of tokens, its position and its KV cache, over a shared model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rill/embedding.h"
#include "rill/generation.h"
#include "rill/kv_plan.h"
#include "rill/kv_pool.h"
#include "rill/logits.h"
#include "rill/metrics.h"
#include "rill/model.h"
#include "rill/prefix_cache.h"
#include "rill/result.h"
#include "rill/sampler_chain.h"
#include "rill/stop_token.h"
#include "rill/token.h"

namespace rill {

namespace session {
class HeldLogits;
class SessionState;
}  // namespace session

struct SessionOptions {
  std::size_t context_tokens = 0;     // the window: most tokens the session holds; 0: the model's context_length
  KvType kv_type = KvType::f16;
  std::size_t prefill_chunk = 256;    // most rows of one forward pass; bounds scratch memory and the answer to a stop
  std::size_t rollback_reserve = 64;  // tokens that truncate can always take back from sliding-window layers
  Clock clock = steady_now;
  // Where keys and values are kept, with other sessions of the model; null: in memory of the session's own, without limit.
  // invalid_argument: it is another model's, or its kv_type is another.
  std::shared_ptr<KvPool> kv_pool = nullptr;
  // Reuses what sessions of the same domain have computed, while this one is empty. It must be of this model, and of
  // kv_type; kv_pool may be null, or must be its pool. Without a domain, nothing is looked up and nothing is left.
  std::shared_ptr<PrefixCache> prefix_cache = nullptr;
  std::string domain = "";            // who may share: a tenant, a scope of permissions. Bytes, not shown to the model
};

// Which of the tokens fed keep their hidden state, from which logits() are computed.
struct Keep {
  enum class Mode : std::uint8_t { last, all, positions };
  Mode mode = Mode::last;
  std::vector<std::size_t> positions = {};  // indices into the tokens fed, ascending; with Mode::positions
};

struct FeedOptions {
  Keep keep = {};
  StopToken stop = {};                // polled per layer
  // After each chunk: tokens done of the tokens fed. On the calling thread.
  std::function<void(std::size_t done, std::size_t total)> progress = {};
};

struct SaveOptions {
  const SamplerChain* chain = nullptr;  // one that is driven by hand over the session: its state is saved, too
  StopToken stop = {};                  // polled for each MiB
};

struct RestoreOptions {
  SamplerChain* chain = nullptr;  // made with the same stages as the saved one, and changed with the session or not at all
  StopToken stop = {};            // polled for each MiB
};

class Logits;
RILL_EXPORT Result<void> logits_batch(std::span<const Logits> logits, std::span<float> out);

// Handle to the LM head over one kept position. Computes when asked; invalid (stale_handle) after the session's next
// feed or truncate, or its end. One thread at a time, together with its session.
class RILL_EXPORT Logits final : public LogitsSource {
 public:
  Logits(std::weak_ptr<session::SessionState> session, std::uint64_t epoch, std::size_t kept_index);

  std::size_t vocabulary_size() const override;
  std::size_t position() const override;
  Result<void> all(std::span<float> out) const override;                                // [vocabulary_size]
  Result<void> rows(std::span<const Token> ids, std::span<float> out) const override;   // [ids.size()]
  Result<std::vector<float>> all() const;

 private:
  friend Result<void> logits_batch(std::span<const Logits> logits, std::span<float> out);
  Result<void> check(const session::SessionState& state) const;
  template <typename Use>
  auto with_head(Use use) const -> decltype(use(std::declval<session::HeldLogits&>()));

  std::weak_ptr<session::SessionState> session_;
  std::uint64_t epoch_;
  std::size_t kept_index_;
};

// One thread at a time: a call that returns a Result, made while another is running (on another thread, or from a
// callback of that call), is `busy` and changes nothing; the others must not be made then. What the caller's own
// callbacks throw comes back as callback_failed, with the session as it was. Move-only; a moved-from session may only
// be assigned or destroyed.
class RILL_EXPORT Session {
 public:
  static Result<Session> create(std::shared_ptr<const Model> model, SessionOptions options = {});

  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  const Model& model() const;
  const SessionOptions& options() const;
  std::size_t length() const;          // tokens held
  std::size_t context_tokens() const;
  std::size_t context_left() const { return context_tokens() - length(); }
  std::span<const Token> tokens() const;  // those held; valid until the next call that changes the session
  std::uint64_t kv_bytes() const;      // held by the pages of this session, shared ones included

  // Appends tokens: computes their keys, values and hidden states. All or nothing: on error or stop the session is as
  // it was. invalid_argument: no tokens, or an id outside the vocabulary. context_full: more than context_left().
  // resource_exhausted: the kv_pool has no room.
  Result<void> feed(std::span<const Token> tokens, const FeedOptions& options = {});
  Result<void> feed(Token token);

  // The last kept position, or the index-th kept one. no_hidden_state until something was fed.
  Result<Logits> logits(std::size_t kept_index) const;
  Logits logits() const;

  // Leaves what the session holds to its prefix cache, besides what feed and generate leave there: other prompts may go on
  // from here. invalid_argument: it has none, or no domain.
  Result<void> cache_prefix() const;

  // Keeps the first `length` tokens; with length() itself nothing changes. window_evicted: a sliding window no longer
  // holds what would be needed; with refill, the session re-feeds its own tokens instead.
  struct TruncateOptions {
    bool refill = false;
  };
  Result<void> truncate(std::size_t length, TruncateOptions options);
  Result<void> truncate(std::size_t length) { return truncate(length, TruncateOptions{}); }

  // A second session with the same tokens, sharing the pages that both hold until one of them writes.
  Result<Session> fork() const;

  // Writes what the session holds: tokens, keys and values, kept hidden states; not its options. A file is readable by the
  // user alone, and stands at `path` whole and on the disk, or not at all; a file that was there stays until then. Its
  // size is that of the tokens held, whatever the window. Errors: io, cancelled, those of SamplerChain::save.
  Result<void> save(const std::filesystem::path& path, const SaveOptions& options = {}) const;
  Result<std::vector<std::byte>> save(const SaveOptions& options = {}) const;

  // Makes the session hold what was saved, and go on with the same bits. All or nothing: on error it is as it was, with
  // what it holds. Memory for both is needed meanwhile. incompatible names what is another than when it was saved: the
  // model, its tokenizer, activations, KV type, numerics, format. context_full: the window is too small. malformed:
  // damaged, or no saved session. not_found. invalid_argument: a chain was saved and none is given, or none was.
  Result<void> restore(const std::filesystem::path& path, const RestoreOptions& options = {});
  Result<void> restore(std::span<const std::byte> saved, const RestoreOptions& options = {});
  // The same for what Generation::save wrote, and the answer, which goes on.
  Result<Generation> resume(const std::filesystem::path& path, ResumeOptions options = {});
  Result<Generation> resume(std::span<const std::byte> saved, ResumeOptions options = {});

  // Natural log-probability of each of tokens[1..], given those before it and nothing else; the session is left as it
  // was.
  Result<std::vector<float>> score(std::span<const Token> tokens, const StopToken& stop = {}) const;

  // Starts an answer. The prompt is appended to what the session holds; the work is done in Generation::next().
  Result<Generation> generate(std::string_view prompt, GenerateOptions options = {});
  Result<Generation> generate(std::span<const Token> prompt, GenerateOptions options = {});

  // One vector of embedding_length floats, or one per token with Pooling::none. The session is left as it was.
  Result<std::vector<std::vector<float>>> embed(std::string_view text, const EmbedOptions& options = {}) const;
  Result<std::vector<std::vector<float>>> embed(std::span<const Token> tokens, const EmbedOptions& options = {}) const;

  // For the other parts of rill: outside of it the type is incomplete.
  const std::shared_ptr<session::SessionState>& state() const { return state_; }

 private:
  explicit Session(std::shared_ptr<session::SessionState> state);
  Result<void> restore_from(const ByteSource& source, const RestoreOptions& options);
  Result<Generation> resume_from(const ByteSource& source, ResumeOptions options);
  std::shared_ptr<session::SessionState> state_;
};

struct FeedItem {
  Session* session = nullptr;
  std::span<const Token> tokens = {};
  Keep keep = {};
};

// Feeds several sessions of one model and KV type in common forward passes: one read of the weights serves them all.
// All or nothing for all of them. invalid_argument: a session twice, or sessions of different models.
RILL_EXPORT Result<void> feed_batch(std::span<const FeedItem> items, const StopToken& stop = {});

// Writes all logits of each handle, [logits.size(), vocabulary_size], with the bits that all() gives: one read of the
// head serves them all. The handles may be of several sessions, of one model, and of several positions of a session.
// invalid_argument: no handle, sessions of different models, or `out` of another size.
RILL_EXPORT Result<void> logits_batch(std::span<const Logits> logits, std::span<float> out);

}  // namespace rill
