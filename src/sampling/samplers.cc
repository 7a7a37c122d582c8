#include "base/error.h"
#include "rill/processors.h"
#include "sampling/stage.h"
#include "sampling/option_check.h"
#include "sampling/softmax.h"
#include "sampling/truncate.h"

namespace rill {
namespace sampling {
namespace {

class Greedy final : public Clonable<TokenSampler, Greedy> {
 public:
  std::string describe() const override { return "greedy()"; }
  Result<Token> pick(Candidates& candidates, Draws&) override { return pick_best(candidates); }
};

// Temperature, one truncation, a draw. Temperature 0 takes the best.
template <typename Value>
class Truncated final : public Clonable<TokenSampler, Truncated<Value>> {
 public:
  using Check = Result<void> (*)(Value);
  using Truncate = Result<void> (*)(Candidates&, Value);
  Truncated(const char* name, float temperature, Value value, Check check, Truncate truncate)
      : name_(name), temperature_(temperature), value_(value), check_(check), truncate_(truncate) {}

  Result<void> validate() const override {
    RILL_TRY(check_temperature(temperature_));
    return check_(value_);
  }
  std::string describe() const override {
    return format("{0}(temperature={1}, {0}={2})", name_, temperature_, value_);
  }
  Result<Token> pick(Candidates& candidates, Draws& draws) override {
    if (temperature_ == 0) return pick_best(candidates);
    RILL_TRY(apply_temperature(candidates, temperature_));
    RILL_TRY(truncate_(candidates, value_));
    return draw(candidates, draws);
  }

 private:
  const char* name_;
  float temperature_;
  Value value_;
  Check check_;
  Truncate truncate_;
};

class Categorical final : public Clonable<TokenSampler, Categorical> {
 public:
  explicit Categorical(const CategoricalOptions& options) : temperature_(options.temperature) {}

  Result<void> validate() const override { return check_temperature(temperature_); }
  std::string describe() const override { return format("categorical(temperature={})", temperature_); }
  Result<Token> pick(Candidates& candidates, Draws& draws) override {
    if (temperature_ == 0) return pick_best(candidates);
    RILL_TRY(apply_temperature(candidates, temperature_));
    return draw(candidates, draws);
  }

 private:
  float temperature_;
};

}  // namespace
}  // namespace sampling

Sampler greedy() { return sampling::Greedy(); }
Sampler categorical(const CategoricalOptions& options) { return sampling::Categorical(options); }
Sampler top_k(const TopKOptions& options) {
  return sampling::Truncated<int>("top_k", options.temperature, options.top_k, sampling::check_top_k,
                                  sampling::keep_top_k);
}
Sampler top_p(const TopPOptions& options) {
  return sampling::Truncated<float>("top_p", options.temperature, options.top_p, sampling::check_top_p,
                                    sampling::keep_top_p);
}
Sampler min_p(const MinPOptions& options) {
  return sampling::Truncated<float>("min_p", options.temperature, options.min_p, sampling::check_min_p,
                                    sampling::keep_min_p);
}

}  // namespace rill
