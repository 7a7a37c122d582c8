// Schemas without the keywords that combine schemas: each goal as alternatives of plain schemas.
#pragma once

#include <compare>
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schema/validator.h"

namespace rill::grammar {

// "The schema holds for the value", or does not.
struct Literal {
  schema::SchemaId schema{};
  bool negated = false;
  friend auto operator<=>(const Literal&, const Literal&) = default;
};

// All of them, ascending; empty: any value.
using Goal = std::vector<Literal>;
Goal normalised(Goal goal);

// Values that reach a goal: what `plain` says, each without its in-place subschemas, and what `checks` demand at the end.
struct Branch {
  std::vector<schema::SchemaId> plain = {};
  std::vector<Literal> checks = {};
  schema::TypeSet types = schema::kAllTypes;
  // Values may have more evaluated than what `plain` declares, or less: what came from a negation evaluates nothing, and
  // of several alternatives more than one may hold.
  bool evaluation_open = false;
};

// What a schema that was made here excludes.
struct Exclusions {
  std::vector<std::string> strings = {}, patterns = {};
  std::vector<schema::Decimal> numbers = {};
};

// The schemas of a document, and further ones that the negation of others makes. What is const is thread-safe.
class SchemaBranches {
 public:
  explicit SchemaBranches(std::shared_ptr<const schema::Validator> validator) : validator_(std::move(validator)) {}

  const schema::Schema& schema(schema::SchemaId id) const {
    return is_made(id) ? made_[index(id) - validator_->document().size()] : validator_->document()[id];
  }
  const schema::Validator& validator() const { return *validator_; }
  const Exclusions& excluded(schema::SchemaId id) const;
  // The schema's property of that name.
  std::optional<schema::SchemaId> property(schema::SchemaId id, std::string_view name) const;

  // Together they hold exactly the values that reach the goal. Asked again, it makes no further schemas.
  std::vector<Branch> of(const Goal& goal);

  bool holds(const Literal& literal, schema::JsonView value) const;
  bool is_never(const Goal& goal) const;

 private:
  using Choices = std::vector<std::vector<Literal>>;  // one of these, all of that
  struct Split {
    Literal literal;  // what the choices say
    Choices choices;
  };
  struct Open {
    Branch branch = {};
    std::vector<Literal> todo = {};
    std::vector<Split> splits = {};
  };

  bool is_made(schema::SchemaId id) const { return index(id) >= validator_->document().size(); }
  bool settle(Open& open);
  bool take(Open& open, const Literal& literal);
  const std::vector<Choices>& splits(schema::SchemaId id);
  const std::optional<Choices>& negation(schema::SchemaId id);
  std::optional<Choices> negation_of(const schema::Schema& schema, const Exclusions& excluded);
  bool negate_values(const std::vector<schema::JsonView>& values, Choices& choices);
  schema::SchemaId make(schema::Schema schema, Exclusions exclusions = {});
  schema::SchemaId never();
  bool one_of_overlaps(schema::SchemaId id);
  bool disjoint(schema::SchemaId a, schema::SchemaId b, int depth) const;
  std::vector<schema::SchemaId> conjuncts(schema::SchemaId id) const;

  std::shared_ptr<const schema::Validator> validator_;
  std::deque<schema::Schema> made_;
  std::map<schema::SchemaId, Exclusions> excluded_;
  std::optional<schema::SchemaId> never_;
  std::map<schema::SchemaId, std::vector<Choices>> splits_;
  std::map<schema::SchemaId, std::optional<Choices>> negations_;
  std::map<schema::SchemaId, bool> overlaps_;
};

}  // namespace rill::grammar
