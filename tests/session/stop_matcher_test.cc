#include "session/stop_matcher.h"

#include <gtest/gtest.h>

#include <random>

namespace rill::session {
namespace {

struct Outcome {
  std::string text;
  std::optional<std::string> stop;
};

Outcome run(const std::vector<std::string>& stops, const std::vector<std::string>& pieces) {
  StopMatcher matcher = StopMatcher::create(stops).value();
  Outcome outcome;
  for (const std::string& piece : pieces) {
    const StopMatcher::Step step = matcher.push(piece);
    outcome.text += step.text;
    if (step.match) {
      outcome.stop = stops[*step.match];
      return outcome;
    }
  }
  outcome.text += matcher.flush();
  return outcome;
}

TEST(StopMatcherTest, FindsAStopOverSeveralPieces) {
  const Outcome outcome = run({"\nHuman:"}, {"ok", "\nHum", "an", ":", " x"});
  EXPECT_EQ(outcome.text, "ok");
  EXPECT_EQ(outcome.stop, "\nHuman:");
}

TEST(StopMatcherTest, DeliversWhatWasHeldBack) {
  EXPECT_EQ(run({"\n###"}, {"a", "\n#"}).text, "a\n#");
}

TEST(StopMatcherTest, CutsInsideAPiece) {
  const Outcome outcome = run({"kiw"}, {"fig ", "akiwi plum"});
  EXPECT_EQ(outcome.text, "fig a");
  EXPECT_EQ(outcome.stop, "kiw");
}

TEST(StopMatcherTest, RefusesAnEmptyStop) {
  const auto matcher = StopMatcher::create({"a", ""});
  ASSERT_FALSE(matcher);
  EXPECT_EQ(matcher.error().code, ErrorCode::invalid_argument);
}

TEST(StopMatcherTest, RefusesStopsWithoutBound) {
  const auto matcher = StopMatcher::create({std::string(StopMatcher::kMaxTotalBytes + 1, 'a')});
  ASSERT_FALSE(matcher);
  EXPECT_EQ(matcher.error().code, ErrorCode::limit_exceeded);
}

TEST(StopMatcherTest, TakesTheSameStopTwiceAndAThousandLongOnes) {
  std::vector<std::string> stops = {"dup", "dup"};
  for (int i = 0; i < 1000; ++i) stops.push_back(std::string(1020, 'a') + std::to_string(i));
  EXPECT_EQ(run(stops, {"xdup"}).text, "x");
  EXPECT_EQ(run(stops, {std::string(1020, 'a'), "b"}).text, std::string(1020, 'a') + "b");
  EXPECT_EQ(run(stops, {"q" + std::string(1500, 'a'), "77"}).text, "q" + std::string(480, 'a'));
}

// The definition: the first place where any stop ends; of those that end there, the longest.
Outcome naive(const std::vector<std::string>& stops, const std::string& text) {
  for (std::size_t end = 1; end <= text.size(); ++end) {
    std::optional<std::string> best;
    for (const std::string& stop : stops) {
      if (end >= stop.size() && text.compare(end - stop.size(), stop.size(), stop) == 0 && (!best || stop.size() > best->size())) best = stop;
    }
    if (best) return {text.substr(0, end - best->size()), best};
  }
  return {text, std::nullopt};
}

TEST(StopMatcherTest, AgreesWithTheDefinitionHoweverTheTextIsCut) {
  std::mt19937 random(7);
  const auto word = [&](std::size_t length) {
    std::string text;
    for (std::size_t i = 0; i < length; ++i) text += static_cast<char>('a' + random() % 2);
    return text;
  };
  for (int round = 0; round < 5000; ++round) {
    std::vector<std::string> stops;
    for (std::size_t i = 0; i <= random() % 4; ++i) stops.push_back(word(1 + random() % 6));
    const std::string text = word(random() % 24);
    std::vector<std::string> pieces;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t length = 1 + random() % 4;
      pieces.push_back(text.substr(at, length));
      at += length;
    }
    const Outcome expected = naive(stops, text);
    const Outcome actual = run(stops, pieces);
    ASSERT_EQ(actual.text, expected.text) << text;
    ASSERT_EQ(actual.stop, expected.stop) << text;
  }
}

}  // namespace
}  // namespace rill::session
