// Text that knows which of its bytes are untrusted, and the budget that everything built during a render is charged to.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "rill/chat_template.h"

namespace rill::chat {

template <typename... Args>
[[noreturn]] void fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  throw ErrorException(make_error(code, format, std::forward<Args>(args)...));
}

// Bytes and the ranges of them that derive from message fields: ascending, disjoint, not adjacent, not empty.
struct Text {
  std::string bytes;
  std::vector<ByteRange> untrusted;

  bool tainted() const noexcept { return !untrusted.empty(); }
  bool tainted(std::size_t begin, std::size_t end) const noexcept;  // any byte of [begin, end)
  void append(std::string_view piece, bool is_untrusted);
  void append(const Text& other, std::size_t begin, std::size_t end);
};

// What one render may still spend. Each charge throws limit_exceeded, naming the limit, when nothing is left.
class Budget {
 public:
  explicit Budget(const ChatTemplateLimits& limits) noexcept : limits_(limits) {}

  void step(std::size_t count = 1) {
    if (count > limits_.steps - steps_) exceeded("steps", limits_.steps);
    steps_ += count;
  }
  // Decoding and judging each character of a text.
  void walk(std::size_t bytes) { step(bytes / 8); }
  // Looking for one text in another, which may have to compare most of it at each place.
  void search(std::size_t bytes, std::size_t sought) {
    if (sought <= bytes) step((bytes - sought) / 32 * (1 + sought / 64) + sought / 64);
  }
  void memory(std::size_t bytes) {
    if (bytes > limits_.memory_bytes - memory_) exceeded("memory_bytes", limits_.memory_bytes);
    memory_ += bytes;
  }
  void output(std::size_t bytes) {
    if (bytes > limits_.output_bytes) exceeded("output_bytes", limits_.output_bytes);
  }
  const ChatTemplateLimits& limits() const noexcept { return limits_; }

  // Counts nested evaluation while it lives.
  class Depth {
   public:
    explicit Depth(Budget& budget) : budget_(budget) {
      if (budget.depth_ >= budget.limits_.recursion_depth) exceeded("recursion_depth", budget.limits_.recursion_depth);
      ++budget.depth_;
    }
    ~Depth() { --budget_.depth_; }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;

   private:
    Budget& budget_;
  };

  [[noreturn]] static void exceeded(const char* name, std::size_t limit);

 private:
  const ChatTemplateLimits limits_;
  std::size_t steps_ = 0;
  std::size_t memory_ = 0;
  std::size_t depth_ = 0;
};

// Builds a Text, charging every byte before it is stored.
class Builder {
 public:
  explicit Builder(Budget& budget) noexcept : budget_(budget) {}

  Builder& add(std::string_view piece, bool is_untrusted = false) {
    budget_.memory(piece.size());
    text_.append(piece, is_untrusted);
    return *this;
  }
  Builder& add(const Text& other, std::size_t begin, std::size_t end) {
    budget_.memory(end - begin);
    text_.append(other, begin, end);
    return *this;
  }
  Builder& add(const Text& other) { return add(other, 0, other.bytes.size()); }
  Builder& fill(std::size_t count, char c, bool is_untrusted = false) {
    budget_.memory(count);
    text_.append(std::string(count, c), is_untrusted);
    return *this;
  }
  const Text& text() const noexcept { return text_; }
  Text take() { return std::move(text_); }
  Budget& budget() noexcept { return budget_; }

 private:
  Budget& budget_;
  Text text_;
};

}  // namespace rill::chat
