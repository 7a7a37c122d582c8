// The logits of one sequence, computed in one of the many ways that must all give the same bits.
#pragma once

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rill/rill.h"
#include "support/host_float_mode.h"

namespace rill::test {

enum class Cut { prefill_chunk, pieces };  // of a prompt: inside one feed, or by a feed for each piece
enum class Head { full, few, half };       // the whole vocabulary, five rows of it, about half of it
enum class History {
  straight,
  rolled_back,
  refilled,
  child_of_fork,
  parent_of_fork
};  // between the prompt and what follows

// By default the baseline: everything at once and alone.
struct Way {
  std::string target = "";
  Activations activations = Activations::fast;
  KvType kv_type = KvType::f16;
  int threads = 1;
  std::size_t chunk = 512;  // tokens of the prompt at a time
  Cut cut = Cut::prefill_chunk;
  std::size_t batch = 1;  // sequences fed together: the others join one after the other, leave and come back
  Head head = Head::full;
  History history = History::straight;
  std::optional<HostFloatMode> host = {};
};
std::ostream& operator<<(std::ostream& out, const Way& way);

struct Sequence {
  std::vector<Token> tokens;
  std::size_t prompt = 0;         // the first so many are fed as the way says, the others one by one
  std::size_t compared_from = 0;  // the first position whose logits are asked for
};

using Rows = std::vector<std::vector<float>>;  // whole logits of the positions from compared_from on
using Load = std::function<std::shared_ptr<const Model>(ModelOptions)>;

// Does not change heads and histories: for baselines.
Rows logits_of(const Load& load, const Way& way, const Sequence& sequence);

// Fails the test at the first logit that differs from the baseline's. Returns how many were compared. The model is
// loaded and used in the host's floating-point mode, which must be as before in the end.
std::size_t expect_same_bits(const Load& load, const Way& way, const Sequence& sequence, const Rows& baseline);

// The same ids on every machine.
std::vector<Token> random_tokens(std::size_t vocabulary_size, std::size_t count, unsigned seed);

}  // namespace rill::test
