// Many strings in two allocations: a vocabulary has 262,144 of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rill {

// Holds at most 4 GiB of bytes; who fills it checks that.
struct FlatStrings {
  std::string bytes;
  std::vector<std::uint32_t> offsets = {0};  // string i is bytes [offsets[i], offsets[i + 1])

  std::size_t size() const noexcept { return offsets.size() - 1; }
  std::string_view operator[](std::size_t index) const noexcept {
    return {bytes.data() + offsets[index], offsets[index + 1] - offsets[index]};
  }
  std::size_t memory_bytes() const noexcept { return bytes.capacity() + offsets.capacity() * sizeof(offsets[0]); }

  // Ends the string whose bytes were appended since the last end.
  void end_string() { offsets.push_back(static_cast<std::uint32_t>(bytes.size())); }
  void push_back(std::string_view string) {
    bytes += string;
    end_string();
  }
};

}  // namespace rill
