// Runs a fuzz target without libFuzzer: every file of the folders given, cut short at a few places, and with bytes
// changed in a way that is the same in every run.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr int kMutations = 200;

Bytes read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

// An exact allocation, so that the address sanitizer sees a read just past the end.
void run(const Bytes& bytes) {
  const Bytes exact(bytes);
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

void mutate(Bytes& bytes, std::mt19937& random) {
  constexpr std::uint8_t kValues[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
  for (auto changes = 1 + random() % 4; changes > 0; --changes) {
    const auto choice = random() % 7;
    bytes[random() % bytes.size()] = choice < 5 ? kValues[choice] : static_cast<std::uint8_t>(random());
  }
  if (random() % 4 == 0) bytes.resize(random() % bytes.size());
}

}  // namespace

int main(int argc, char** argv) {
  int files = 0;
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      const Bytes bytes = read_file(entry.path());
      std::printf("%s\n", entry.path().string().c_str());
      run(bytes);
      std::mt19937 random(1);
      for (int m = 0; m < kMutations && !bytes.empty(); ++m) {
        Bytes mutated = bytes;
        mutate(mutated, random);
        run(mutated);
      }
      ++files;
    }
  }
  std::printf("%d files\n", files);
  return files == 0 ? 1 : 0;
}
