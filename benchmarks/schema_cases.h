// Files of JSON Schemas with instances: a line is {"id": ..., "schema": ..., "tests": [{"data": ..., "valid": true or false},
// ...]}.
#pragma once

#include <string>
#include <vector>

namespace rill::benchmarks {

struct Instance {
  std::string text;  // as in the file, without white space
  bool valid;
};

struct Case {
  std::string id, schema;
  std::vector<Instance> instances;
};

// Of the whole file, or of the schema `only`. Throws, with the line, what is not of that form.
std::vector<Case> read_cases(const std::string& path, const std::string& only = "");

}  // namespace rill::benchmarks
