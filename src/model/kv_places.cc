#include "model/kv_places.h"

#include <algorithm>

namespace rill::model {
namespace {

KvLayout layout(const Config& config, KvType type) { return {type, config.kv_heads, config.head_dim}; }

// Groups are made only for kinds of layers that the model has; global layers come first.
bool has_global(const Config& config) {
  return std::find(config.sliding.begin(), config.sliding.end(), false) != config.sliding.end();
}

}  // namespace

std::vector<kv::LayerGroup> kv_groups(const Config& config, KvType type) {
  const auto sliding = static_cast<std::size_t>(std::count(config.sliding.begin(), config.sliding.end(), true));
  std::vector<kv::LayerGroup> groups;
  if (has_global(config)) groups.push_back({config.layers - sliding, 0, layout(config, type)});
  if (sliding != 0) groups.push_back({sliding, config.sliding_window, layout(config, type)});
  return groups;
}

std::vector<KvPlace> kv_places(const Config& config) {
  const std::size_t sliding_group = has_global(config) ? 1 : 0;
  std::size_t next[2] = {0, 0};
  std::vector<KvPlace> places;
  for (const bool sliding : config.sliding) {
    const std::size_t group = sliding ? sliding_group : 0;
    places.push_back({group, next[group]++});
  }
  return places;
}

}  // namespace rill::model
