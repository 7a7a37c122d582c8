// A saved session that was changed: refused, and then nothing has changed, or restored to something that goes on
// without harm. The input begins with a byte of choices: what was saved (the lowest two bits), whether the checksum is made
// to fit what was changed (4), whether the rest is the file itself (8); else the rest is changes to a good file: the
// place (4 bytes) and new value (1) of any bytes, where a place from the end of the file on means to cut it there.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "rill/rill.h"
#include "support/saved_bytes.h"
#include "support/scripted.h"

namespace rill {
namespace {

using Bytes = std::vector<std::byte>;

std::shared_ptr<const Model> small_model() {
  test::TinyModelOptions options;
  options.layers = 1;
  options.embedding = 32;
  options.heads = 2;
  options.kv_heads = 1;
  options.feed_forward = 32;
  options.vocabulary = test::kTinyVocabularyMin;
  options.context = 64;
  return test::load_tiny(options);
}

GenerateOptions answer_options() {
  GenerateOptions options{.max_tokens = 8, .stop_strings = {"stop"}, .end_tokens = std::vector<Token>{}};
  options.sampling.repetition.penalty = 1.1f;
  options.sampling.mirostat = MirostatOptions{.tau = 3};
  return options;
}

struct Good {
  std::shared_ptr<const Model> model = small_model();
  Grammar grammar = Grammar::json().value();
  std::vector<Bytes> files;

  Good() {
    Session session = Session::create(model).value();
    session.feed(test::some_tokens(5)).value();
    files.push_back(session.save().value());
    Generation answer = session.generate(test::some_tokens(3), answer_options()).value();
    for (int i = 0; i < 2; ++i) (void)answer.next();
    files.push_back(answer.save().value());
    Conversation chat = Conversation::create(Session::create(model).value()).value();
    Generation said = chat.say("a", answer_options()).value();
    for (int i = 0; i < 2; ++i) (void)said.next();
    files.push_back(chat.save().value());
    GenerateOptions options = answer_options();
    options.grammar = grammar;
    Generation masked = session.generate(test::some_tokens(3), std::move(options)).value();
    for (int i = 0; i < 4; ++i) (void)masked.next();
    files.push_back(masked.save().value());
  }
};

Bytes changed(Bytes file, const std::uint8_t* orders, std::size_t size) {
  for (std::size_t at = 0; at + 5 <= size && !file.empty(); at += 5) {
    std::uint32_t place = 0;
    std::memcpy(&place, orders + at, sizeof(place));
    place %= static_cast<std::uint32_t>(file.size() + file.size() / 8);
    if (place < file.size()) {
      file[place] = static_cast<std::byte>(orders[at + 4]);
    } else {
      file.resize(file.size() - orders[at + 4] % file.size());
    }
  }
  return file;
}

void expect(bool fine) {
  if (!fine) std::abort();
}

void run_on(std::optional<Generation> answer) {
  for (int i = 0; answer && i < 10; ++i) (void)answer->next();
}

void check(const Good& good, std::size_t kind, const Bytes& file) {
  Session session = Session::create(good.model).value();
  session.feed(test::some_tokens(2, 5)).value();
  const Bytes before = session.save().value();
  if (kind != 2) {
    bool restored = false;
    if (kind == 0) {
      restored = session.restore(file).has_value();
    } else if (auto answer =
                   session.resume(file, {.grammar = kind == 3 ? std::optional(good.grammar) : std::nullopt})) {
      restored = true;
      run_on(*std::move(answer));
    }
    expect(restored || session.save().value() == before);
    (void)session.feed(1);
    return;
  }
  Conversation chat = Conversation::create(std::move(session)).value();
  if (auto answer = chat.restore(file)) {
    run_on(*std::move(answer));
    if (auto next = chat.say("b", answer_options())) run_on(*std::move(next));
    chat.pop();
  } else {
    expect(chat.session().save().value() == before && chat.messages().empty());
  }
}

}  // namespace
}  // namespace rill

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rill;
  static const Good good;
  if (size == 0) return 0;
  const std::size_t kind = data[0] % 4;
  Bytes file;
  if ((data[0] & 8) != 0) {
    const auto bytes = std::as_bytes(std::span(data + 1, size - 1));
    file.assign(bytes.begin(), bytes.end());
  } else {
    file = changed(good.files[kind], data + 1, size - 1);
  }
  if ((data[0] & 4) != 0) test::sign(file);
  check(good, kind, file);
  return 0;
}
