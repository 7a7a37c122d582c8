#include "model/tiny_baselines.h"

#include <gtest/gtest.h>

#include <iterator>

#include "base/format.h"
#include "support/random_weights.h"
#include "support/tiny_model.h"

namespace rill::test {

std::string to_string(const Identity& identity) {
  constexpr const char* kKv[] = {"f32", "f16", "q8_0"};
  return format("{} {} {} {} {}", identity.numerics_class == kernels::NumericsClass::fma ? "fma" : "sse4",
                identity.architecture, info(identity.type).name, kKv[static_cast<std::size_t>(identity.kv_type)],
                identity.activations == Activations::fast ? "fast" : "accurate");
}

const std::map<kernels::NumericsClass, const kernels::KernelTable*>& numerics_classes() {
  static const auto classes = [] {
    std::map<kernels::NumericsClass, const kernels::KernelTable*> best;
    for (const kernels::KernelTable* table : kernels::available_tables()) best.emplace(table->numerics_class, table);
    return best;
  }();
  return classes;
}

std::vector<Identity> identities() {
  std::vector<Identity> all;
  for (const auto& [numerics_class, table] : numerics_classes()) {
    for (const char* architecture : kArchitectures) {
      for (const ElementType type : kAllElementTypes) {
        for (const KvType kv_type : kKvTypes) {
          for (const Activations activations : kActivations)
            all.push_back({numerics_class, architecture, type, kv_type, activations});
        }
      }
    }
  }
  return all;
}

Load loader(const Identity& identity) {
  TinyModelOptions options = tiny_options(identity.architecture, identity.type);
  if (options.head_dim < 32) options.head_dim = 32;  // whole blocks of q8_0
  if (options.embedding == 256) {  // rows as wide as a K block are costly: no more of them than needed
    options.heads = 256 / options.head_dim;
    options.feed_forward = 256;
  }
  return [file = make_tiny_model(options)](ModelOptions model_options) {
    const std::string target = model_options.target;
    auto model = Model::load(borrow_buffer(file).value(), std::move(model_options)).value();
    EXPECT_EQ(model->info().target, target);
    EXPECT_EQ(model->info().numerics_class, target == "sse4" ? "sse4" : "fma");
    return model;
  };
}

Sequence sequence(std::size_t length) {
  return {.tokens = random_tokens(TinyModelOptions().vocabulary, length, 11), .prompt = length - 10};
}

const Rows& baseline(const Identity& identity) {
  static std::map<Identity, Rows> all;
  Rows& rows = all[identity];
  if (rows.empty()) {
    const Way way{.target = numerics_classes().at(identity.numerics_class)->name,
                  .activations = identity.activations,
                  .kv_type = identity.kv_type};
    rows = logits_of(loader(identity), way, sequence(std::end(kLengths)[-1]));
  }
  return rows;
}

}  // namespace rill::test
