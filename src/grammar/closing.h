// Keeps a text within a budget: of the tokens that a grammar allows, those after which it can still be finished.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "grammar/completion.h"
#include "grammar/mask_walk.h"
#include "grammar/text_matcher.h"

namespace rill::grammar {

// One thread at a time. A copy goes on by itself, with the plan and without what is but remembered.
class Closing {
 public:
  explicit Closing(std::shared_ptr<CompletionWeights> weights);
  Closing(const Closing& other)
      : completion_(other.completion_),
        text_ends_(other.text_ends_),
        plan_(other.plan_),
        followed_(other.followed_),
        planned_(other.planned_) {}
  Closing& operator=(const Closing& other) { return *this = Closing(other); }
  Closing(Closing&&) noexcept = default;
  Closing& operator=(Closing&&) noexcept = default;

  // To the end of the text, the end token counted; at least kNever if no way is known.
  std::size_t tokens_to_end(TextMatcher& matcher);
  // Removes from `words` the tokens after which fewer than `budget` - 1 tokens would not do. Nothing is removed where no
  // way to the end is known.
  void restrict(TextMatcher& matcher, MaskWalk& walk, std::size_t budget, std::span<std::uint64_t> words);
  void accepted(Token token);
  void popped(std::size_t steps);

 private:
  static constexpr std::size_t kMaxKnown = 10'000, kMaxDepth = 4;

  Places here(const TextMatcher& matcher) const;
  bool make_key(const TextMatcher& matcher, std::size_t depth);
  bool is_far(const TextMatcher& matcher, std::size_t budget, std::size_t bytes);
  bool enough(const TextMatcher& matcher, std::size_t bytes, std::size_t budget) const;
  bool affordable(TextMatcher& matcher, const Places& after, std::size_t budget);
  void keep_named(TextMatcher& matcher, std::size_t budget, std::span<const std::uint64_t> before,
                  std::span<std::uint64_t> words);
  void make_plan(TextMatcher& matcher);

  Completion completion_;
  bool text_ends_ = false;  // an end token is text elsewhere: bytes say nothing about tokens

  // By how many bytes a token may put off the end, by where it is read: a state, and the states below it as deep as it
  // matters.
  std::map<std::vector<std::uint32_t>, std::uint32_t> growth_;
  std::vector<std::uint32_t> key_;

  // A way to the end that was found, and how far it was followed since: where value checks and tokens of the grammar take
  // part, one that is sought anew may be longer.
  std::vector<Token> plan_;
  std::size_t followed_ = 0;
  bool planned_ = false;
};

}  // namespace rill::grammar
