// One answer, pulled token by token by the caller's own loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rill/export.h"
#include "rill/grammar.h"
#include "rill/json_schema.h"
#include "rill/metrics.h"
#include "rill/result.h"
#include "rill/sampler_chain.h"
#include "rill/sampling.h"
#include "rill/stop_token.h"
#include "rill/token.h"
#include "rill/tokenizer.h"

namespace rill {

class Session;

namespace session {
class GenerationState;
}

enum class FinishReason : std::uint8_t {
  end_token,    // the model ended; GenerationResult::end_token says with which
  stop_string,  // GenerationResult::stop_string says which
  max_tokens,
  context_full,  // ContextPolicy::stop, or no max_tokens and no room left
  cancelled,
  grammar_complete,  // as end_token, where the masks allowed nothing else; or `grammar` does, and end_tokens is empty
  deadline,          // Request::deadline
};

RILL_EXPORT const char* to_string(FinishReason reason) noexcept;

// What happens where prompt + max_tokens do not fit the context window.
enum class ContextPolicy : std::uint8_t {
  error,        // refused at the start with the three numbers
  stop,         // generate until the window is full: FinishReason::context_full
  drop_oldest,  // when full, keep the first `keep_tokens`, drop the `drop_tokens` after them, and feed the rest again
};

// Several tokens for little more than the price of one: the next ones are guessed, and one forward pass computes them all. A
// guess counts only if it is what the chain then chooses, so that the answer is the same to the bit, tokens and logits, sampled
// or not; what the session holds after each step is the same, too. Off unless a source is named.
struct SpeculationOptions {
  // Guesses that the text goes on as it did where its last tokens stood before, in the prompt or in the answer. Costs nothing
  // to ask; pays where an answer quotes, edits or repeats.
  bool prompt_lookup = false;
  // Guesses what a smaller model would say, drawn as the chain draws; asked where prompt lookup has nothing. A session of a
  // model with the same vocabulary (invalid_argument names the first difference), which is brought to hold the same tokens; it
  // may be kept for the next answer, and is not to be used otherwise while this one runs.
  Session* draft_session = nullptr;
  std::size_t max_draft_tokens = 15;  // at a time, 1 to 64. Fewer are guessed where guesses fail, and then none for a while
};

struct GenerateOptions {
  std::optional<std::size_t> max_tokens = std::nullopt;  // absent: until the window is full
  SamplingOptions sampling = {};
  std::optional<SamplerChain> chain = std::nullopt;      // instead of `sampling`
  std::optional<Grammar> grammar = std::nullopt;         // the answer is a text of it; with `chain`, put grammar_mask there
  // With a grammar: the answer is finished within max_tokens and the window, its end token included, by a mask that leaves
  // out what would not fit; where value checks of a schema take part, as far as a way to the end is found (docs/grammar.md).
  // invalid_argument at the start, with the number, if even the shortest text takes more.
  bool close_within_budget = true;
  // What the grammar leaves no choice about is not sampled, and computed several tokens at a time: those that the tokenizer
  // makes of the whole text (docs/numerics.md). With false each is sampled, which can be other tokens, and another answer.
  bool forced_tokens = true;
  // UTF-8, not empty; matched in the output, never in the prompt, however it is cut into tokens. One that spells control
  // tokens, alone or with other text, stops at those tokens, too, whose text is in the output only with show_special.
  std::vector<std::string> stop_strings = {};
  std::vector<Token> stop_tokens = {};                   // besides end_tokens
  std::optional<std::vector<Token>> end_tokens = std::nullopt;  // absent: the tokenizer's
  ContextPolicy context_policy = ContextPolicy::error;
  std::size_t keep_tokens = 0;                           // drop_oldest; at least two less than the window
  std::size_t drop_tokens = 0;                           // drop_oldest; 0: half of what may be dropped
  std::optional<LogprobOptions> logprobs = std::nullopt; // report log-probabilities with each token
  SpeculationOptions speculation = {};                   // faster, with the same answer
  // Lengths of this prompt, in tokens, from which other prompts may go on: where a part that they share ends. Only models
  // with sliding windows need them, as the ends of prompts and answers are kept in any case (SessionOptions::prefix_cache).
  std::vector<std::size_t> cache_boundaries = {};
  AddSpecial add_special = AddSpecial::from_model;       // of a text prompt, at position 0 only
  bool parse_special = false;                            // control tokens in a text prompt
  bool show_special = false;                             // control tokens in the output's text
  StopToken stop = {};
  std::function<void(std::size_t done, std::size_t total)> prefill_progress = {};
};

// What one step produced. `text` holds whole characters only; it is empty while a character or a possible stop string
// is still open, and may hold text of earlier tokens.
struct Chunk {
  std::string text;
  std::optional<Token> token;           // absent in the last chunk when it only delivers text that was held back
  std::optional<Sample> sample;         // with GenerateOptions::logprobs
};

struct GenerationResult {
  FinishReason finish_reason = FinishReason::end_token;
  std::string text;                     // all chunks together
  std::vector<Token> tokens;            // sampled, the end token excluded
  std::optional<Token> end_token;
  std::optional<std::string> stop_string;
  // What the schema of GenerateOptions::grammar says of `text` (Grammar::schema), by a validator that shares nothing with the
  // masks; absent without one. Made when the result is asked for, with the schema's checks; invalid, too, if it exceeds their
  // limits.
  std::optional<Validation> validation = std::nullopt;
  Timings timings;
};

// For an answer that goes on from a saved one: the parts of GenerateOptions that are code of the caller's, and no data.
struct ResumeOptions {
  // Made with the same stages; what they have seen, and the seed, come from what was saved. Needed where
  // GenerateOptions::chain was given, and not to be given elsewhere (invalid_argument).
  std::optional<SamplerChain> chain = std::nullopt;
  // The same one, compiled again. Needed where GenerateOptions::grammar was given, and not to be given elsewhere
  // (invalid_argument); another one is incompatible.
  std::optional<Grammar> grammar = std::nullopt;
  SpeculationOptions speculation = {};
  StopToken stop = {};  // also polled for each MiB that is read
  std::function<void(std::size_t done, std::size_t total)> prefill_progress = {};
};

// The session then holds the prompt and the answer, but for the last token, and forced ones before it: a token is computed
// when a successor is to be sampled. One thread at a time, together with its session. If the session is fed, truncated or
// generates anew in between, the next step ends with stale_handle. Move-only.
class RILL_EXPORT Generation {
 public:
  explicit Generation(std::shared_ptr<session::GenerationState> state);
  Generation(Generation&&) noexcept;
  Generation& operator=(Generation&&) noexcept;
  ~Generation();

  // The next step, or nothing when the answer has ended, in whatever way: result() says how. The first call prefills.
  std::optional<Chunk> next();
  // How the answer ended: an error, or what was made so far (a finished answer, or one cut off by calling this early,
  // which counts as cancelled). Every error of next() is reported here: it has ended the answer, and the session holds
  // what it held before that step. Only after `busy`, when the session was inside another call, next() may be called
  // again.
  Result<GenerationResult> result() const;
  // Runs to the end.
  Result<GenerationResult> finish();

  // Writes the session and this answer as far as it has come, for Session::resume: the options that are data, the state
  // of the chain, the text that is held back. A file or a buffer, as Session::save has it. Both go on undisturbed.
  // Errors, besides: unsupported names the chain's stage that cannot be saved; that of an answer that failed.
  Result<void> save(const std::filesystem::path& path, const StopToken& stop = {}) const;
  Result<std::vector<std::byte>> save(const StopToken& stop = {}) const;

 private:
  std::shared_ptr<session::GenerationState> state_;
};

}  // namespace rill
