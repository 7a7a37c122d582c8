#include <algorithm>
#include <limits>
#include <unordered_map>

#include "rill/processors.h"
#include "sampling/option_check.h"
#include "sampling/stage.h"

namespace rill {
namespace sampling {
namespace {

class Dry final : public HistoryProcessor<Dry> {
 public:
  explicit Dry(DryOptions options) : HistoryProcessor(options.scope, options.window), options_(std::move(options)) {
    std::sort(options_.sequence_breakers.begin(), options_.sequence_breakers.end());
  }

  Result<void> validate() const override {
    RILL_TRY(check_at_least("multiplier", options_.multiplier, 0, "finite and >= 0"));
    RILL_TRY(check_at_least("base", options_.base, 1, "finite and >= 1"));
    if (options_.allowed_length == 0) return refused("allowed_length", 0, "at least 1");
    for (const Token token : options_.sequence_breakers) {
      if (token < 0) return refused("sequence_breakers", token, "token ids");
    }
    return history_.validate();
  }
  std::string describe() const override {
    return format("dry(multiplier={}, base={}, allowed_length={}, {}, {} breakers)", options_.multiplier,
                       options_.base, options_.allowed_length, history_.describe(), options_.sequence_breakers.size());
  }

  template <typename Archive>
  void fields(Archive& archive) {
    archive.expect(options_.sequence_breakers);
    history_.fields(archive);
  }

  Result<void> process(Candidates& candidates, Draws&) override {
    if (options_.multiplier == 0) return {};
    for (const auto& [token, length] : longest_repetitions()) {
      const auto index = candidates.find(token);
      if (index) candidates.set_value(*index, candidates.value(*index) - penalty(length));
    }
    return {};
  }

 private:
  bool breaks(Token token) const {
    return std::binary_search(options_.sequence_breakers.begin(), options_.sequence_breakers.end(), token);
  }

  // For each token, the length of the longest end of the history that stood right before it earlier, from
  // allowed_length on. Linear in the history: lengths[k] is the Z-function of the history read backwards, that is how
  // far its last tokens agree with those that end k places earlier.
  std::unordered_map<Token, std::size_t> longest_repetitions() const {
    const std::span<const Token> tokens = history_.recent();
    const auto backwards = [tokens](std::size_t i) { return tokens[tokens.size() - 1 - i]; };
    std::size_t reach = 0;  // no repetition reaches across a breaker
    while (reach < tokens.size() && !breaks(backwards(reach))) ++reach;
    std::unordered_map<Token, std::size_t> longest;
    if (reach < options_.allowed_length) return longest;

    std::vector<std::size_t> lengths(tokens.size());
    std::size_t left = 0, right = 0;  // the match that was seen to reach furthest
    for (std::size_t k = 1; k < tokens.size(); ++k) {
      std::size_t length = k < right ? std::min(right - k, lengths[k - left]) : 0;
      while (k + length < tokens.size() && backwards(length) == backwards(k + length)) ++length;
      if (k + length > right) left = k, right = k + length;
      lengths[k] = length;
      length = std::min(length, reach);
      const Token next = backwards(k - 1);
      if (length < options_.allowed_length || breaks(next)) continue;
      std::size_t& known = longest[next];
      known = std::max(known, length);
    }
    return longest;
  }

  // By repeated multiplication: the same bits everywhere. Stops at the largest float, so that no logit becomes -inf.
  float penalty(std::size_t length) const {
    constexpr double kLargest = std::numeric_limits<float>::max();
    double value = options_.multiplier;
    if (options_.base == 1.0f) return options_.multiplier;
    for (std::size_t i = options_.allowed_length; i < length && value < kLargest; ++i) value *= options_.base;
    return static_cast<float>(std::min(value, kLargest));
  }

  DryOptions options_;
};

}  // namespace
}  // namespace sampling

Processor dry(DryOptions options) { return sampling::Dry(std::move(options)); }

}  // namespace rill
