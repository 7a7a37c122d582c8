// The state of one answer.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rill/detokenizer.h"
#include "rill/generation.h"
#include "session/session_state.h"
#include "session/speculation.h"
#include "session/stop_matcher.h"

namespace rill::session {

class GenerationState {
 public:
  // Checks everything that can be checked before the first forward pass. The caller has entered the session. `started`
  // is when the call came in, on the session's clock; `tokenize` how long its text took.
  static Result<std::shared_ptr<GenerationState>> start(std::shared_ptr<SessionState> session,
                                                        std::vector<Token> prompt, GenerateOptions options,
                                                        Duration started, Duration tokenize);
  // The same, but the session is made to hold `tokens` instead of having them appended.
  static Result<std::shared_ptr<GenerationState>> start_over(std::shared_ptr<SessionState> session,
                                                             std::vector<Token> tokens, GenerateOptions options,
                                                             Duration started, Duration tokenize);

  GenerationState(std::shared_ptr<SessionState> session, GenerateOptions options, SamplerChain chain,
                  StopMatcher matcher);

  std::optional<Chunk> next();
  Result<GenerationResult> result() const;

  // The part of a saved session. The caller has entered the session. Errors: that of an answer that failed; stale_handle;
  // those of SamplerChain::save.
  Result<std::vector<std::byte>> save() const;
  // The same answer over a session that is made to hold `content`, at the last when nothing can fail any more.
  static Result<std::shared_ptr<GenerationState>> resume(std::shared_ptr<SessionState> session,
                                                         SessionState::Content content,
                                                         std::span<const std::byte> saved, ResumeOptions options);

  // The steps of next() apart, for who drives several answers through common passes. The session then belongs to the
  // driver alone. A round is: make_room(); what missing() says is appended, in pieces and with draft() behind its last
  // token if there is but one; sample() from the logits that follow.
  //
  // False: the window is full, and the answer shall end so. After true the session holds a proper prefix of tokens(),
  // which it may have from its prefix cache.
  Result<bool> make_room();
  // What the session shall hold before the next sample: prompt and answer, without what was dropped of them.
  std::span<const Token> tokens() const { return tokens_; }
  // Those that it does not hold yet. Nothing after a draft that was right: sample() may follow at once.
  std::span<const Token> missing() const { return std::span(tokens_).subspan(session_->tokens().size()); }
  // The length at which an append shall end, so that leave_boundary() can leave it to the prefix cache: tokens().size(),
  // which needs no such call, or one that GenerateOptions names.
  std::size_t next_boundary() const;
  void leave_boundary();
  // Whether missing() are but tokens that were chosen since the last pass.
  bool missing_are_new() const { return missing().size() <= not_computed_; }
  // Takes over what was already computed of the only missing token, if it was drafted.
  bool advance();
  // Guesses what follows the only missing token, at most `most` tokens.
  Result<std::span<const Token>> draft(std::size_t most);
  // What of the next sample() needs no logits; for a thread that has time while missing() are computed, and nothing else
  // happens here.
  void prepare() noexcept { chain_.prepare(); }
  // Whether a token comes next that needs no logits: take_forced() takes it, if the masks let it, before more is computed.
  bool forces() const;
  std::optional<Chunk> take_forced();
  // One step from what `logits` says, or the last one. Nothing: the answer has ended without a further word, or failed.
  std::optional<Chunk> sample(const LogitsSource& logits);
  std::optional<Chunk> finish(FinishReason reason);
  void fail(Error error);
  bool stop_requested() const { return options_.stop.stop_requested(); }

  const GenerateOptions& options() const { return options_; }
  const std::shared_ptr<SessionState>& session() const { return session_; }
  Timings& timings() { return result_.timings; }
  bool ended() const { return phase_ == Phase::ended; }
  bool failed() const { return error_.has_value(); }
  const GenerationResult& so_far() const { return result_; }

  // The first `tokens` of the answer spell the first `bytes` of its text. What follows belongs to a stop string, or is
  // held back.
  struct Spelled {
    std::size_t tokens;
    std::size_t bytes;
  };
  Spelled spelled() const;

 private:
  enum class Phase : std::uint8_t { prompt, decode, ended };
  struct Saved;
  template <typename Archive>
  friend void fields(Archive& archive, Saved& saved);

  static Result<std::shared_ptr<GenerationState>> make(std::shared_ptr<SessionState> session, std::vector<Token> tokens,
                                                       std::size_t prompt_begin, GenerateOptions options,
                                                       std::optional<std::size_t> grammar_budget, Duration started,
                                                       Duration tokenize);
  Result<void> check_room() const;
  void resolve_stop_tokens();
  Result<void> start_speculation();

  template <typename Step>
  std::optional<Chunk> run(Step step);
  Result<void> step(Chunk& chunk);
  bool drop_oldest(std::size_t most);
  Result<void> prefill();
  void count(const SessionState::Reused& reused);
  Result<void> feed_last_tokens();
  Result<void> append(std::span<const Token> tokens, std::span<const Token> drafts, const BesideWork& beside);
  Result<void> choose(const LogitsSource& logits, Chunk& chunk);
  Result<void> sample_from(const LogitsSource& logits, Chunk& chunk);
  Result<bool> choose_forced(Chunk& chunk);
  void find_forced();
  bool stops_at(Token token) const;
  Result<bool> grammar_ends() const;
  bool only_end_tokens_allowed() const;
  void take(Token token, Chunk& chunk);
  StopMatcher::Step spell(Token token);
  void end(FinishReason reason, Chunk& chunk);
  Duration elapsed() const { return session_->options().clock() - started_; }

  std::shared_ptr<SessionState> session_;
  GenerateOptions options_;
  SamplerChain chain_;
  bool chain_was_given_ = false;
  std::optional<std::size_t> grammar_budget_;  // tokens from the answer's begin; that of the session where it began
  std::unique_ptr<Speculation> speculation_;  // null: off
  StopMatcher matcher_;
  Detokenizer detokenizer_;
  std::vector<Token> end_tokens_;  // ascending
  // With the stop string that a control token spells.
  std::vector<std::pair<Token, std::optional<std::string>>> stop_tokens_;
  std::vector<Token> tokens_;      // what the session shall hold before the next sample
  std::size_t not_computed_ = 0;   // the last of them, chosen since the last pass
  std::vector<Token> forced_;      // those that come next, the first one last
  Phase phase_ = Phase::prompt;
  std::uint64_t epoch_ = 0;  // of the session after this generation's last change
  Duration started_{};
  GenerationResult result_;
  // Bytes of text after each token, those of a character that is still open included.
  std::vector<std::size_t> text_ends_;
  std::size_t delivered_ = 0;  // bytes of text that the detokenizer gave
  std::optional<Error> error_;
  std::atomic<bool> refused_{false};  // the last next() found the session busy
};

}  // namespace rill::session
