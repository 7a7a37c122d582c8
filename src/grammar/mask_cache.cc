#include "grammar/mask_cache.h"

#include <algorithm>
#include <bit>
#include <mutex>

namespace rill::grammar {
namespace {

std::string_view as_text(std::span<const std::uint32_t> key) {
  return {reinterpret_cast<const char*>(key.data()), key.size_bytes()};
}

}  // namespace

Mask::Mask(std::span<const std::uint64_t> words) {
  const std::size_t most = words.size_bytes() / sizeof(Token);  // that take less memory as a list
  std::size_t count = 0;
  for (std::size_t i = 0; i < words.size() && count < most; ++i) {
    if (words[i] != 0) count += static_cast<std::size_t>(std::popcount(words[i]));
  }
  if (count >= most) {
    words_.assign(words.begin(), words.end());
    return;
  }
  few_.reserve(count);
  for (std::size_t i = 0; i < words.size(); ++i) {
    for (std::uint64_t rest = words[i]; rest != 0; rest &= rest - 1) {
      few_.push_back(static_cast<Token>(i * 64 + static_cast<std::size_t>(std::countr_zero(rest))));
    }
  }
}

void Mask::write(std::span<std::uint64_t> words) const {
  if (!words_.empty()) {
    std::ranges::copy(words_, words.begin());
    return;
  }
  std::ranges::fill(words, std::uint64_t{0});
  for (const Token token : few_) words[static_cast<std::size_t>(token) / 64] |= std::uint64_t{1} << token % 64;
}

MaskCache::Found MaskCache::find(std::span<const std::uint32_t> key) const {
  const std::shared_lock lock(mutex_);
  const auto found = masks_.find(as_text(key));
  if (found == masks_.end()) return {};
  return {true, found->second};
}

void MaskCache::put(std::span<const std::uint32_t> key, std::shared_ptr<const Mask> mask) {
  const std::unique_lock lock(mutex_);
  const std::size_t bytes = key.size_bytes() + 128 + (mask ? mask->bytes() : 0);
  if (bytes_ + bytes > max_bytes_) {
    masks_.clear();
    bytes_ = 0;
  }
  if (bytes > max_bytes_) return;
  if (masks_.insert_or_assign(std::string(as_text(key)), std::move(mask)).second) bytes_ += bytes;
}

std::size_t MaskCache::size() const {
  const std::shared_lock lock(mutex_);
  return masks_.size();
}

}  // namespace rill::grammar
