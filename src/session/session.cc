#include "rill/session.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/float_mode.h"
#include "model/head.h"
#include "sampling/softmax.h"
#include "session/generation_state.h"
#include "session/pooling.h"
#include "session/session_state.h"

namespace rill {
namespace {

using session::SessionState;

Error no_hidden_state(const SessionState& state, std::size_t kept_index) {
  return make_error(ErrorCode::no_hidden_state, "the session holds {} hidden states, not one of index {}",
                    state.kept_count(), kept_index);
}

Error stale_session() { return make_error(ErrorCode::stale_handle, "the session of these logits has ended"); }

}  // namespace

Logits::Logits(std::weak_ptr<SessionState> session, std::uint64_t epoch, std::size_t kept_index)
    : session_(std::move(session)), epoch_(epoch), kept_index_(kept_index) {}

std::size_t Logits::vocabulary_size() const {
  const auto state = session_.lock();
  return state == nullptr ? 0 : state->loaded().vocabulary_size();
}

// That the entered session still holds the hidden state.
Result<void> Logits::check(const SessionState& state) const {
  if (state.epoch() != epoch_) {
    return make_error(ErrorCode::stale_handle, "the session has changed since these logits were taken");
  }
  if (kept_index_ >= state.kept_count()) return no_hidden_state(state, kept_index_);
  return {};
}

template <typename Use>
auto Logits::with_head(Use use) const -> decltype(use(std::declval<session::HeldLogits&>())) {
  return guarded([&]() -> decltype(use(std::declval<session::HeldLogits&>())) {
    const auto state = session_.lock();
    if (state == nullptr) return stale_session();
    RILL_ASSIGN(const auto entry, state->enter());
    RILL_TRY(check(*state));
    session::HeldLogits head(*state, kept_index_);
    return use(head);
  });
}

std::size_t Logits::position() const {
  return with_head([](session::HeldLogits& head) -> Result<std::size_t> { return head.position(); }).value_or(0);
}

Result<void> Logits::all(std::span<float> out) const {
  return with_head([&](session::HeldLogits& head) { return head.all(out); });
}

Result<void> Logits::rows(std::span<const Token> ids, std::span<float> out) const {
  return with_head([&](session::HeldLogits& head) { return head.rows(ids, out); });
}

Result<std::vector<float>> Logits::all() const {
  return guarded([&]() -> Result<std::vector<float>> {
    std::vector<float> out(vocabulary_size());
    RILL_TRY(all(out));
    return out;
  });
}

Result<void> logits_batch(std::span<const Logits> logits, std::span<float> out) {
  return guarded([&]() -> Result<void> {
    if (logits.empty()) return make_error(ErrorCode::invalid_argument, "there are no logits to compute");
    std::vector<std::shared_ptr<SessionState>> states;
    for (const Logits& one : logits) {
      states.push_back(one.session_.lock());
      if (states.back() == nullptr) return stale_session();
      if (states.back()->model() != states.front()->model()) {
        return make_error(ErrorCode::invalid_argument, "logits[{}] are of another model", states.size() - 1);
      }
    }
    auto distinct = states;
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    std::vector<SessionState::Entry> entries;
    for (const auto& state : distinct) {
      RILL_ASSIGN(entries.emplace_back(), state->enter());
    }
    const model::LoadedModel& model = states.front()->loaded();
    if (out.size() != logits.size() * model.vocabulary_size()) {
      return make_error(ErrorCode::invalid_argument, "{} floats for {} times the {} logits of the vocabulary",
                        out.size(), logits.size(), model.vocabulary_size());
    }
    const std::size_t n = model.config.embedding_length;
    std::vector<float> hidden(logits.size() * n);
    for (std::size_t i = 0; i < logits.size(); ++i) {
      RILL_TRY(logits[i].check(*states[i]));
      std::copy_n(states[i]->kept_hidden(logits[i].kept_index_), n,
                  hidden.begin() + static_cast<std::ptrdiff_t>(i * n));
    }
    return model::head_logits(model, hidden.data(), logits.size(), out);
  });
}

Session::Session(std::shared_ptr<SessionState> state) : state_(std::move(state)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

Result<Session> Session::create(std::shared_ptr<const Model> model, SessionOptions options) {
  return guarded([&]() -> Result<Session> {
    RILL_ASSIGN(auto state, SessionState::create(std::move(model), options));
    return Session(std::move(state));
  });
}

const Model& Session::model() const { return *state_->model(); }
const SessionOptions& Session::options() const { return state_->options(); }
std::size_t Session::length() const { return state_->tokens().size(); }
std::size_t Session::context_tokens() const { return state_->options().context_tokens; }
std::span<const Token> Session::tokens() const { return state_->tokens(); }
std::uint64_t Session::kv_bytes() const { return state_->kv_bytes(); }

Result<void> Session::feed(std::span<const Token> tokens, const FeedOptions& options) {
  return guarded([&]() -> Result<void> {
    RILL_ASSIGN(const auto entry, state_->enter());
    const SessionState::Append append{state_.get(), tokens, &options.keep};
    return SessionState::feed({&append, 1}, options.stop, options.progress);
  });
}

Result<void> Session::feed(Token token) { return feed({&token, 1}); }

Result<Logits> Session::logits(std::size_t kept_index) const {
  RILL_ASSIGN(const auto entry, state_->enter());
  if (kept_index >= state_->kept_count()) return no_hidden_state(*state_, kept_index);
  return Logits(state_, state_->epoch(), kept_index);
}

Logits Session::logits() const {
  const std::size_t kept = state_->kept_count();
  return Logits(state_, state_->epoch(), kept == 0 ? 0 : kept - 1);
}

Result<void> Session::cache_prefix() const {
  RILL_ASSIGN(const auto entry, state_->enter());
  if (!state_->caches()) {
    return make_error(ErrorCode::invalid_argument, "the session has {}",
                      state_->options().prefix_cache == nullptr ? "no prefix cache" : "no domain to cache a prefix in");
  }
  state_->cache_prefix();
  return {};
}

Result<void> Session::truncate(std::size_t length, TruncateOptions options) {
  return guarded([&]() -> Result<void> {
    RILL_ASSIGN(const auto entry, state_->enter());
    return state_->truncate(length, options.refill);
  });
}

Result<Session> Session::fork() const {
  return guarded([&]() -> Result<Session> {
    RILL_ASSIGN(const auto entry, state_->enter());
    RILL_ASSIGN(auto forked, state_->fork());
    return Session(std::move(forked));
  });
}

Result<std::vector<float>> Session::score(std::span<const Token> tokens, const StopToken& stop) const {
  return guarded([&]() -> Result<std::vector<float>> {
    RILL_ASSIGN(const auto entry, state_->enter());
    const ScopedFloatMode float_mode;
    RILL_ASSIGN(const std::vector<float> hidden, state_->hidden_states(tokens, stop));
    const std::size_t n = state_->loaded().config.embedding_length;
    const std::size_t vocabulary = state_->loaded().vocabulary_size();
    constexpr std::size_t kRows = 16;  // of logits at a time
    std::vector<float> logits(kRows * vocabulary);
    Candidates candidates;
    std::vector<float> scores;
    for (std::size_t first = 0; first + 1 < tokens.size(); first += kRows) {
      const std::size_t rows = std::min(kRows, tokens.size() - 1 - first);
      if (stop.stop_requested()) return make_error(ErrorCode::cancelled, "scoring was stopped");
      const std::span<float> out = std::span(logits).first(rows * vocabulary);
      RILL_TRY(model::head_logits(state_->loaded(), hidden.data() + first * n, rows, out));
      for (std::size_t row = 0; row < rows; ++row) {
        const auto one = out.subspan(row * vocabulary, vocabulary);
        if (!state_->loaded().kernels->all_finite(one.data(), vocabulary)) {
          return make_error(ErrorCode::non_finite, "the logits at position {} are not finite", first + row);
        }
        candidates.assign_all(vocabulary);
        std::copy(one.begin(), one.end(), candidates.values().begin());
        RILL_ASSIGN(const sampling::Logprobs distribution,
                    sampling::log_probabilities(candidates, tokens[first + row + 1], 0));
        scores.push_back(distribution.chosen);
      }
    }
    return scores;
  });
}

Result<Generation> Session::generate(std::string_view prompt, GenerateOptions options) {
  return guarded([&]() -> Result<Generation> {
    RILL_ASSIGN(const auto entry, state_->enter());
    const Duration start = state_->options().clock();
    const AddSpecial add_special = length() == 0 ? options.add_special : AddSpecial::never;
    RILL_ASSIGN(std::vector<Token> tokens, model().tokenizer().encode(prompt, {.parse_special = options.parse_special,
                                                                               .add_special = add_special}));
    const Duration tokenize = state_->options().clock() - start;
    RILL_ASSIGN(auto state,
                session::GenerationState::start(state_, std::move(tokens), std::move(options), start, tokenize));
    return Generation(std::move(state));
  });
}

Result<Generation> Session::generate(std::span<const Token> prompt, GenerateOptions options) {
  return guarded([&]() -> Result<Generation> {
    RILL_ASSIGN(const auto entry, state_->enter());
    const Duration start = state_->options().clock();
    RILL_ASSIGN(auto state,
                session::GenerationState::start(state_, {prompt.begin(), prompt.end()}, std::move(options), start, {}));
    return Generation(std::move(state));
  });
}

Result<std::vector<std::vector<float>>> Session::embed(std::string_view text, const EmbedOptions& options) const {
  return guarded([&]() -> Result<std::vector<std::vector<float>>> {
    RILL_ASSIGN(const std::vector<Token> tokens,
                model().tokenizer().encode(text, {.add_special = options.add_special}));
    return embed(tokens, options);
  });
}

Result<std::vector<std::vector<float>>> Session::embed(std::span<const Token> tokens,
                                                       const EmbedOptions& options) const {
  return guarded([&]() -> Result<std::vector<std::vector<float>>> {
    RILL_ASSIGN(const auto entry, state_->enter());
    const auto declared = state_->loaded().config.pooling;
    if (!options.pooling && !declared) {
      return make_error(ErrorCode::invalid_argument,
                        "the model declares no pooling: name one in EmbedOptions::pooling");
    }
    const ScopedFloatMode float_mode;
    const Pooling pooling = options.pooling.value_or(declared.value_or(Pooling::none));
    if (pooling > Pooling::last) {
      return make_error(ErrorCode::invalid_argument, "pooling is not one of none, mean, cls, last");
    }
    RILL_ASSIGN(const std::vector<float> hidden, state_->hidden_states(tokens, options.stop));
    const std::size_t n = state_->loaded().config.embedding_length;
    std::vector<std::vector<float>> vectors;
    if (pooling == Pooling::none) {
      for (std::size_t i = 0; i < tokens.size(); ++i) {
        vectors.emplace_back(hidden.data() + i * n, hidden.data() + (i + 1) * n);
      }
    } else {
      vectors.push_back(session::pool_hidden(hidden, n, pooling));
    }
    if (options.normalize) {
      for (std::vector<float>& vector : vectors) session::normalize(vector);
    }
    return vectors;
  });
}

Result<void> feed_batch(std::span<const FeedItem> items, const StopToken& stop) {
  return guarded([&]() -> Result<void> {
    if (items.empty()) return make_error(ErrorCode::invalid_argument, "there is nothing to feed");
    std::vector<SessionState::Append> appends;
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (items[i].session == nullptr) return make_error(ErrorCode::invalid_argument, "items[{}].session is null", i);
      SessionState* state = items[i].session->state().get();
      if (state->model() != items[0].session->state()->model() ||
          state->options().kv_type != items[0].session->options().kv_type) {
        return make_error(ErrorCode::invalid_argument, "items[{}] is a session of another model or KV type", i);
      }
      appends.push_back({state, items[i].tokens, &items[i].keep});
    }
    std::vector<SessionState*> states;
    for (const auto& append : appends) states.push_back(append.state);
    std::sort(states.begin(), states.end());
    if (std::adjacent_find(states.begin(), states.end()) != states.end()) {
      return make_error(ErrorCode::invalid_argument, "a session is in the batch twice");
    }
    std::vector<SessionState::Entry> entries;
    for (SessionState* state : states) {
      RILL_ASSIGN(entries.emplace_back(), state->enter());
    }
    return SessionState::feed(appends, stop, {});
  });
}

}  // namespace rill
