// The library prints nothing of its own accord: what whole runs of it, failing ones included, write to descriptors 1 and 2.
#include <gtest/gtest.h>

#ifndef _WIN32
#include <sys/stat.h>
#include <unistd.h>

#include <clocale>
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "rill/rill.h"
#include "support/tiny_model.h"

namespace rill {
namespace {

// Bytes that reach descriptors 1 and 2 while `body` runs. Nothing may be expected in there: a failure would be captured.
template <typename Body>
std::size_t output_of(Body body) {
  const auto flush = [] {
    std::cout.flush();
    std::cerr.flush();
    std::fflush(nullptr);
  };
  flush();
  std::FILE* file = std::tmpfile();
  const int out = dup(1);
  const int err = dup(2);
  dup2(fileno(file), 1);
  dup2(fileno(file), 2);
  body();
  flush();
  dup2(out, 1);
  dup2(err, 2);
  close(out);
  close(err);
  struct stat status {};
  fstat(fileno(file), &status);
  std::fclose(file);
  return static_cast<std::size_t>(status.st_size);
}

TEST(SilenceTest, TheCaptureSeesEveryWay) {
  EXPECT_EQ(output_of([] { std::printf("a"); }), 1);
  EXPECT_EQ(output_of([] { std::cerr << "ab"; }), 2);
  EXPECT_EQ(output_of([] { (void)!write(1, "abc", 3); }), 3);
  EXPECT_EQ(output_of([] {}), 0);
}

TEST(SilenceTest, WholeRunsPrintNothing) {
  for (const char* architecture : {"llama", "gemma3"}) {
    const std::vector<std::byte> file = test::make_tiny_model(test::tiny_options(architecture));
    std::size_t generated = 0;
    const std::size_t printed = output_of([&] {
      const auto model = Model::load(own_buffer(file).value(), {.threads = 2}).value();
      auto session = Session::create(model, {.context_tokens = 64}).value();
      auto answer = session.generate("abc abc", {.max_tokens = 20, .sampling = presets::creative()}).value();
      while (answer.next()) ++generated;
      auto fork = session.fork().value();
      fork.truncate(2).value();
      (void)fork.embed("abc", {.pooling = Pooling::mean}).has_value();
    });
    EXPECT_EQ(printed, 0) << architecture;
    EXPECT_GT(generated, 0) << architecture;
  }
}

TEST(SilenceTest, FailuresPrintNothing) {
  std::vector<std::byte> file = test::make_tiny_model(test::tiny_options("llama"));
  std::vector<Error> errors;
  const auto note = [&](const auto& result) {
    if (!result) errors.push_back(result.error());
  };
  const std::size_t printed = output_of([&] {
    const auto model = Model::load(own_buffer(file).value(), {.threads = 1}).value();
    auto session = Session::create(model, {.context_tokens = 32}).value();
    note(Model::load("no such file.gguf"));
    note(Model::load(own_buffer(file).value(), {.threads = -1}));
    note(session.feed(Token{-1}));
    note(session.feed(std::vector<Token>(33, 1)));
    note(session.generate("abc", {.max_tokens = 1000}));
    note(session.logits().all());
    file.resize(file.size() / 2);
    note(Model::load(own_buffer(file).value()));
  });
  EXPECT_EQ(printed, 0);
  EXPECT_EQ(errors.size(), 7);
}

TEST(SilenceTest, TheLocaleIsTheCallers) {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  const auto model = Model::load(own_buffer(test::make_tiny_model(test::tiny_options("llama"))).value(), {.threads = 1}).value();
  EXPECT_EQ(std::setlocale(LC_ALL, nullptr), before);
}

}  // namespace
}  // namespace rill
#endif
