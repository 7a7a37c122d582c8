// The expected values of tests/golden.
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

namespace rill::test {

// Throws, which fails the test, where the file is missing or is not JSON.
template <typename Json = nlohmann::json>
Json read_golden(const std::string& name) {
  std::ifstream file(RILL_TEST_DATA_DIR "/golden/" + name);
  return Json::parse(file);
}

}  // namespace rill::test
