#include "rill/processors.h"
#include "sampling/option_check.h"
#include "sampling/stage.h"
#include "sampling/truncate.h"

namespace rill {
namespace sampling {
namespace {

// A processor without state: one number, its check, and what it does to candidates.
template <typename Value>
class Step final : public Clonable<LogitsProcessor, Step<Value>> {
 public:
  using Check = Result<void> (*)(Value);
  using Apply = Result<void> (*)(Candidates&, Value);
  Step(const char* name, Value value, Check check, Apply apply)
      : name_(name), value_(value), check_(check), apply_(apply) {}

  Result<void> validate() const override { return check_(value_); }
  std::string describe() const override { return format("{}({})", name_, value_); }
  Result<void> process(Candidates& candidates, Draws&) override { return apply_(candidates, value_); }

 private:
  const char* name_;
  Value value_;
  Check check_;
  Apply apply_;
};

Result<void> check_positive_temperature(float value) {
  if (!(std::isfinite(value) && value > 0)) return refused("temperature", value, "finite and above 0");
  return {};
}

class Xtc final : public Clonable<LogitsProcessor, Xtc> {
 public:
  explicit Xtc(const XtcOptions& options) : options_(options) {}

  Result<void> validate() const override {
    RILL_TRY(check_within("xtc probability", options_.probability, 0, 1, "0 to 1"));
    if (!(options_.threshold > 0 && options_.threshold <= 1)) {
      return refused("xtc threshold", options_.threshold, "above 0 and at most 1");
    }
    return {};
  }
  std::string describe() const override {
    return format("xtc(probability={}, threshold={})", options_.probability, options_.threshold);
  }
  Result<void> process(Candidates& candidates, Draws& draws) override {
    const double uniform = static_cast<double>(draws.next() >> 11) * 0x1p-53;
    if (uniform >= static_cast<double>(options_.probability)) return {};
    return exclude_top_choices(candidates, options_.threshold);
  }

 private:
  XtcOptions options_;
};

}  // namespace
}  // namespace sampling

Processor scale_temperature(float temperature) {
  return sampling::Step<float>("scale_temperature", temperature, sampling::check_positive_temperature,
                               sampling::apply_temperature);
}
Processor keep_top_k(int k) {
  return sampling::Step<int>("keep_top_k", k, sampling::check_top_k, sampling::keep_top_k);
}
Processor keep_top_p(float p) {
  return sampling::Step<float>("keep_top_p", p, sampling::check_top_p, sampling::keep_top_p);
}
Processor keep_min_p(float p) {
  return sampling::Step<float>("keep_min_p", p, sampling::check_min_p, sampling::keep_min_p);
}
Processor keep_typical(float p) {
  return sampling::Step<float>("keep_typical", p, sampling::check_typical_p, sampling::keep_typical);
}
Processor keep_top_n_sigma(float n) {
  return sampling::Step<float>("keep_top_n_sigma", n, sampling::check_top_n_sigma, sampling::keep_top_n_sigma);
}
Processor xtc(const XtcOptions& options) { return sampling::Xtc(options); }

}  // namespace rill
