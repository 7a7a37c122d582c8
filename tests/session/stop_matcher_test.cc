#include "session/stop_matcher.h"

#include <gtest/gtest.h>

#include <random>

#include "grammar/toy_tokenizer.h"

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
      if (end >= stop.size() && text.compare(end - stop.size(), stop.size(), stop) == 0 && (!best || stop.size() > best->size()))
        best = stop;
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

// The same with tokens <0> and <1> that are no text. What stops spell of them is matched where they are.
TEST(StopMatcherTest, X08AgreesWithTheDefinitionAroundHiddenTokens) {
  const Tokenizer tokenizer = grammar::toy_tokenizer({"<0>", "<1>"}, {0, 1});
  std::mt19937 random(8);
  const auto word = [&](std::size_t length) {
    std::vector<std::string> pieces;
    for (std::size_t i = 0; i < length; ++i) pieces.emplace_back(std::array{"a", "b", "a", "<0>", "<1>"}[random() % 5]);
    return pieces;
  };
  const auto joined = [](const std::vector<std::string>& pieces, bool visible) {
    std::string text;
    for (const std::string& piece : pieces) text += visible && piece.size() > 1 ? "" : piece;
    return text;
  };
  int mixed = 0;
  for (int round = 0; round < 5000; ++round) {
    std::vector<std::vector<std::string>> stops(1 + random() % 3);
    std::vector<std::string> texts;
    for (auto& stop : stops) stop = word(1 + random() % 4), texts.push_back(joined(stop, false));
    const auto stream = word(random() % 16);
    // By definition: at the first piece where a stop ends, the one with most text.
    std::string expected = joined(stream, true);
    bool stopped = false;
    for (std::size_t end = 1; end <= stream.size() && !stopped; ++end) {
      const std::vector<std::string> before(stream.begin(), stream.begin() + static_cast<std::ptrdiff_t>(end));
      std::size_t most = 0;
      for (std::size_t i = 0; i < stops.size(); ++i) {
        const bool hidden = joined(stops[i], true) != texts[i];
        const bool ends =
            hidden ? before.size() >= stops[i].size() && std::equal(stops[i].rbegin(), stops[i].rend(), before.rbegin())
                   : before.back().size() == 1 && joined(before, true).ends_with(texts[i]);
        if (!ends) continue;
        stopped = true;
        mixed += hidden && stops[i].size() > 1;
        most = std::max(most, joined(stops[i], true).size());
      }
      if (stopped) expected = joined(before, true).substr(0, joined(before, true).size() - most);
    }
    StopMatcher matcher = StopMatcher::create(texts, &tokenizer).value();
    std::string text;
    bool found = false;
    for (std::size_t i = 0; i < stream.size() && !found; ++i) {
      const auto step = stream[i].size() == 1 ? matcher.push(stream[i]) : matcher.push_hidden(stream[i] == "<1>");
      text += step.text;
      found = step.match.has_value();
    }
    if (!found) text += matcher.flush();
    ASSERT_EQ(found, stopped) << joined(stream, false);
    ASSERT_EQ(text, expected) << joined(stream, false);
  }
  EXPECT_GT(mixed, 200);
}

}  // namespace
}  // namespace rill::session
