// How the layers of a model share the pages of a KV cache: groups of layers with a sliding window, and groups without, all
// of the same size (the greatest that divides both kinds), so that a page serves either.
#pragma once

#include <vector>

#include "kv/page_pool.h"
#include "model/config.h"
#include "rill/kv_plan.h"

namespace rill::model {

// Where a layer's keys and values are: layer `layer` of the pages of a group.
struct KvPlace {
  std::size_t group = 0;
  std::size_t layer = 0;
};

std::vector<kv::LayerGroup> kv_groups(const Config& config, KvType type);
std::vector<KvPlace> kv_places(const Config& config);  // [layers]

}  // namespace rill::model
