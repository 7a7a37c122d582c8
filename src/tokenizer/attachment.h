// What a layer above makes of a vocabulary once, kept with it for as long as a copy of the tokenizer lives.
#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "rill/tokenizer.h"

namespace rill::tokenizer {

struct State;

struct Attachment {
  std::mutex mutex;
  std::shared_ptr<const void> made;

  // What `make` made at the first call for this vocabulary. There is one place, for one type. Thread-safe.
  template <typename T>
  static std::shared_ptr<const T> of(const Tokenizer& tokenizer, const std::function<std::shared_ptr<const T>()>& make) {
    Attachment& place = place_of(tokenizer);
    const std::lock_guard lock(place.mutex);
    if (place.made == nullptr) place.made = make();
    return std::static_pointer_cast<const T>(place.made);
  }

  static const State& state_of(const Tokenizer& tokenizer) { return *tokenizer.state_; }

 private:
  static Attachment& place_of(const Tokenizer& tokenizer);
};

}  // namespace rill::tokenizer
