#include "rill/processors.h"
#include "sampling/option_check.h"
#include "sampling/stage.h"

namespace rill {
namespace sampling {
namespace {

class RepetitionPenalty final : public HistoryProcessor<RepetitionPenalty> {
 public:
  explicit RepetitionPenalty(const RepetitionPenaltyOptions& options)
      : HistoryProcessor(options.scope, options.window), penalty_(options.penalty) {}

  Result<void> validate() const override {
    if (!(std::isfinite(penalty_) && penalty_ > 0)) return refused("penalty", penalty_, "finite and above 0");
    return history_.validate();
  }
  std::string describe() const override {
    return format("repetition_penalty(penalty={}, {})", penalty_, history_.describe());
  }
  Result<void> process(Candidates& candidates, Draws&) override {
    if (penalty_ == 1.0f) return {};
    for (const auto& [token, count] : history_.counts()) {
      const auto index = candidates.find(token);
      if (!index) continue;
      const float value = candidates.value(*index);
      candidates.set_value(*index, value > 0 ? value / penalty_ : value * penalty_);
    }
    return {};
  }

 private:
  float penalty_;
};

class AdditivePenalty final : public HistoryProcessor<AdditivePenalty> {
 public:
  AdditivePenalty(const AdditivePenaltyOptions& options, bool each_time)
      : HistoryProcessor(options.scope, options.window), penalty_(options.penalty), each_time_(each_time) {}

  Result<void> validate() const override {
    if (!std::isfinite(penalty_)) return refused("penalty", penalty_, "finite");
    return history_.validate();
  }
  std::string describe() const override {
    return format("{}_penalty(penalty={}, {})", each_time_ ? "frequency" : "presence", penalty_,
                       history_.describe());
  }
  Result<void> process(Candidates& candidates, Draws&) override {
    if (penalty_ == 0.0f) return {};
    for (const auto& [token, count] : history_.counts()) {
      const auto index = candidates.find(token);
      if (!index) continue;
      candidates.set_value(*index,
                           candidates.value(*index) - (each_time_ ? static_cast<float>(count) : 1.0f) * penalty_);
    }
    return {};
  }

 private:
  float penalty_;
  bool each_time_;
};

}  // namespace
}  // namespace sampling

Processor repetition_penalty(const RepetitionPenaltyOptions& options) { return sampling::RepetitionPenalty(options); }
Processor frequency_penalty(const AdditivePenaltyOptions& options) { return sampling::AdditivePenalty(options, true); }
Processor presence_penalty(const AdditivePenaltyOptions& options) { return sampling::AdditivePenalty(options, false); }

}  // namespace rill
