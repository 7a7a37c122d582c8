#include "model/kv_places.h"

#include <algorithm>
#include <numeric>

namespace rill::model {
namespace {

struct Kinds {
  std::size_t global = 0, sliding = 0;  // layers
  std::size_t together = 0;             // in a page
};

Kinds count_kinds(const Config& config) {
  const auto sliding = static_cast<std::size_t>(std::count(config.sliding.begin(), config.sliding.end(), true));
  const std::size_t global = config.layers - sliding;
  return {global, sliding, std::gcd(global, sliding)};
}

}  // namespace

std::vector<kv::LayerGroup> kv_groups(const Config& config, KvType type) {
  const Kinds kinds = count_kinds(config);
  const KvLayout layout{type, config.kv_heads, config.head_dim};
  std::vector<kv::LayerGroup> groups(kinds.global / kinds.together, {kinds.together, 0, layout});
  groups.resize(config.layers / kinds.together, {kinds.together, config.sliding_window, layout});
  return groups;
}

std::vector<KvPlace> kv_places(const Config& config) {
  const Kinds kinds = count_kinds(config);
  std::size_t global = 0, sliding = kinds.global;
  std::vector<KvPlace> places;
  for (const bool is_sliding : config.sliding) {
    const std::size_t place = is_sliding ? sliding++ : global++;
    places.push_back({place / kinds.together, place % kinds.together});
  }
  return places;
}

}  // namespace rill::model
