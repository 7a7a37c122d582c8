#include "base/hash.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace rill {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

Digest digest_of(std::string_view text) {
  Hasher hasher;
  hasher.add(bytes_of(text));
  return hasher.digest();
}

std::string to_hex(const Digest& digest) {
  std::string digits(kDigestDigits, ' ');
  write_hex(digest, std::span<char, kDigestDigits>(digits));
  return digits;
}

TEST(HashTest, IsXxh3) {  // the values are python-xxhash's
  const std::string text(1000, 'r');
  EXPECT_EQ(checksum(bytes_of("")), 0x2d06800538d394c2u);
  EXPECT_EQ(checksum(bytes_of("rill")), 0x7eeac07a3eb27cdcu);
  EXPECT_EQ(checksum(bytes_of(text)), 0x9bd71b71f00c8d77u);
  EXPECT_EQ(to_hex(digest_of("")), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(to_hex(digest_of("rill")), "ccb664cedfbd923f7e030028e25e7263");
  EXPECT_EQ(to_hex(digest_of(text)), "21e0ab1c5e96aa0a9bd71b71f00c8d77");
}

TEST(HashTest, ADigestDoesNotDependOnHowTheBytesAreCut) {
  std::string text;
  for (int i = 0; i < 5000; ++i) text += static_cast<char>(i * 7 + i / 256);
  const Digest whole = digest_of(text);
  for (const std::size_t piece : {1u, 7u, 64u, 1024u, 4999u}) {
    Hasher hasher;
    for (std::size_t at = 0; at < text.size(); at += piece)
      hasher.add(bytes_of(text).subspan(at, std::min(piece, text.size() - at)));
    EXPECT_EQ(hasher.digest(), whole) << piece;
  }
  text.back() = static_cast<char>(text.back() ^ 1);
  EXPECT_NE(digest_of(text), whole);
}

}  // namespace
}  // namespace rill
