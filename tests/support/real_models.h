// The real models, and what else scripts/fetch-models downloads.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>

namespace rill::test {

inline std::filesystem::path real_model(std::string_view name) { return std::filesystem::path(RILL_MODEL_DIR) / name; }

// Under CI=true a missing model is a failure: there, a test that skips itself would prove nothing.
inline bool models_required() {
  const char* ci = std::getenv("CI");
  return ci != nullptr && std::string_view(ci) == "true";
}

}  // namespace rill::test

// RILL_REQUIRE_MODEL(file, "name.gguf"): declares `file`, its path, or ends the test, skipped or failed.
#define RILL_REQUIRE_MODEL(file, name)                                                              \
  const std::filesystem::path file = ::rill::test::real_model(name);                                \
  if (!std::filesystem::exists(file)) {                                                             \
    if (::rill::test::models_required()) FAIL() << file << " is missing; run scripts/fetch-models"; \
    GTEST_SKIP() << file << " is missing; run scripts/fetch-models";                                \
  }
