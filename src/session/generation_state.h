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

  static Result<std::shared_ptr<GenerationState>> make(std::shared_ptr<SessionState> session, std::vector<Token> tokens,
                                                       std::size_t prompt_begin, GenerateOptions options,
                                                       Duration started, Duration tokenize);
  Result<void> check_room() const;
  void resolve_stop_tokens();
  Result<void> start_speculation();

  Result<void> step(Chunk& chunk);
  Result<void> prefill();
  Result<bool> feed_last_token();
  Result<std::span<const Token>> draft();
  Result<void> append(Token token, std::span<const Token> drafts);
  void drop_oldest(std::vector<Token>& tokens, std::size_t most) const;
  bool only_end_tokens_allowed() const;
  void take(Token token, Chunk& chunk);
  void end(FinishReason reason, Chunk& chunk);
  Duration elapsed() const { return session_->options().clock() - started_; }

  std::shared_ptr<SessionState> session_;
  GenerateOptions options_;
  SamplerChain chain_;
  std::unique_ptr<Speculation> speculation_;  // null: off
  StopMatcher matcher_;
  Detokenizer detokenizer_;
  std::vector<Token> end_tokens_;  // ascending
  // With the stop string that a control token spells.
  std::vector<std::pair<Token, std::optional<std::string>>> stop_tokens_;
  std::vector<Token> tokens_;     // what the session shall hold before the first sample
  std::size_t prompt_begin_ = 0;  // of tokens_: what came before is history
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
