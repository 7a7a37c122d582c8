#include "session/session_state.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "kv/prefix_tree.h"
#include "model/head.h"

namespace rill::session {
namespace {

constexpr std::size_t kMaxPrefillChunk = 1 << 16;  // tokens

Result<SessionOptions> checked(const SessionOptions& options, const Model& model) {
  SessionOptions resolved = options;
  const std::uint64_t trained = model.info().context_length;
  if (resolved.context_tokens == 0) resolved.context_tokens = static_cast<std::size_t>(trained);
  if (resolved.context_tokens > trained) {
    return make_error(ErrorCode::invalid_argument, "context_tokens = {}, but the model was made for {}",
                      resolved.context_tokens, trained);
  }
  if (resolved.prefill_chunk == 0 || resolved.prefill_chunk > kMaxPrefillChunk) {
    return make_error(ErrorCode::invalid_argument, "prefill_chunk = {}, not in [1, {}]", resolved.prefill_chunk,
                      kMaxPrefillChunk);
  }
  if (resolved.kv_type == KvType::q8_0 && model.info().head_dim % 32 != 0) {
    return make_error(ErrorCode::invalid_argument, "kv_type q8_0 needs a head_dim that is a multiple of 32, not {}",
                      model.info().head_dim);
  }
  if (resolved.kv_type > KvType::q8_0) {
    return make_error(ErrorCode::invalid_argument, "kv_type is not one of f32, f16, q8_0");
  }
  if (!resolved.clock) return make_error(ErrorCode::invalid_argument, "clock is empty");
  if (resolved.prefix_cache != nullptr) {
    if (resolved.kv_pool == nullptr) resolved.kv_pool = resolved.prefix_cache->pool();
    if (resolved.kv_pool != resolved.prefix_cache->pool()) {
      return make_error(ErrorCode::invalid_argument, "prefix_cache keeps its pages in another pool than kv_pool");
    }
  }
  if (resolved.kv_pool != nullptr) {
    if (resolved.kv_pool->model().get() != &model) {
      return make_error(ErrorCode::invalid_argument, "kv_pool is of another model");
    }
    if (resolved.kv_pool->options().kv_type != resolved.kv_type) {
      return make_error(ErrorCode::invalid_argument, "kv_type is not that of kv_pool");
    }
  }
  return resolved;
}

Result<std::vector<std::size_t>> kept_indices(const Keep& keep, std::size_t count) {
  switch (keep.mode) {
    case Keep::Mode::last: return std::vector<std::size_t>{count - 1};
    case Keep::Mode::all: {
      std::vector<std::size_t> all(count);
      std::iota(all.begin(), all.end(), std::size_t{0});
      return all;
    }
    case Keep::Mode::positions: break;
    default: return make_error(ErrorCode::invalid_argument, "keep.mode is not one of last, all, positions");
  }
  for (std::size_t i = 0; i < keep.positions.size(); ++i) {
    if (keep.positions[i] >= count || (i > 0 && keep.positions[i] <= keep.positions[i - 1])) {
      return make_error(ErrorCode::invalid_argument, "keep.positions[{}] = {} is out of range or not ascending", i,
                        keep.positions[i]);
    }
  }
  return keep.positions;
}

// Makes room for `count` more, geometrically, so that the append itself cannot fail.
void grow(std::vector<Token>& tokens, std::size_t count) {
  const std::size_t size = tokens.size() + count;
  if (size > tokens.capacity()) tokens.reserve(std::max(size, 2 * tokens.capacity()));
}

}  // namespace

Result<std::shared_ptr<SessionState>> SessionState::create(std::shared_ptr<const Model> model,
                                                           const SessionOptions& options) {
  if (model == nullptr) return make_error(ErrorCode::invalid_argument, "model is null");
  RILL_ASSIGN(const SessionOptions resolved, checked(options, *model));
  std::shared_ptr<kv::PagePool> pool;
  if (resolved.kv_pool != nullptr) {
    pool = resolved.kv_pool->pages();
  } else {
    RILL_ASSIGN(pool, kv::PagePool::create(model::kv_groups(model->loaded().config, resolved.kv_type),
                                           kv::PagePool::kUnlimited));
  }
  kv::SequenceCache cache(pool, resolved.rollback_reserve);
  return std::make_shared<SessionState>(std::move(model), resolved, std::move(pool), std::move(cache));
}

Result<std::shared_ptr<SessionState>> SessionState::fork() const {
  auto forked = std::make_shared<SessionState>(model_, options_, pool_, kv::SequenceCache(pool_));
  RILL_TRY(forked->share(*this));
  return forked;
}

void SessionState::reserve(kv::Reservation reservation) {
  cache_ = kv::SequenceCache(pool_, options_.rollback_reserve, std::move(reservation));
}

Result<void> SessionState::share(const SessionState& from, kv::Reservation reservation) {
  std::vector<Token> tokens = from.tokens_;
  std::vector<std::size_t> kept_positions = from.kept_positions_;
  std::vector<float> hidden(from.kept_hidden(0), from.kept_hidden(from.kept_count()));
  RILL_ASSIGN(kv::SequenceCache cache, from.cache_.fork(std::move(reservation)));
  cache_ = std::move(cache);
  tokens_ = std::move(tokens);
  changed(std::move(hidden), std::move(kept_positions));
  return {};
}

void SessionState::adopt(Content content) noexcept {
  cache_ = std::move(content.cache);
  tokens_ = std::move(content.tokens);
  changed(std::move(content.hidden), std::move(content.kept_positions));
}

Result<model::Forward*> SessionState::forward() const {
  if (!forward_) {
    RILL_ASSIGN(forward_, model::Forward::create(loaded(), options_.prefill_chunk));
  }
  return &*forward_;
}

Result<void> SessionState::check_tokens(std::span<const Token> tokens) const {
  if (tokens.empty()) return make_error(ErrorCode::invalid_argument, "there are no tokens to feed");
  const std::size_t vocabulary = loaded().vocabulary_size();
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] < 0 || static_cast<std::size_t>(tokens[i]) >= vocabulary) {
      return make_error(ErrorCode::invalid_argument, "token {} at index {} is not in the vocabulary of {}", tokens[i],
                        i, vocabulary);
    }
  }
  return {};
}

