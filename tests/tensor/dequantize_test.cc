#include "tensor/dequantize.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

namespace rill {
namespace {

std::vector<std::byte> from_hex(const std::string& hex) {
  std::vector<std::byte> bytes(hex.size() / 2);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>(std::stoi(hex.substr(2 * i, 2), nullptr, 16));
  }
  return bytes;
}

// tests/golden/make_dequantize.py says where the file comes from.
TEST(DequantizeTest, HasTheBitsOfTheGgufPackage) {
  std::ifstream file(RILL_TEST_DATA_DIR "/golden/dequantize.txt");
  std::size_t types = 0;
  for (std::string name, source_hex, expected_hex; file >> name >> source_hex >> expected_hex; ++types) {
    const auto type = static_cast<ElementType>(types);
    ASSERT_EQ(name, info(type).name);
    const std::vector<std::byte> source = from_hex(source_hex), expected = from_hex(expected_hex);
    std::vector<std::uint32_t> want(expected.size() / 4), got(expected.size() / 4);
    std::memcpy(want.data(), expected.data(), expected.size());
    ASSERT_EQ(row_bytes(type, want.size()), source.size()) << name;

    // One byte off, as blocks in a file have no alignment.
    std::vector<std::byte> shifted(source.size() + 1);
    std::copy(source.begin(), source.end(), shifted.begin() + 1);
    std::vector<float> decoded(want.size());
    dequantize(type, shifted.data() + 1, decoded.data(), decoded.size());
    std::memcpy(got.data(), decoded.data(), decoded.size() * sizeof(float));
    EXPECT_EQ(got, want) << name;
  }
  EXPECT_EQ(types, kElementTypeCount);
}

}  // namespace
}  // namespace rill
