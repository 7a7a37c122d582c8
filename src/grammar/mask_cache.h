// Masks of one grammar for one vocabulary, shared by all who use both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "grammar/token_table.h"
#include "rill/token_set.h"

namespace rill::grammar {

// As a list where few tokens are allowed, else as bits.
class Mask {
 public:
  explicit Mask(std::span<const std::uint64_t> words);

  void write(std::span<std::uint64_t> words) const;
  std::size_t bytes() const { return sizeof(*this) + words_.size() * sizeof(words_[0]) + few_.size() * sizeof(few_[0]); }

 private:
  std::vector<std::uint64_t> words_;  // empty: `few_`
  std::vector<Token> few_;
};

// Keys say where a parse stands and the upper part of its stack, as deep as it matters: a key that a deeper one must
// follow is in the cache without a mask. Thread-safe. Emptied when it is full.
class MaskCache {
 public:
  MaskCache(std::shared_ptr<const TokenTable> table, std::size_t max_bytes)
      : table_(std::move(table)), max_bytes_(max_bytes) {}

  const TokenTable& table() const { return *table_; }
  const std::shared_ptr<const TokenTable>& shared_table() const { return table_; }

  struct Found {
    bool known = false;
    std::shared_ptr<const Mask> mask;  // null though known: ask deeper
  };
  Found find(std::span<const std::uint32_t> key) const;
  void put(std::span<const std::uint32_t> key, std::shared_ptr<const Mask> mask);
  std::size_t size() const;

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view key) const { return std::hash<std::string_view>()(key); }
  };

  std::shared_ptr<const TokenTable> table_;
  std::size_t max_bytes_;
  mutable std::shared_mutex mutex_;
  std::size_t bytes_ = 0;
  std::unordered_map<std::string, std::shared_ptr<const Mask>, Hash, std::equal_to<>> masks_;  // keys as bytes
};

}  // namespace rill::grammar
