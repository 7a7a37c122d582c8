// What a model and the sequences that it serves take of memory, known before any of it is taken; and how many
// sequences, or how long ones, a machine holds. Nothing here overflows (see rill/kv_plan.h). All functions are
// thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>

#include "rill/byte_source.h"
#include "rill/export.h"
#include "rill/kv_plan.h"
#include "rill/model.h"
#include "rill/result.h"

namespace rill {

// What a model takes besides keys and values, in bytes where nothing else is said.
struct ModelMemory {
  std::uint64_t weights = 0;  // as packed
  std::uint64_t tokenizer = 0;
  std::uint64_t loading = 0;  // beside both, until the model is loaded: the file's metadata, slices to be packed
  std::uint64_t scratch = 0;  // of a forward pass, however many rows it has
  std::uint64_t scratch_per_row = 0;
  std::uint64_t session_rows = 0;    // rows whose scratch memory each session that computes keeps; more are the model's
  std::uint64_t logits = 0;          // of one position
  std::uint64_t context_length = 0;  // tokens the model was trained for
  KvShape kv = {};
};

RILL_EXPORT ModelMemory model_memory(const Model& model);
// Of a model file, without its weights being read: a few milliseconds, or some 100 for a large vocabulary, which is
// read. `threads` as in ModelOptions. Errors of Model::load, as far as metadata and tensor table show them.
RILL_EXPORT Result<ModelMemory> model_memory(const std::filesystem::path& path, int threads = 0);
RILL_EXPORT Result<ModelMemory> model_memory(ByteSourcePtr source, int threads = 0);

// Rows of logits that a Scheduler computes, and keeps, at a time.
inline constexpr std::uint64_t kSchedulerHeadRows = 32;

// What is to be served.
struct MemoryNeeds {
  std::uint64_t context_tokens = 0;  // most tokens of a sequence; 0: the model's context_length
  std::uint64_t average_tokens = 0;  // that a sequence holds over its life, on average; 0: half of context_tokens
  std::uint64_t sequences = 1;       // at a time
  KvType kv_type = KvType::f16;
  std::uint64_t prefill_chunk = 256;  // as in SessionOptions
  std::uint64_t rollback_reserve = 64;
  bool sessions = true;  // each in a Session of its own; false: all in a Scheduler, which shares scratch memory
};

// Bytes. Beside them stands what the process takes anyway.
struct MemoryPlan {
  std::uint64_t weights = 0;
  std::uint64_t tokenizer = 0;
  std::uint64_t loading = 0;     // gone when anything below is taken
  std::uint64_t scratch = 0;     // of forward passes
  std::uint64_t sampling = 0;    // logits, and what chains make of them
  std::uint64_t kv_peak = 0;     // all sequences at their worst moment: a KvPool of that budget never refuses one
  std::uint64_t kv_average = 0;  // all sequences at their average length

  constexpr std::uint64_t total(std::uint64_t kv) const {
    using saturating::add;
    return add(add(weights, tokenizer), std::max(loading, add(add(scratch, sampling), kv)));
  }
  constexpr std::uint64_t peak() const { return total(kv_peak); }
  constexpr std::uint64_t average() const { return total(kv_average); }
};

constexpr MemoryPlan plan_memory(const ModelMemory& model, MemoryNeeds needs) {
  using saturating::add, saturating::multiply;
  if (needs.context_tokens == 0) needs.context_tokens = model.context_length;
  if (needs.average_tokens == 0) needs.average_tokens = saturating::divide_up(needs.context_tokens, 2);
  const auto scratch = [&](std::uint64_t rows) { return add(model.scratch, multiply(rows, model.scratch_per_row)); };
  const std::uint64_t own_rows = std::min(model.session_rows, needs.prefill_chunk);
  KvPages peak = kv_pages_peak(model.kv, {needs.context_tokens, needs.prefill_chunk, needs.rollback_reserve});
  if (!needs.sessions) {  // it keeps a page of each kind for a copy of what a sequence shares with others and writes to
    peak = {add(peak.global, 1), add(peak.sliding, 1)};
  }
  const KvPages average =
      kv_pages_held(model.kv, std::min(needs.average_tokens, needs.context_tokens), needs.rollback_reserve);

  MemoryPlan plan;
  plan.weights = model.weights;
  plan.tokenizer = model.tokenizer;
  plan.loading = model.loading;
  // The candidates of each sequence, and the weights of their softmax.
  plan.sampling = multiply(multiply(needs.sequences, 2), model.logits);
  std::uint64_t longest_pass = std::min(needs.prefill_chunk, needs.context_tokens);
  if (needs.sessions) {
    plan.scratch = multiply(needs.sequences, scratch(own_rows));
  } else {
    longest_pass = add(std::min(needs.prefill_chunk, multiply(needs.sequences, needs.context_tokens)), needs.sequences);
    plan.scratch = scratch(own_rows);
    plan.sampling = add(plan.sampling, multiply(std::min(needs.sequences, kSchedulerHeadRows), model.logits));
  }
  if (longest_pass > own_rows) plan.scratch = add(plan.scratch, scratch(longest_pass));
  plan.kv_peak = multiply(needs.sequences, kv_bytes(model.kv, needs.kv_type, peak));
  plan.kv_average = multiply(needs.sequences, kv_bytes(model.kv, needs.kv_type, average));
  return plan;
}

// The most sequences at a time that a budget for everything holds, each sure of its pages to its end; 0 if not one.
constexpr std::uint64_t sequences_guaranteed(const ModelMemory& model, MemoryNeeds needs, std::uint64_t budget_bytes) {
  return saturating::greatest([&](std::uint64_t sequences) {
    needs.sequences = sequences;
    return saturating::fits(plan_memory(model, needs).peak(), budget_bytes);
  });
}

// The most that it holds at their average length; 0 if not one could come to its end. When more of them than usual are
// long, some wait or are swapped out.
constexpr std::uint64_t sequences_overcommitted(const ModelMemory& model, MemoryNeeds needs,
                                                std::uint64_t budget_bytes) {
  if (sequences_guaranteed(model, needs, budget_bytes) == 0) return 0;
  return saturating::greatest([&](std::uint64_t sequences) {
    needs.sequences = sequences;
    return saturating::fits(plan_memory(model, needs).average(), budget_bytes);
  });
}

// The greatest context_tokens with which needs.sequences are guaranteed; at most the model's context_length, 0 if none.
constexpr std::uint64_t context_guaranteed(const ModelMemory& model, MemoryNeeds needs, std::uint64_t budget_bytes) {
  return saturating::greatest([&](std::uint64_t tokens) {
    needs.context_tokens = tokens;
    return tokens <= model.context_length && saturating::fits(plan_memory(model, needs).peak(), budget_bytes);
  });
}

}  // namespace rill
