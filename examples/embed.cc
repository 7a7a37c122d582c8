// Sentence similarity: embeds each argument and prints the cosine of every pair.
//
//   embed MODEL.gguf TEXT TEXT...
#include <rill/rill.h>

#include <cstdio>
#include <iostream>
#include <numeric>
#include <string>
#include <vector>

namespace {

int run(const std::string& path, const std::vector<std::string>& texts) {
  auto model = rill::Model::load(path).value();
  const auto session = rill::Session::create(model).value();

  std::vector<std::vector<float>> vectors;
  for (const std::string& text : texts) {
    // A model that was not trained to embed declares no pooling, so it is named here.
    vectors.push_back(session.embed(text, {.pooling = rill::Pooling::mean}).value().front());
  }
  for (std::size_t i = 0; i < texts.size(); ++i) {
    for (std::size_t j = i + 1; j < texts.size(); ++j) {
      const float cosine = std::inner_product(vectors[i].begin(), vectors[i].end(), vectors[j].begin(), 0.0f);
      std::printf("%.4f  \"%s\" ~ \"%s\"\n", static_cast<double>(cosine), texts[i].c_str(), texts[j].c_str());
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::cerr << "usage: embed MODEL.gguf TEXT TEXT...\n";
    return 2;
  }
  try {
    return run(argv[1], {argv + 2, argv + argc});
  } catch (const rill::ErrorException& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
}
