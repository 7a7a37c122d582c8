// What no automaton decides about a JSON value, decided when it ends.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "grammar/rules.h"
#include "grammar/schema_branches.h"

namespace rill::grammar {

class JsonValueCheck : public ValueCheck {
 public:
  // `literals`: of schemas that stand in the document.
  JsonValueCheck(std::shared_ptr<const schema::Validator> validator, std::vector<Literal> literals)
      : validator_(std::move(validator)), literals_(std::move(literals)) {}

  bool accepts(std::string_view value) const override;
  std::string describe() const override;

 private:
  std::shared_ptr<const schema::Validator> validator_;
  std::vector<Literal> literals_;
};

}  // namespace rill::grammar
