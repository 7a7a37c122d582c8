// write_tiny_model FILE SEED: a tiny model of random weights, for the examples to run on.
#include <fstream>
#include <string>
#include <vector>

#include "support/tiny_model.h"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  rill::test::TinyModelOptions options = rill::test::tiny_options("llama");
  options.context = 4096;
  options.seed = std::stoull(argv[2]);
  const std::vector<std::byte> bytes = rill::test::make_tiny_model(options);
  std::ofstream file(argv[1], std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return file.good() ? 0 : 1;
}
