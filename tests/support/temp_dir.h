// A folder of its own for a test, removed with all that is in it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <random>
#include <span>
#include <string>
#include <system_error>

namespace rill::test {

class TempDir {
 public:
  TempDir() {
    // Test programs run side by side: the name is random, and a folder that exists already is another's.
    std::random_device random;
    do {
      path_ = std::filesystem::temp_directory_path() / ("rill_test_" + std::to_string(random()));
    } while (!std::filesystem::create_directory(path_));
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::filesystem::path& path() const { return path_; }

  // Writes a file into the folder and returns its path.
  std::filesystem::path write(const std::filesystem::path& name, std::span<const std::byte> bytes) const {
    std::ofstream file(path_ / name, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace rill::test
