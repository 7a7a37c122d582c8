// Sessions and running answers, saved and restored.
#include <algorithm>

#include "base/error.h"
#include "base/float_mode.h"
#include "session/generation_state.h"
#include "session/saved_fields.h"
#include "session/session_file.h"

namespace rill {

using session::GenerationState;
using session::SavedKind;
using session::SavedSession;
using session::SessionState;

namespace session {

// What is needed to make the answer's chain again.
enum class ChainFrom : std::uint8_t { sampling, chain, sampling_and_grammar };

}  // namespace session

template <>
inline constexpr session::ChainFrom kLastOf<session::ChainFrom> = session::ChainFrom::sampling_and_grammar;

namespace session {

// An answer but for the session. What its text and its stop strings have come to follows from its tokens.
struct GenerationState::Saved {
  GenerateOptions options;
  std::optional<std::size_t> grammar_budget;
  ChainFrom chain_from = ChainFrom::sampling;
  std::vector<std::byte> chain;
  Phase phase = Phase::prompt;
  std::size_t not_computed = 0;  // the answer's last tokens, which the session does not hold; in Phase::decode
  std::vector<Token> forced;
  std::vector<Token> tokens;  // what the session shall hold, where that does not follow from it: not in Phase::decode
  GenerationResult result;
  Duration elapsed{};
};

template <typename Archive>
void fields(Archive& archive, GenerationState::Saved& saved) {
  auto phase = static_cast<std::uint8_t>(saved.phase);
  archive(saved.options, saved.grammar_budget, saved.chain_from, saved.chain, phase, saved.not_computed, saved.forced,
          saved.tokens, saved.result, saved.elapsed);
  if constexpr (Archive::kReading) {
    if (phase > static_cast<std::uint8_t>(GenerationState::Phase::ended)) return archive.fail();
    saved.phase = static_cast<GenerationState::Phase>(phase);
  }
}

Result<std::vector<std::byte>> GenerationState::save() const {
  if (error_) return *error_;
  if (session_->epoch() != epoch_) {
    return make_error(ErrorCode::stale_handle, "the session was changed while this generation was running");
  }
  Saved saved;
  saved.options = options_;
  saved.options.end_tokens = end_tokens_;
  saved.grammar_budget = grammar_budget_;
  saved.chain_from = chain_was_given_   ? ChainFrom::chain
                     : options_.grammar ? ChainFrom::sampling_and_grammar
                                        : ChainFrom::sampling;
  RILL_ASSIGN(saved.chain, chain_.save());
  saved.phase = phase_;
  if (phase_ == Phase::decode) saved.not_computed = missing().size();
  saved.forced = forced_;
  if (phase_ != Phase::decode) saved.tokens = tokens_;
  saved.result = result_;
  saved.elapsed = elapsed();
  ArchiveWriter archive;
  archive(saved);
  return archive.take();
}

namespace {

Result<void> check_given(const char* option, bool then, bool now) {
  if (then == now) return {};
  return make_error(ErrorCode::invalid_argument,
                    "the answer was made {} GenerateOptions::{}, and ResumeOptions::{} is {}",
                    then ? "with a" : "without", option, option, now ? "given" : "absent");
}

}  // namespace

Result<std::shared_ptr<GenerationState>> GenerationState::resume(std::shared_ptr<SessionState> session,
                                                                 SessionState::Content content,
                                                                 std::span<const std::byte> bytes,
                                                                 ResumeOptions options) {
  Saved saved;
  ArchiveReader archive(bytes);
  archive(saved);
  RILL_TRY(archive.finish("answer"));
  RILL_TRY(check_given("chain", saved.chain_from == ChainFrom::chain, options.chain.has_value()));
  RILL_TRY(check_given("grammar", saved.chain_from == ChainFrom::sampling_and_grammar, options.grammar.has_value()));
  const std::vector<Token>& answer = saved.result.tokens;
  const bool running = saved.phase == Phase::decode;
  if (!answer.empty()) RILL_TRY(session->check_tokens(answer));
  const bool full = saved.options.max_tokens && answer.size() >= *saved.options.max_tokens;
  const bool impossible = running && (saved.not_computed == 0 || saved.not_computed > answer.size());
  if (answer.empty() ? running : saved.phase == Phase::prompt || (running && full) || impossible) {
    return make_error(ErrorCode::malformed, "answer: {} tokens cannot be what it has come to", answer.size());
  }
  std::vector<Token> tokens = running ? content.tokens : std::move(saved.tokens);
  if (running)
    tokens.insert(tokens.end(), answer.end() - static_cast<std::ptrdiff_t>(saved.not_computed), answer.end());
  // Begins anew with its prompt, or what is left of that, and then takes the answer's tokens as they come.
  const std::size_t kept = std::min(answer.size(), tokens.size() - std::min<std::size_t>(1, tokens.size()));
  std::vector<Token> prompt(tokens.begin(), tokens.end() - static_cast<std::ptrdiff_t>(kept));
  saved.options.chain = std::move(options.chain);
  saved.options.grammar = std::move(options.grammar);
  saved.options.speculation = options.speculation;
  saved.options.stop = std::move(options.stop);
  saved.options.prefill_progress = std::move(options.prefill_progress);
  const Duration started = session->options().clock() - saved.elapsed;
  RILL_ASSIGN(auto state,
              make(session, std::move(prompt), 0, std::move(saved.options), saved.grammar_budget, started, {}));
  std::optional<Processor> mask;
  if (state->options_.grammar) mask = state->chain_.options_.processors.front();
  RILL_TRY(state->chain_.restore(saved.chain));
  if (mask) {
    const auto accepts = [&](Token token) { return (*mask)->accept(token).has_value(); };
    const Processor& restored = state->chain_.options_.processors.front();
    if (!std::all_of(answer.begin(), answer.end(), accepts) ||
        (*mask)->save_state().value() != restored->save_state().value()) {
      return make_error(ErrorCode::malformed, "answer: its tokens are not those that the grammar has followed");
    }
  }
  std::string text;
  for (const Token token : answer) {
    if (state->speculation_ != nullptr) state->speculation_->accept(token);
    text += state->spell(token).text;
  }
  if (running && text != saved.result.text) {
    return make_error(ErrorCode::malformed, "answer: its tokens spell another text");
  }
  state->phase_ = saved.phase;
  state->tokens_ = std::move(tokens);
  state->not_computed_ = saved.not_computed;
  state->forced_ = std::move(saved.forced);
  state->result_ = std::move(saved.result);
  session->adopt(std::move(content));
  state->epoch_ = session->epoch();
  return state;
}

}  // namespace session

Result<void> Session::save(const std::filesystem::path& path, const SaveOptions& options) const {
  return guarded([&]() -> Result<void> {
    RILL_ASSIGN(const auto entry, state_->enter());
    std::vector<std::byte> chain;
    if (options.chain != nullptr) {
      RILL_ASSIGN(chain, options.chain->save());
    }
    return session::save_to_file(path, *state_, SavedKind::session, chain, options.stop);
  });
}

Result<std::vector<std::byte>> Session::save(const SaveOptions& options) const {
  return guarded([&]() -> Result<std::vector<std::byte>> {
    RILL_ASSIGN(const auto entry, state_->enter());
    std::vector<std::byte> chain;
    if (options.chain != nullptr) {
      RILL_ASSIGN(chain, options.chain->save());
    }
    return session::save_to_buffer(*state_, SavedKind::session, chain, options.stop);
  });
}

Result<void> Session::restore_from(const ByteSource& source, const RestoreOptions& options) {
  return guarded([&]() -> Result<void> {
    RILL_ASSIGN(const auto entry, state_->enter());
    RILL_ASSIGN(SavedSession saved, session::read_saved(source, *state_, SavedKind::session, options.stop));
    if (saved.part.empty() != (options.chain == nullptr)) {
      return make_error(ErrorCode::invalid_argument, "{}: saved {} a sampler chain, and RestoreOptions::chain is {}",
                        source.name(), saved.part.empty() ? "without" : "with", options.chain ? "given" : "absent");
    }
    if (options.chain != nullptr) RILL_TRY(options.chain->restore(saved.part));
    state_->adopt(std::move(saved.content));
    return {};
  });
}

Result<void> Session::restore(const std::filesystem::path& path, const RestoreOptions& options) {
  RILL_ASSIGN(const ByteSourcePtr source, open_file(path));
  return restore_from(*source, options);
}

Result<void> Session::restore(std::span<const std::byte> saved, const RestoreOptions& options) {
  RILL_ASSIGN(const ByteSourcePtr source, borrow_buffer(saved));
  return restore_from(*source, options);
}

Result<Generation> Session::resume_from(const ByteSource& source, ResumeOptions options) {
  return guarded([&]() -> Result<Generation> {
    RILL_ASSIGN(const auto entry, state_->enter());
    RILL_ASSIGN(SavedSession saved, session::read_saved(source, *state_, SavedKind::generation, options.stop));
    RILL_ASSIGN(auto state,
                GenerationState::resume(state_, std::move(saved.content), saved.part, std::move(options)));
    return Generation(std::move(state));
  });
}

Result<Generation> Session::resume(const std::filesystem::path& path, ResumeOptions options) {
  RILL_ASSIGN(const ByteSourcePtr source, open_file(path));
  return resume_from(*source, std::move(options));
}

Result<Generation> Session::resume(std::span<const std::byte> saved, ResumeOptions options) {
  RILL_ASSIGN(const ByteSourcePtr source, borrow_buffer(saved));
  return resume_from(*source, std::move(options));
}

Result<void> Generation::save(const std::filesystem::path& path, const StopToken& stop) const {
  return guarded([&]() -> Result<void> {
    RILL_ASSIGN(const auto entry, state_->session()->enter());
    RILL_ASSIGN(const std::vector<std::byte> part, state_->save());
    return session::save_to_file(path, *state_->session(), SavedKind::generation, part, stop);
  });
}

Result<std::vector<std::byte>> Generation::save(const StopToken& stop) const {
  return guarded([&]() -> Result<std::vector<std::byte>> {
    RILL_ASSIGN(const auto entry, state_->session()->enter());
    RILL_ASSIGN(const std::vector<std::byte> part, state_->save());
    return session::save_to_buffer(*state_->session(), SavedKind::generation, part, stop);
  });
}

}  // namespace rill
