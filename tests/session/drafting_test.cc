// Where guesses come from: draft models, and how many tokens are guessed at a time.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "gguf/file.h"
#include "rill/conversation.h"
#include "session/session_state.h"
#include "session/speculation.h"
#include "support/scripted.h"

namespace rill {
namespace {

using test::code_of;
using test::load_tiny;
using test::script;
using test::some_tokens;

test::TinyModelOptions tiny(const char* architecture, std::uint64_t seed = 1) {
  test::TinyModelOptions options = test::tiny_options(architecture);
  options.seed = seed;
  return options;
}

// Random weights love to end: these answers go on.
GenerateOptions answer(std::size_t max_tokens, float temperature, SpeculationOptions speculation) {
  return {.max_tokens = max_tokens,
          .sampling = {.temperature = temperature, .seed = 9},
          .end_tokens = std::vector<Token>{},
          .speculation = speculation};
}

GenerationResult finish(Session& session, const std::vector<Token>& prompt, GenerateOptions options) {
  return session.generate(prompt, std::move(options)).value().finish().value();
}

class DraftModelTest : public testing::TestWithParam<const char*> {
 protected:
  Session start(SessionOptions options = {}) const { return Session::create(model_, std::move(options)).value(); }

  std::shared_ptr<const Model> model_ = load_tiny(tiny(GetParam()));
};

INSTANTIATE_TEST_SUITE_P(Architectures, DraftModelTest, testing::Values("llama", "gemma3"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(DraftModelTest, OneThatIsAlwaysWrongIsAskedLessAndLess) {
  Session session = start(), draft = Session::create(load_tiny(tiny(GetParam(), 2))).value();
  const GenerationResult result = finish(session, some_tokens(20), answer(200, 0, {.draft_session = &draft}));
  ASSERT_EQ(result.tokens.size(), 200u);
  EXPECT_EQ(result.timings.accepted_tokens, 0u);
  EXPECT_EQ(result.timings.decode_passes, 199u);
  EXPECT_GT(result.timings.drafted_tokens, 8u);  // tried again now and then
  EXPECT_LT(result.timings.drafted_tokens, 20u);
}

TEST_P(DraftModelTest, TheModelItselfIsAlwaysRight) {
  for (const float temperature : {0.0f, 1.0f}) {
    Session session = start(), draft = start();
    const GenerationResult result = finish(session, some_tokens(20), answer(200, temperature, {.draft_session = &draft}));
    EXPECT_EQ(result.timings.accepted_tokens, result.timings.drafted_tokens);
    EXPECT_EQ(result.timings.decode_passes, 3u + 10u + 1u);  // of 4, 8 and 16 tokens, ten of 16, and the last 11
  }
}

TEST_P(DraftModelTest, FollowsOverTurns) {
  const auto run = [&](bool drafted) {
    std::optional<Session> draft;
    if (drafted) draft = start();
    auto conversation = Conversation::create(start()).value();
    std::vector<std::vector<Token>> held;
    for (int turn = 0; turn < 3; ++turn) {
      GenerateOptions options = answer(20, 0.7f, {.prompt_lookup = drafted, .draft_session = draft ? &*draft : nullptr});
      const GenerationResult result = conversation.say("the rain and the wind", options).value().finish().value();
      held.emplace_back(conversation.session().tokens().begin(), conversation.session().tokens().end());
      held.push_back(result.tokens);
      if (drafted) {
        EXPECT_GT(result.timings.accepted_tokens, 5u);
        EXPECT_GE(draft->length() + 2, held[held.size() - 2].size());
      }
      if (turn == 1) conversation.pop();  // the text goes back, and on from there
    }
    return held;
  };
  EXPECT_EQ(run(true), run(false));
}

TEST_P(DraftModelTest, WhatItCannotDoCostsOnlyGuesses) {
  const std::vector<Token> prompt = some_tokens(40);
  Session session = start();
  const std::vector<Token> plain = finish(session, prompt, answer(20, 0, {})).tokens;
  const auto with = [&](Session& draft) {
    Session fresh = start();
    const GenerationResult result = finish(fresh, prompt, answer(20, 0, {.draft_session = &draft}));
    EXPECT_EQ(result.tokens, plain);
    return result.timings;
  };
  Session narrow = start({.context_tokens = 45});
  EXPECT_GT(with(narrow).accepted_tokens, 0u);
  EXPECT_LE(with(narrow).accepted_tokens, 6u);

  Session busy = start();
  const auto entry = busy.state()->enter().value();
  EXPECT_EQ(with(busy).drafted_tokens, 0u);

  // The handle may end: the answer shares what it stands for.
  Session fresh = start();
  std::optional<Session> draft = start();
  Generation generation = fresh.generate(prompt, answer(20, 0, {.draft_session = &*draft})).value();
  draft.reset();
  const GenerationResult result = generation.finish().value();
  EXPECT_EQ(result.tokens, plain);
  EXPECT_GT(result.timings.accepted_tokens, 0u);
}

TEST(Speculation, AGuessThatTheModelCannotComputeIsNotTheAnswersError) {
  test::TinyModelOptions options = tiny("llama");
  options.tied_head = false;
  const std::vector<Token> prompt = some_tokens(10);
  std::vector<std::byte> bytes = test::make_tiny_model(options);
  const auto run = [&](SpeculationOptions speculation) {
    Session session = Session::create(test::load_bytes(bytes)).value();
    return finish(session, prompt, answer(12, 0, speculation));
  };
  const std::vector<Token> plain = run({}).tokens;

  const auto draft_model = load_tiny(tiny("llama", 2));
  std::vector<Token> text = prompt;
  text.push_back(plain[0]);
  Session guessing = Session::create(draft_model).value();
  const Token guess = finish(guessing, text, answer(1, 0, {})).tokens[0];
  ASSERT_EQ(std::count(plain.begin(), plain.end(), guess), 0);

  const auto file = gguf::File::open({borrow_buffer(bytes).value()}).value();
  const std::uint64_t embeddings = file.require_tensor("token_embd.weight").value()->offset;
  const float broken = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(bytes.data() + embeddings + static_cast<std::size_t>(guess) * options.embedding * sizeof(float), &broken,
              sizeof(broken));
  Session draft = Session::create(draft_model).value();
  const GenerationResult result = run({.draft_session = &draft});
  EXPECT_EQ(result.tokens, plain);
  EXPECT_EQ(result.timings.decode_passes, 11u);
  EXPECT_GT(draft.length(), prompt.size());
}

TEST(Speculation, OptionsAreChecked) {
  const auto model = load_tiny(tiny("llama"));
  Session session = Session::create(model).value();
  const auto refused = [&](SpeculationOptions speculation) {
    const auto generation = session.generate(some_tokens(5), answer(3, 0, speculation));
    EXPECT_EQ(code_of(generation), ErrorCode::invalid_argument);
    return generation.error().message;
  };
  EXPECT_NE(refused({.prompt_lookup = true, .max_draft_tokens = 0}).find("max_draft_tokens = 0"), std::string::npos);
  EXPECT_NE(refused({.prompt_lookup = true, .max_draft_tokens = 65}).find("65"), std::string::npos);
  EXPECT_NE(refused({.draft_session = &session}).find("itself"), std::string::npos);
  Session moved = Session::create(model).value();
  const Session taken = std::move(moved);
  EXPECT_NE(refused({.draft_session = &moved}).find("moved"), std::string::npos);
}

TEST(Speculation, VocabulariesMayDifferOnlyInWhatIsNoText) {
  test::TinyModelOptions options = tiny("llama");
  const auto start = [&] { return Session::create(load_tiny(options)).value(); };
  const auto generate = [&](Session& session, Session& draft) {
    GenerateOptions guessed{.max_tokens = 12, .speculation = {.draft_session = &draft}};
    guessed.chain = script(some_tokens(14, 4));
    return session.generate(some_tokens(5), std::move(guessed));
  };
  Session session = start();
  options.vocabulary = 391;
  Session longer = start();  // by a piece of text
  const std::string last(longer.model().tokenizer().token_bytes(390));
  const std::string message = generate(session, longer).error().message;
  EXPECT_NE(message.find("token 390 is \"" + last + "\" there and \"\""), std::string::npos) << message;
  EXPECT_EQ(code_of(generate(longer, session)), ErrorCode::invalid_argument);

  options.extra_controls = {"<|image|>"};
  Session larger = start();
  for (const auto& [one, draft] : {std::pair{&session, &larger}, {&larger, &session}}) {
    const GenerationResult result = generate(*one, *draft).value().finish().value();
    EXPECT_EQ(result.tokens.size(), 12u);
    EXPECT_EQ(result.timings.accepted_tokens, result.timings.drafted_tokens);
    EXPECT_GT(result.timings.accepted_tokens, 5u);
  }

  options = tiny("llama");
  options.extra_tokens = {"\n"};
  Session other = start();
  const std::string different = generate(session, other).error().message;
  EXPECT_NE(different.find("token 389 is \"\\n\" there"), std::string::npos) << different;
  options.tokenizer = test::TinyTokenizer::spm;
  Session spm = start();
  EXPECT_NE(generate(session, spm).error().message.find("token 0 is \"<pad>\" there and \"<|endoftext|>\""), std::string::npos);
}

TEST(DraftLength, GrowsShrinksAndPauses) {
  session::DraftLength length(15);
  EXPECT_EQ(length.next(), 3u);
  for (const std::size_t expected : {7u, 15u, 15u}) {
    length.learn(length.next(), length.next());
    EXPECT_EQ(length.next(), expected);
  }
  for (const auto& [accepted, expected] : {std::pair<std::size_t, std::size_t>{9, 15}, {2, 3}, {1, 1}, {1, 3}, {3, 7}, {4, 7}}) {
    length.learn(length.next(), accepted);
    EXPECT_EQ(length.next(), expected);
  }
  for (const std::size_t expected : {3u, 1u, 1u}) {
    length.learn(length.next(), 0);
    EXPECT_EQ(length.next(), expected);
  }
  for (const std::size_t pause : {1u, 2u, 4u, 8u, 16u, 32u, 32u, 32u, 32u, 32u, 32u, 32u, 32u, 32u, 32u, 32u}) {
    length.learn(1, 0);
    for (std::size_t i = 0; i < pause; ++i) EXPECT_EQ(length.next(), 0u);
    EXPECT_EQ(length.next(), 1u);
  }
  length.learn(1, 1);
  EXPECT_EQ(length.next(), 3u);
  length.learn(3, 0);
  EXPECT_EQ(length.next(), 1u);  // patience anew

  session::DraftLength few(5);
  for (const std::size_t expected : {3u, 5u, 5u}) {
    EXPECT_EQ(few.next(), expected);
    few.learn(few.next(), few.next());
  }
  few.learn(5, 0);
  EXPECT_EQ(few.next(), 3u);
}

}  // namespace
}  // namespace rill
