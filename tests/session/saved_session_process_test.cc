// K01: 20 tokens, or 10, a save, and 10 in another process.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/hash.h"
#include "session/saved_session.h"
#include "support/temp_dir.h"

namespace rill {
namespace {

namespace fs = std::filesystem;
using test::some_tokens;
using namespace test::saved;

// What follows: tokens, and a digest of the logits of each step.
struct Continuation {
  std::vector<Token> tokens;
  Hasher hasher;

  void add(const Session& session, Token token) {
    tokens.push_back(token);
    const std::vector<float> logits = session.logits().all().value();
    hasher.add(std::as_bytes(std::span(logits)));
  }
  std::string text() {
    std::ostringstream out;
    for (const Token token : tokens) out << token << ' ';
    out << hasher.digest().low << ' ' << hasher.digest().high;
    return out.str();
  }
};

void drive(Session& session, SamplerChain& chain, Continuation& out) {
  for (std::size_t i = 0; i < kHalf; ++i) {
    const Token token = chain.sample(session.logits()).value();
    out.add(session, token);
    chain.accept(token);
    session.feed(token).value();
  }
}

void drive(Session& session, Generation& generation, Continuation& out, std::size_t steps = kHalf) {
  for (std::size_t i = 0; i < steps; ++i) out.add(session, generation.next().value().token.value());
}

// The second half of each kind, from the file that the first one left in `folder`.
std::string go_on(const std::string& architecture, const std::string& kind, const fs::path& folder) {
  const fs::path path = folder / (architecture + "." + kind);
  Session session = session_of(tiny(architecture));
  Continuation out;
  if (kind == "chain") {
    SamplerChain chain = sampling_chain(0);
    session.restore(path, {.chain = &chain}).value();
    drive(session, chain, out);
  } else if (kind != "conversation") {
    const auto grammar = kind == "grammar" ? std::optional(long_json()) : std::nullopt;
    Generation generation = session.resume(path, {.grammar = grammar}).value();
    drive(session, generation, out);
    out.tokens.insert(out.tokens.begin(), {-1});
    for (const Token token : generation.finish().value().tokens) out.tokens.push_back(token);
  } else {
    Conversation chat = Conversation::create(std::move(session)).value();
    Generation answer = chat.restore(path).value().value();
    drive(chat.session(), answer, out);
    for (const Token token : answer.finish().value().tokens) out.tokens.push_back(token);
    Generation next = chat.say("And then?", sampling_options()).value();
    drive(chat.session(), next, out);
  }
  return out.text();
}

// The same without a break. Leaves the files of the first halves.
std::string straight_on(const std::string& architecture, const std::string& kind, const fs::path& folder) {
  const fs::path path = folder / (architecture + "." + kind);
  Session session = session_of(tiny(architecture));
  Continuation first, out;
  if (kind == "chain") {
    SamplerChain chain = sampling_chain(42);
    session.feed(some_tokens(30)).value();
    chain.observe(session.tokens());
    drive(session, chain, first);
    session.save(path, {.chain = &chain}).value();
    drive(session, chain, out);
  } else if (kind != "conversation") {
    GenerateOptions options = sampling_options();
    if (kind == "grammar") {
      options.grammar = long_json();
      options.close_within_budget = false;  // which is too small for one
    }
    Generation generation = session.generate(some_tokens(30), std::move(options)).value();
    drive(session, generation, first);
    generation.save(path).value();
    drive(session, generation, out);
    out.tokens.insert(out.tokens.begin(), {-1});
    for (const Token token : generation.finish().value().tokens) out.tokens.push_back(token);
  } else {
    Conversation chat = Conversation::create(std::move(session)).value();
    chat.add({.role = "system", .content = "Be short."});
    (void)chat.say("Hello", sampling_options()).value().finish().value();
    Generation answer = chat.say("What now?", sampling_options()).value();
    drive(chat.session(), answer, first);
    chat.save(path).value();
    drive(chat.session(), answer, out);
    for (const Token token : answer.finish().value().tokens) out.tokens.push_back(token);
    Generation next = chat.say("And then?", sampling_options()).value();
    drive(chat.session(), next, out);
  }
  return out.text();
}

constexpr const char* kFolder = "RILL_SAVED_SESSION_TEST";
constexpr const char* kKinds[] = {"chain", "generation", "grammar", "conversation"};

#if defined(__linux__)
// Runs itself as the other process, which finds in kFolder what to go on with.
TEST(SavedSessionTest, K01GoesOnInAnotherProcess) {
  if (const char* const given = std::getenv(kFolder)) {
    std::ofstream out(fs::path(given) / "continuations");
    for (const char* architecture : kArchitectures) {
      for (const char* kind : kKinds) out << go_on(architecture, kind, given) << '\n';
    }
    ASSERT_TRUE(out.flush());
    return;
  }
  const test::TempDir folder;
  std::vector<std::string> expected;
  for (const char* architecture : kArchitectures) {
    for (const char* kind : kKinds) expected.push_back(straight_on(architecture, kind, folder.path()));
  }
  ::setenv(kFolder, folder.path().c_str(), 1);
  const std::string command = fs::read_symlink("/proc/self/exe").string() +
                              " --gtest_filter=SavedSessionTest.K01GoesOnInAnotherProcess > /dev/null";
  ASSERT_EQ(std::system(command.c_str()), 0);
  ::unsetenv(kFolder);
  std::ifstream continuations(folder.path() / "continuations");
  for (const std::string& text : expected) {
    std::string line;
    std::getline(continuations, line);
    EXPECT_EQ(line, text);
    EXPECT_GT(std::count(text.begin(), text.end(), ' '), static_cast<std::ptrdiff_t>(kHalf));
  }
}
#endif

}  // namespace
}  // namespace rill
