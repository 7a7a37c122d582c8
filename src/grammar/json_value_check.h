// What no automaton decides about a JSON value, decided when it ends.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "grammar/rules.h"
#include "grammar/schema_branches.h"

namespace rill::grammar {

class JsonValueCheck : public ValueCheck {
 public:
  JsonValueCheck(std::shared_ptr<const SchemaBranches> branches, std::vector<Literal> literals)
      : branches_(std::move(branches)), literals_(std::move(literals)) {}

  bool accepts(std::string_view value) const override;
  std::string describe() const override;

 private:
  std::shared_ptr<const SchemaBranches> branches_;
  std::vector<Literal> literals_;
};

}  // namespace rill::grammar