void SessionState::changed(std::vector<float> hidden, std::vector<std::size_t> kept_positions,
                           std::vector<Token> drafts) {
  hidden_ = std::move(hidden);
  first_kept_ = 0;
  kept_positions_ = std::move(kept_positions);
  drafts_ = std::move(drafts);
  ahead_rows_ = 0;
  ++epoch_;
}

// Before the cache changes otherwise.
void SessionState::forget_drafts() noexcept {
  if (!drafts_.empty()) cache_.commit(tokens_.size());
  drafts_.clear();
  ahead_rows_ = 0;
}

void SessionState::drop_drafts() noexcept {
  forget_drafts();
  std::vector<float>().swap(ahead_logits_);
}

std::size_t SessionState::room_for_drafts() const {
  const std::size_t left = options_.context_tokens - tokens_.size();
  std::size_t room = left == 0 ? 0 : left - 1;
  // No draft may push what the first of them sees out of a sliding window.
  const auto window = static_cast<std::size_t>(loaded().config.sliding_window);
  const std::size_t reserve = options_.rollback_reserve;
  return window != 0 && room >= window && room - window >= reserve ? window + reserve - 1 : room;
}

bool SessionState::advance(Token token) {
  if (drafts_.empty() || drafts_.front() != token) return false;
  tokens_.push_back(token);
  drafts_.erase(drafts_.begin());
  cache_.commit(tokens_.size(), tokens_.size() + drafts_.size());
  first_kept_ += kept_positions_.size();
  kept_positions_.assign(1, tokens_.size() - 1);
  ++epoch_;
  return true;
}

// The last kept position and the drafts behind it share one pass over the head.
Result<void> SessionState::kept_logits(std::size_t index, std::span<float> out) const {
  const std::size_t rows = 1 + drafts_.size();
  const bool shared = index + 1 == kept_positions_.size() && std::max(rows, ahead_rows_) > 1;
  if (!shared) return model::head_logits(loaded(), kept_hidden(index), 1, out);
  if (ahead_rows_ < rows) {
    ahead_rows_ = 0;
    ahead_logits_.resize(std::max(ahead_logits_.size(), rows * out.size()));
    RILL_TRY(model::head_logits(loaded(), kept_hidden(index), rows, std::span(ahead_logits_).first(rows * out.size())));
    ahead_rows_ = rows;
  }
  std::copy_n(ahead_logits_.data() + (ahead_rows_ - rows) * out.size(), out.size(), out.data());
  return {};
}

Result<void> SessionState::append(std::span<const Append> appends, const StopToken& stop,
                                  const model::Forward::Progress& progress, const BesideWork& beside) {
  RILL_ASSIGN(model::Forward * forward, appends.front().state->forward());
  return append(appends, *forward, stop, progress, beside);
}

