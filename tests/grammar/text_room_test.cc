// What masks allow without a walk: which texts may follow a state whatever they say, and which bytes are alike to it.
#include "grammar/text_room.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "grammar/language.h"

namespace rill::grammar {
namespace {

State state_after(const Language& language, std::string_view text) {
  Automaton& automaton = language.automaton();
  State state = automaton.start();
  for (const char byte : text) state = automaton.next(state, static_cast<std::uint8_t>(byte));
  return state;
}

struct Rooms {
  std::uint32_t string_body, letters, words;  // bytes; kMany: any number
  friend bool operator==(const Rooms&, const Rooms&) = default;
};
constexpr std::uint32_t kMany = kAnyLength;

Rooms rooms(const Language& language, std::string_view text = "") {
  const TextRoom room = language.automaton().room(state_after(language, text));
  return {room.of(TextKind::string_body), room.of(TextKind::letters), room.of(TextKind::words)};
}

void PrintTo(const Rooms& rooms, std::ostream* out) {
  *out << rooms.string_body << ' ' << rooms.letters << ' ' << rooms.words;
}

TEST(TextRoom, OfPatterns) {
  const auto whole = [](const char* pattern) { return Language::regex(pattern); };
  EXPECT_EQ(rooms(whole(R"([^"\\]*)")), (Rooms{kMany, kMany, kMany}));
  EXPECT_EQ(rooms(whole(R"("[^"\\]*")")), (Rooms{0, 0, 0}));
  EXPECT_EQ(rooms(whole(R"("[^"\\]*")"), "\"a"), (Rooms{kMany, kMany, kMany}));
  EXPECT_EQ(rooms(whole(R"([\w ]*)")), (Rooms{0, kMany, kMany}));
  EXPECT_EQ(rooms(whole(R"(\w*)")), (Rooms{0, kMany, 0}));
  EXPECT_EQ(rooms(whole(R"([a-z]*)")), (Rooms{0, 0, 0}));
  EXPECT_EQ(rooms(whole(R"(\w+)")), (Rooms{0, kMany, 0}));
}

TEST(TextRoom, WhereItCounts) {
  EXPECT_EQ(rooms(Language::regex(R"(\w{0,20})")), (Rooms{0, 20, 0}));
  EXPECT_EQ(rooms(Language::regex(R"(\w{0,20})"), "abcde"), (Rooms{0, 15, 0}));
  EXPECT_EQ(rooms(Language::regex(R"(\w{3,20})")), (Rooms{0, 17, 0}));
  EXPECT_EQ(rooms(Language::regex(R"(\w{8,20})")), (Rooms{0, 12, 0}));
  EXPECT_EQ(rooms(Language::regex(R"(\w{1})")), (Rooms{0, 0, 0}));
  EXPECT_EQ(rooms(Language::regex(R"([^"]{0,100})")), (Rooms{64, 64, 64}));
}

TEST(TextRoom, BesideWhatHasBegun) {
  const Language found = Language::regex("no[0-9]+", Match::search);
  for (const char* text : {"", "n", "no", "no4", "xnon"}) EXPECT_EQ(rooms(found, text), (Rooms{kMany, kMany, kMany})) << text;
  const Language keyword = Language::regex(R"(if|int|\w+)");
  EXPECT_EQ(rooms(keyword), (Rooms{0, kMany, 0}));
  EXPECT_EQ(rooms(keyword, "in"), (Rooms{0, kMany, 0}));
}

Language both_of(const char* a, const char* b) {
  Rules rules(kTestExpressions);
  Expressions& e = rules.expressions;
  const auto parse = [&](const char* pattern) { return parse_regex(e, pattern, {.match = Match::search}).value(); };
  rules.start = rules.add("root", e.both(parse(a), parse(b)));
  return Language(std::move(rules));
}

TEST(TextRoom, OfIntersections) {
  EXPECT_EQ(rooms(both_of(R"(^[^"]{0,40}$)", "x$")), (Rooms{39, 39, 39}));
  EXPECT_EQ(rooms(both_of(R"(^[^"]{0,40}$)", "x{10}$")), (Rooms{30, 30, 30}));  // what must come has its room
}

std::string random_text(TextKind kind, std::size_t most, std::mt19937& random) {
  static const std::vector<std::string> kCharacters = {"a", "e", "n", "o", "Z", "_", "0", "4", " ", "-", "!", "é", "€", "😀"};
  std::string text;
  while (true) {
    const std::string& next = kCharacters[random() % kCharacters.size()];
    if (text.size() + next.size() > most) return text;
    std::uint8_t state = kBoundary;
    for (const char byte : next) state = next_of_text(kind, state, static_cast<std::uint8_t>(byte));
    if (state == kBoundary) text += next;
    if (random() % 40 == 0) return text;
  }
}

// Wherever a random walk stands, every text that is said to fit does.
TEST(TextRoom, Holds) {
  const std::vector<Language> languages = [] {
    std::vector<Language> all;
    for (const char* pattern :
         {R"([^"\\]*)", R"(\w{2,30})", R"((\w+ ){0,9}\w+)", R"(.{5,60})", R"(if|int|\w+)", R"([\w ]{0,9}|[^"]{0,70}!)"}) {
      all.push_back(Language::regex(pattern));
      all.push_back(Language::regex(pattern, Match::search));
    }
    all.push_back(both_of("^.{0,40}$", "no"));
    all.push_back(both_of(R"(^\w{3,}$)", "e.*e"));
    return all;
  }();
  std::mt19937 random(7);
  std::size_t checked = 0;
  for (int i = 0; i < 4000; ++i) {
    const Language& language = languages[random() % languages.size()];
    const std::string begin = random_text(TextKind::string_body, random() % 30, random);
    if (state_after(language, begin) == State::dead) continue;
    const TextRoom room = language.automaton().room(state_after(language, begin));
    for (const TextKind kind : kTextKinds) {
      const std::uint32_t most = room.of(kind) == kAnyLength ? 100 : room.of(kind);
      if (most == 0) continue;
      const std::string text = random_text(kind, most, random);
      EXPECT_NE(state_after(language, begin + text), State::dead) << begin << " | " << text;
      checked += text.empty() ? 0 : 1;
    }
  }
  EXPECT_GT(checked, 2000u);
}

TEST(Derivative, BytesThatAreAlikeHaveTheSame) {
  for (const char* pattern : {R"([^"\\]*")", "no[0-9]+|not|[a-f]{3,}", R"((\w+ ){0,9}\w+)", "(x|é|[α-ω])*end", R"(\p{Lu}\d?)"}) {
    for (const Match match : {Match::whole, Match::search}) {
      Expressions e(kTestExpressions);
      std::vector<Expr> seen{parse_regex(e, pattern, {.match = match}).value()};
      seen.push_back(e.both(seen[0], e.complement(e.literal("not"))));
      for (std::size_t i = 0; i < seen.size() && seen.size() < 40; ++i) {
        ByteSet begins;
        for (unsigned byte = 0; byte < 256; ++byte) {
          ByteSet alike;
          const Expr rest = e.derivative(seen[i], {Kind::bytes, byte}, &alike);
          ASSERT_TRUE(alike.contains(byte));
          if (rest != Expr::nothing) begins.add(byte);
          if (std::find(seen.begin(), seen.end(), rest) != seen.end()) continue;
          seen.push_back(rest);
          for (unsigned other = 0; other < 256; ++other) {
            if (!alike.contains(other)) continue;
            EXPECT_EQ(e.derivative(seen[i], {Kind::bytes, other}), rest) << pattern << ' ' << other;
          }
        }
        EXPECT_TRUE((begins & ~e.first_bytes(seen[i])).empty()) << pattern;
      }
    }
  }
}

}  // namespace
}  // namespace rill::grammar
