// Writes a tiny model of random weights to the file named, for the examples to run on.
#include <fstream>
#include <vector>

#include "support/tiny_model.h"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  rill::test::TinyModelOptions options = rill::test::tiny_options("llama");
  options.context = 4096;
  const std::vector<std::byte> bytes = rill::test::make_tiny_model(options);
  std::ofstream file(argv[1], std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return file.good() ? 0 : 1;
}
