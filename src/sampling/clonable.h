// Gives a stage its clone(): a copy.
#pragma once

#include <memory>

namespace rill::sampling {

template <typename Base, typename Derived>
class Clonable : public Base {
 public:
  std::unique_ptr<Base> clone() const override { return std::make_unique<Derived>(static_cast<const Derived&>(*this)); }
};

}  // namespace rill::sampling