Result<void> SessionState::append(std::span<const Append> appends, model::Forward& forward, const StopToken& stop,
                                  const model::Forward::Progress& progress, const BesideWork& beside) {
  const std::size_t n = appends.front().state->loaded().config.embedding_length;
  std::vector<std::vector<Token>> tokens, drafts;  // copies: the caller's may lie in a session that is about to grow
  std::vector<model::Segment> segments;
  std::vector<std::vector<std::size_t>> kept, rows;
  std::vector<std::vector<float>> hidden;
  for (const Append& item : appends) {
    SessionState& state = *item.state;
    const std::size_t count = item.tokens.size() + item.drafts.size();
    drafts.emplace_back(item.drafts.begin(), item.drafts.end());
    tokens.emplace_back(item.tokens.begin(), item.tokens.end())
        .insert(tokens.back().end(), item.drafts.begin(), item.drafts.end());
    RILL_TRY(state.check_tokens(tokens.back()));
    if (count > state.options_.context_tokens - state.tokens_.size()) {
      return make_error(ErrorCode::context_full, "{} tokens do not fit: the session holds {} of {}", count,
                        state.tokens_.size(), state.options_.context_tokens);
    }
    RILL_ASSIGN(kept.emplace_back(), kept_indices(*item.keep, item.tokens.size()));
    rows.push_back(kept.back());
    for (std::size_t row = item.tokens.size(); row < count; ++row) rows.back().push_back(row);
    hidden.emplace_back(rows.back().size() * n);
  }
  for (std::size_t i = 0; i < appends.size(); ++i) {
    SessionState& state = *appends[i].state;
    segments.push_back({tokens[i], state.tokens_.size(), &state.cache_, rows[i], hidden[i].data()});
    grow(state.tokens_, tokens[i].size());
  }

  for (const Append& item : appends) item.state->forget_drafts();
  // Whatever happens in between, the transactions end.
  const auto ran = guarded([&] { return forward.run(segments, stop, progress, beside); });
  if (!ran) {
    for (const Append& item : appends) item.state->cache_.abort();
    return ran.error();
  }
  for (std::size_t i = 0; i < appends.size(); ++i) {
    SessionState& state = *appends[i].state;
    const std::size_t before = state.tokens_.size();
    const auto end = tokens[i].end() - static_cast<std::ptrdiff_t>(drafts[i].size());
    state.tokens_.insert(state.tokens_.end(), tokens[i].begin(), end);
    state.cache_.commit(state.tokens_.size(), state.tokens_.size() + drafts[i].size());
    for (std::size_t& index : kept[i]) index += before;
    state.changed(std::move(hidden[i]), std::move(kept[i]), std::move(drafts[i]));
  }
  return {};
}

Result<void> SessionState::take_pages(std::size_t count) {
  forget_drafts();
  return cache_.extend_to(tokens_.size() + count);
}

Result<void> SessionState::feed(std::span<const Append> feeds, const StopToken& stop,
                                const model::Forward::Progress& progress) {
  std::vector<Append> appends(feeds.begin(), feeds.end());
  std::vector<Keep> keeps(feeds.size());
  std::vector<SessionState*> began;
  Result<void> done;
  for (std::size_t i = 0; i < feeds.size() && done; ++i) {
    SessionState& state = *feeds[i].state;
    if (!state.caches() || !state.tokens_.empty()) continue;
    began.push_back(&state);
    // What is kept is computed.
    const std::span<const Token> tokens = feeds[i].tokens;
    const auto kept = kept_indices(*feeds[i].keep, tokens.size());
    if (!kept || tokens.empty()) continue;  // append will refuse
    const auto adopted = state.adopt_prefix(tokens.first(kept->empty() ? tokens.size() - 1 : kept->front()));
    if (!adopted) {
      done = adopted.error();
      continue;
    }
    keeps[i] = *feeds[i].keep;
    for (std::size_t& position : keeps[i].positions) position -= adopted->tokens;
    appends[i].keep = &keeps[i];
    appends[i].tokens = tokens.subspan(adopted->tokens);
  }
  if (done) done = append(appends, stop, progress);
  for (SessionState* state : began) {
    if (done) {
      state->cache_prefix();
    } else {
      RILL_TRY(state->truncate(0, false));
    }
  }
  return done;
}

Result<void> SessionState::truncate(std::size_t length, bool refill) {
  if (length > tokens_.size()) {
    return make_error(ErrorCode::invalid_argument, "truncate to {}, but the session holds {} tokens", length,
                      tokens_.size());
  }
  if (length == tokens_.size()) return {};
  const auto truncated = cache_.truncate(length);
  if (!truncated) {
    if (!refill || truncated.error().code != ErrorCode::window_evicted) return truncated.error();
    std::vector<Token> tokens(tokens_.begin(), tokens_.begin() + static_cast<std::ptrdiff_t>(length));
    RILL_TRY(replace(std::move(tokens), {}, {}, {}));
  }
  tokens_.resize(length);
  changed({}, {});
  return {};
}

