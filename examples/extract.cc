// What a text says, as JSON that a schema holds valid.
//
//   extract MODEL.gguf SCHEMA.json TEXT-FILE [TRIES]
//
// The schema is a mask, so that no token can leave it; the answer is judged all the same. What no schema can say is a check: a
// field `quote` has to stand in the text, word for word. Each further try draws anew and may be twice as long.
#include <rill/rill.h>

#include <charconv>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

namespace {

std::string read(const char* path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(std::string("cannot read ") + path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::optional<std::string> extract(rill::Session& session, const rill::Grammar& grammar, const std::string& prompt,
                                   std::size_t tries) {
  for (std::size_t attempt = 0; attempt < tries; ++attempt) {
    auto sampling = attempt == 0 ? rill::presets::extraction() : rill::presets::chat();
    sampling.seed = attempt;
    session.truncate(0).value();
    auto answer = session.generate(prompt, {.max_tokens = std::size_t{128} << attempt, .sampling = sampling, .grammar = grammar,
                                            .context_policy = rill::ContextPolicy::stop}).value();
    const auto result = answer.finish().value();
    if (result.validation->status == rill::Validity::valid) return result.text;
    std::cerr << "try " << attempt + 1 << " (" << to_string(result.finish_reason) << "): " << to_string(result.validation->status)
              << '\n';
    for (const auto& error : result.validation->errors) std::cerr << "  " << error.instance << ": " << error.message << '\n';
  }
  return std::nullopt;
}

int run(const char* model_path, const char* schema_path, const char* text_path, std::size_t tries) {
  const std::string schema_text = read(schema_path), text = read(text_path);
  const rill::FieldCheck quoted{.instance = "/quote", .check = [&](const rill::JsonField& field) -> std::optional<std::string> {
    if (text.find(field.text) != text.npos) return std::nullopt;
    return "the text does not say \"" + std::string(field.text) + '"';
  }};
  // Before the model is loaded: an error in the schema should not take that long.
  const auto schema = rill::JsonSchema::compile(schema_text, {.checks = {quoted}}).value();
  const auto grammar = rill::Grammar::json_schema(schema, {.whitespace = rill::JsonWhitespace::compact}).value();
  for (const auto& note : grammar.notes()) std::cerr << "not enforced: " << note.pointer << ": " << note.reason << '\n';

  auto session = rill::Session::create(rill::Model::load(model_path).value()).value();
  const std::string prompt = "Schema: " + schema_text + "\nText: " + text + "\nWhat the text says, as JSON of that schema:\n";
  const auto json = extract(session, grammar, prompt, tries);
  if (!json) return 1;
  std::cout << *json << '\n';
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t tries = 3;
  if (argc == 5) {
    const std::string_view text = argv[4];
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), tries);
    if (error != std::errc() || end != text.data() + text.size() || tries == 0) {
      std::cerr << "TRIES wants a number from 1 on, not '" << text << "'\n";
      return 2;
    }
  }
  try {
    if (argc == 4 || argc == 5) return run(argv[1], argv[2], argv[3], tries);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  std::cerr << "usage: extract MODEL.gguf SCHEMA.json TEXT-FILE [TRIES]\n";
  return 2;
}
