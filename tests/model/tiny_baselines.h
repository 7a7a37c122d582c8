// Logits of tiny random models, computed once in the plainest way: what every other way must give, and the committed
// digests.
#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "kernels/kernel_table.h"
#include "model/bits_run.h"
#include "rill/rill.h"
#include "tensor/element_type.h"

namespace rill::test {

inline constexpr const char* kArchitectures[] = {"llama", "gemma3"};
inline constexpr KvType kKvTypes[] = {KvType::f32, KvType::f16, KvType::q8_0};
inline constexpr Activations kActivations[] = {Activations::fast, Activations::accurate};

// All that the bits of a tiny model's logits depend on.
struct Identity {
  kernels::NumericsClass numerics_class = kernels::NumericsClass::fma;
  std::string architecture;
  ElementType type = ElementType::f32;  // of all matrices
  KvType kv_type = KvType::f16;
  Activations activations = Activations::fast;
  auto operator<=>(const Identity&) const = default;
};
std::string to_string(const Identity& identity);  // "fma llama Q4_1 f16 fast"

// The best table of each class that this machine runs.
const std::map<kernels::NumericsClass, const kernels::KernelTable*>& numerics_classes();

// Of every class that this machine runs.
std::vector<Identity> identities();

// Loads the identity's model, on the target asked for.
Load loader(const Identity& identity);

// Tokens of the sequences, all of which begin alike: over several pages and the window of tiny Gemma, and into a second
// span of attention. The long one is left out where a sanitizer or an emulator makes everything slow.
#if defined(RILL_SHORT_SEQUENCES)
inline constexpr std::size_t kLengths[] = {70};
#else
inline constexpr std::size_t kLengths[] = {70, 270};
#endif
Sequence sequence(std::size_t length);

// Logits of every position of the longest sequence.
const Rows& baseline(const Identity& identity);

}  // namespace rill::test
