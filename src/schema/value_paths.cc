#include "schema/value_paths.h"

#include "schema/uri.h"

namespace rill::schema {

ValuePaths::Id ValuePaths::add(Id parent, JsonView child, std::size_t place) {
  budget_.spend(1);
  steps_.push_back({parent, static_cast<std::uint32_t>(place), child});
  return static_cast<Id>(steps_.size());
}

std::string ValuePaths::pointer(Id path) const {
  std::vector<Id> way;
  for (; path != Id::root; path = step(path).parent) way.push_back(path);
  std::string pointer;
  for (; !way.empty(); way.pop_back()) {
    const auto& [parent, place, child] = step(way.back());
    pointer += '/';
    pointer += child.is_member() ? pointer_token(child.name()) : std::to_string(place);
  }
  budget_.spend(pointer.size() / kBytesOfStep);
  return pointer;
}

}  // namespace rill::schema
