// What a generation took, on an injectable clock.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

namespace rill {

using Duration = std::chrono::nanoseconds;

// Time since an arbitrary fixed point; must not go backwards. Called on the thread that drives the generation.
using Clock = std::function<Duration()>;

// The steady clock.
inline Duration steady_now() { return std::chrono::steady_clock::now().time_since_epoch(); }

struct Timings {
  std::size_t prompt_tokens = 0;     // of the whole prompt
  std::size_t reused_tokens = 0;     // of those, already held by the session, or by its prefix cache
  std::size_t cached_tokens = 0;     // of those, from the prefix cache
  // Known to the prefix cache and computed all the same: layers with a sliding window no longer held what goes before.
  std::size_t window_evicted_tokens = 0;
  std::size_t prefilled_tokens = 0;  // of those, computed now
  std::size_t decode_passes = 0;     // forward passes of generated tokens
  std::size_t drafted_tokens = 0;    // guessed in advance and computed in those passes (SpeculationOptions)
  std::size_t accepted_tokens = 0;   // of those, right, and so without a pass of their own
  std::size_t forced_tokens = 0;     // that the grammar left no choice about (GenerateOptions::forced_tokens)
  Duration tokenize{};
  Duration prefill{};
  Duration decode{};                 // forward passes of generated tokens
  Duration drafting{};               // guessing
  // Of all samples together:
  Duration masking{};                // grammars and other masks, but for what was done of them during passes
  Duration head{};                   // the LM head
  Duration sampling{};               // the rest
  std::optional<Duration> ttft;      // from the call of generate() to the first sampled token; absent without one
  std::vector<Duration> token_times; // when each generated token was sampled, from the call of generate()

  // Mean time per output token after the first; absent for fewer than two tokens.
  std::optional<Duration> tpot() const {
    if (token_times.size() < 2) return std::nullopt;
    return (token_times.back() - token_times.front()) / static_cast<Duration::rep>(token_times.size() - 1);
  }
  // Longest gap between two successive tokens; absent for fewer than two tokens.
  std::optional<Duration> worst_gap() const {
    std::optional<Duration> worst;
    for (std::size_t i = 1; i < token_times.size(); ++i) {
      const Duration gap = token_times[i] - token_times[i - 1];
      if (!worst || gap > *worst) worst = gap;
    }
    return worst;
  }
};

}  // namespace rill
