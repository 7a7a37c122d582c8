// Asks several questions of one text. The text is computed once: sessions of one domain begin on the pages that an earlier one
// filled.
//
//   shared_prefix MODEL.gguf TEXT QUESTION...
#include <rill/rill.h>

#include <iostream>
#include <string>

namespace {

int run(const std::string& model_path, const std::string& text, char** question, char** end) {
  auto model = rill::Model::load(model_path).value();
  const std::string tenant = "reader";

  auto pool = rill::KvPool::create(model, {.budget_bytes = 1 << 30}).value();
  auto cache = rill::PrefixCache::create(pool).value();
  for (; question != end; ++question) {
    auto session = rill::Session::create(model, {.prefix_cache = cache, .domain = tenant}).value();
    auto answer = session.generate(text + "\n\n" + *question + "\n", {.max_tokens = 40}).value();
    std::cout << "> " << *question << '\n';
    while (auto chunk = answer.next()) std::cout << chunk->text << std::flush;
    const rill::Timings timings = answer.result().value().timings;
    std::cout << "\n[" << timings.cached_tokens << " of " << timings.prompt_tokens << " prompt tokens were there]\n\n";
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::cerr << "usage: shared_prefix MODEL.gguf TEXT QUESTION...\n";
    return 2;
  }
  try {
    return run(argv[1], argv[2], argv + 3, argv + argc);
  } catch (const rill::ErrorException& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
