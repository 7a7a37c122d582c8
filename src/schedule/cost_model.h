// What a pass takes, from what passes took.
#pragma once

#include <array>

#include "rill/model.h"
#include "rill/scheduler.h"

namespace rill::schedule {

// time = a + b * rows + c * rows of logits + d * tokens attended: least squares of the relative error, passes of long ago
// counting less. One thread at a time.
class CostModel {
 public:
  static constexpr std::size_t kTerms = 4;

  void observe(const PassShape& pass, Duration time);
  // Zero before anything was observed.
  Duration predict(const PassShape& pass) const;
  bool empty() const { return observed_ == 0; }

 private:
  void solve() const;

  std::array<double, kTerms * kTerms> products_{};  // of terms, weighted
  std::array<double, kTerms> right_{};
  std::size_t observed_ = 0;
  mutable std::array<double, kTerms> factors_{};
  mutable bool solved_ = true;
};

// Observes a few passes of several shapes on an empty cache, some 100 ms for a model of 100 MB.
Result<void> calibrate(const std::shared_ptr<const Model>& model, KvType kv_type, const Clock& clock, CostModel& cost);

}  // namespace rill::schedule
