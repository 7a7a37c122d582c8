// Options of Session::embed.
#pragma once

#include <cstdint>
#include <optional>

#include "rill/stop_token.h"
#include "rill/tokenizer.h"

namespace rill {

// How the hidden states of a text's tokens become one vector. The numbers are those of GGUF's pooling_type.
enum class Pooling : std::uint8_t {
  none,  // one vector for each token
  mean,
  cls,   // the first token's
  last,  // the last token's
};

struct EmbedOptions {
  // Absent: what the model's file declares; an error if it declares none.
  std::optional<Pooling> pooling = std::nullopt;
  bool normalize = true;  // each vector to Euclidean length 1
  AddSpecial add_special = AddSpecial::from_model;
  StopToken stop = {};
};

}  // namespace rill