Result<SessionState::Reused> SessionState::replace(std::vector<Token> tokens, std::span<const std::size_t> boundaries,
                                                   const StopToken& stop, const model::Forward::Progress& progress,
                                                   BesideWork beside) {
  RILL_TRY(check_tokens(tokens));
  if (tokens.size() > options_.context_tokens) {
    return make_error(ErrorCode::context_full, "{} tokens do not fit a window of {}", tokens.size(),
                      options_.context_tokens);
  }
  const auto differs = std::mismatch(tokens.begin(), tokens.end() - 1, tokens_.begin(), tokens_.end());
  Reused reused{static_cast<std::size_t>(differs.first - tokens.begin())};

  kv::SequenceCache cache(pool_, options_.rollback_reserve);
  if (auto forked = cache_.fork_at(reused.tokens)) {
    cache = *std::move(forked);
  } else {
    reused.tokens = 0;
  }
  const std::span<const Token> all = tokens;
  if (caches()) {
    kv::SequenceCache found(pool_, options_.rollback_reserve);
    const auto hit =
        options_.prefix_cache->tree()->find(options_.domain, all.first(all.size() - 1), reused.tokens, found);
    if (hit.tokens > reused.tokens) {
      cache = std::move(found);
      reused.tokens = reused.cached = hit.tokens;
    }
    reused.window_evicted = hit.window_evicted;
  }

  RILL_ASSIGN(model::Forward * work, forward());
  std::vector<float> hidden(loaded().config.embedding_length);
  std::size_t begin = reused.tokens;
  const auto advance_to = [&](std::size_t end, std::span<const std::size_t> keep) {
    const model::Segment segment{all.subspan(begin, end - begin), begin, &cache, keep, hidden.data()};
    const auto report = [&](std::size_t done, std::size_t) {
      if (progress) progress(begin - reused.tokens + done, all.size() - reused.tokens);
    };
    return work->run({&segment, 1}, stop, report, std::exchange(beside, {}));
  };
  for (const std::size_t boundary : boundaries) {
    if (!caches() || boundary <= begin || boundary >= all.size()) continue;
    RILL_TRY(advance_to(boundary, {}));
    cache.commit(boundary);
    leave_prefix(all.first(boundary), cache);
    begin = boundary;
  }
  const std::size_t last = all.size() - 1 - begin;
  RILL_TRY(advance_to(all.size(), {&last, 1}));
  cache.commit(all.size());

  cache_ = std::move(cache);
  tokens_ = std::move(tokens);
  changed(std::move(hidden), {tokens_.size() - 1});
  return reused;
}

Result<SessionState::Reused> SessionState::adopt_prefix(std::span<const Token> tokens) {
  if (!caches() || !tokens_.empty()) return Reused{};
  grow(tokens_, tokens.size());
  const auto hit = options_.prefix_cache->tree()->find(options_.domain, tokens, 0, cache_);
  if (hit.tokens > 0) {
    tokens_.assign(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(hit.tokens));
    changed({}, {});
  }
  return Reused{hit.tokens, hit.tokens, hit.window_evicted};
}

std::size_t SessionState::prefix_pages_in_use(std::span<const Token> tokens) const {
  return caches() ? options_.prefix_cache->tree()->pages_in_use(options_.domain, tokens, options_.rollback_reserve) : 0;
}

void SessionState::leave_prefix(std::span<const Token> tokens, const kv::SequenceCache& cache) const noexcept {
  static_cast<void>(guarded([&]() -> Result<void> {
    options_.prefix_cache->tree()->insert(options_.domain, tokens, cache);
    return {};
  }));
}

Result<std::vector<float>> SessionState::hidden_states(std::span<const Token> tokens, const StopToken& stop) const {
  RILL_TRY(check_tokens(tokens));
  if (tokens.size() > options_.context_tokens) {
    return make_error(ErrorCode::context_full, "{} tokens do not fit a window of {}", tokens.size(),
                      options_.context_tokens);
  }
  std::vector<std::size_t> keep(tokens.size());
  std::iota(keep.begin(), keep.end(), std::size_t{0});
  std::vector<float> hidden(tokens.size() * loaded().config.embedding_length);
  kv::SequenceCache cache(pool_, options_.rollback_reserve);
  const model::Segment segment{tokens, 0, &cache, keep, hidden.data()};
  RILL_ASSIGN(model::Forward * work, forward());
  RILL_TRY(work->run({&segment, 1}, stop, {}));
  return hidden;
}

Result<void> HeldLogits::all(std::span<float> out) const {
  if (out.size() != vocabulary_size()) {
    return make_error(ErrorCode::invalid_argument, "room for {} logits, but there are {}", out.size(),
                      vocabulary_size());
  }
  return state_.kept_logits(kept_index_, out);
}

Result<void> HeldLogits::rows(std::span<const Token> ids, std::span<float> out) const {
  if (out.size() != ids.size()) {
    return make_error(ErrorCode::invalid_argument, "{} ids, but room for {} logits", ids.size(), out.size());
  }
  if (ids.empty()) return {};
  RILL_TRY(state_.check_tokens(ids));
  return model::head_rows(state_.loaded(), state_.kept_hidden(kept_index_), ids, out);
}

}  // namespace rill::session
