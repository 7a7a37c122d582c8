#include "base/error.h"
#include "rill/processors.h"
#include "sampling/clonable.h"
#include "sampling/option_check.h"
#include "sampling/softmax.h"
#include "sampling/truncate.h"

namespace rill {
namespace sampling {
namespace {

Result<Token> pick_best(Candidates& candidates) {
  RILL_ASSIGN(const Peak peak, find_peak(candidates));
  return candidates.id(peak.index);
}

Result<Token> draw(Candidates& candidates, Draws& draws) {
  RILL_ASSIGN(const Softmax softmax, Softmax::of(candidates));
  return candidates.id(softmax.pick(draws.next()));
}

class Greedy final : public Clonable<TokenSampler, Greedy> {
 public:
  std::string describe() const override { return "greedy()"; }
  Result<Token> pick(Candidates& candidates, Draws&) override { return pick_best(candidates); }
};

class Categorical final : public Clonable<TokenSampler, Categorical> {
 public:
  explicit Categorical(const CategoricalOptions& options) : options_(options) {}

  Result<void> validate() const override { return check_temperature(options_.temperature); }
  std::string describe() const override { return fmt::format("categorical(temperature={})", options_.temperature); }
  Result<Token> pick(Candidates& candidates, Draws& draws) override {
    if (options_.temperature == 0) return pick_best(candidates);
    RILL_TRY(apply_temperature(candidates, options_.temperature));
    return draw(candidates, draws);
  }

 private:
  CategoricalOptions options_;
};

class TopP final : public Clonable<TokenSampler, TopP> {
 public:
  explicit TopP(const TopPOptions& options) : options_(options) {}

  Result<void> validate() const override {
    RILL_TRY(check_temperature(options_.temperature));
    return check_top_p(options_.top_p);
  }
  std::string describe() const override {
    return fmt::format("top_p(temperature={}, top_p={})", options_.temperature, options_.top_p);
  }
  Result<Token> pick(Candidates& candidates, Draws& draws) override {
    if (options_.temperature == 0) return pick_best(candidates);
    RILL_TRY(apply_temperature(candidates, options_.temperature));
    RILL_TRY(keep_top_p(candidates, options_.top_p));
    return draw(candidates, draws);
  }

 private:
  TopPOptions options_;
};

}  // namespace
}  // namespace sampling

Sampler greedy() { return sampling::Greedy(); }
Sampler categorical(const CategoricalOptions& options) { return sampling::Categorical(options); }
Sampler top_p(const TopPOptions& options) { return sampling::TopP(options); }

}  // namespace rill
