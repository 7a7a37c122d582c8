#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "base/math.h"
#include "rill/processors.h"
#include "sampling/option_check.h"
#include "sampling/softmax.h"
#include "sampling/stage.h"
#include "sampling/truncate.h"

namespace rill {

template <typename Archive>
static void fields(Archive& archive, Candidates& candidates) {
  bool dense = candidates.dense();
  std::size_t vocabulary = candidates.vocabulary_size();
  std::vector<Token> ids;
  std::vector<float> values(candidates.values().begin(), candidates.values().end());
  for (std::size_t i = 0; !dense && i < candidates.size(); ++i) ids.push_back(candidates.id(i));
  archive(dense, vocabulary, ids, values);
  if constexpr (Archive::kReading) {
    const bool ascending = std::adjacent_find(ids.begin(), ids.end(), std::greater_equal()) == ids.end();
    const bool in_range = ids.empty() || (ids.front() >= 0 && static_cast<std::size_t>(ids.back()) < vocabulary);
    if (values.size() != (dense ? vocabulary : ids.size()) || vocabulary > sampling::kMaxVocabulary || !ascending ||
        !in_range) {
      return archive.fail();
    }
    if (dense) {
      candidates.assign_all(vocabulary);
    } else {
      candidates.assign(ids, vocabulary);
    }
    std::copy(values.begin(), values.end(), candidates.values().begin());
  }
}

namespace sampling {
namespace {

constexpr double kLn2 = 0.69314718055994530942;

class Mirostat final : public Clonable<TokenSampler, Mirostat> {
 public:
  explicit Mirostat(const MirostatOptions& options) : options_(options) {}

  Result<void> validate() const override {
    RILL_TRY(check_temperature(options_.temperature));
    if (!(std::isfinite(options_.tau) && options_.tau > 0)) return refused("tau", options_.tau, "finite and above 0");
    return check_at_least("eta", options_.eta, 0, "finite and >= 0");
  }
  std::string describe() const override {
    return format("mirostat(temperature={}, tau={}, eta={})", options_.temperature, options_.tau, options_.eta);
  }

  Result<Token> pick(Candidates& candidates, Draws& draws) override {
    drawn_from_.reset();
    if (options_.temperature == 0) return pick_best(candidates);
    RILL_TRY(apply_temperature(candidates, options_.temperature));
    {
      RILL_ASSIGN(const Softmax softmax, Softmax::of(candidates));
      const double lowest = -bound() * kLn2;
      candidates.keep_if([&, best = softmax.peak().index](std::size_t i) {
        return i == best || softmax.log_probability(i) >= lowest;
      });
    }
    drawn_from_ = candidates;
    drawn_at_ = bounds_.size();
    return draw(candidates, draws);
  }

  // A token that was not drawn from the last distribution (forced, or chosen elsewhere) tells nothing about surprise.
  Result<void> accept(Token token) override {
    double next = bound();
    if (drawn_from_ && drawn_at_ == bounds_.size()) {
      if (const auto index = drawn_from_->find(token)) {
        RILL_ASSIGN(const Softmax softmax, Softmax::of(*drawn_from_));
        const double surprise = -softmax.log_probability(*index) / kLn2;
        next -= static_cast<double>(options_.eta) * (surprise - static_cast<double>(options_.tau));
      }
    }
    bounds_.push_back(next);
    return {};
  }
  void rollback(std::size_t count) override { bounds_.resize(bounds_.size() - count); }
  void reset() override {
    bounds_.clear();
    drawn_from_.reset();
  }

  template <typename Archive>
  void fields(Archive& archive) {
    archive(bounds_, drawn_at_, drawn_from_);
  }

 private:
  double bound() const { return bounds_.empty() ? 2.0 * static_cast<double>(options_.tau) : bounds_.back(); }

  MirostatOptions options_;
  std::vector<double> bounds_;            // mu after each accepted token, in bits
  std::optional<Candidates> drawn_from_;  // what pick() drew from when `drawn_at_` tokens were accepted
  std::size_t drawn_at_ = 0;
};

}  // namespace
}  // namespace sampling

Sampler mirostat(const MirostatOptions& options) { return sampling::Mirostat(options); }

}  // namespace rill
