// The bits themselves: digests of tiny models' logits are committed, and change together with the numerics version
// alone.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "base/format.h"
#include "model/loaded_model.h"
#include "model/tiny_baselines.h"

namespace rill {
namespace {

using kernels::NumericsClass;

const std::string kFile = std::string(RILL_TEST_DATA_DIR) + "/golden/bits.txt";

constexpr const char* kWhatToDo =
    "If nobody meant to change the logits, this is a defect: of one kernel, if a single element type or KV type is "
    "concerned.\n"
    "If it was meant: raise kNumericsVersion in src/model/loaded_model.h, write the new digests on an x86-64 machine "
    "with\n"
    "  RILL_WRITE_DIGESTS=1 build/dev/tests/model/model_test --gtest_filter='Digests.*'\n"
    "and say so in CHANGELOG.md, as whoever keeps sessions or compares machines has to know.";

struct Digests {
  std::uint32_t numerics_version = 0;
  std::map<std::string, std::string> of;  // by identity
};

// First line "numerics_version N", then an identity and its digest in each line.
Digests read() {
  Digests digests;
  std::ifstream file(kFile);
  std::string line;
  file >> line >> digests.numerics_version;
  while (std::getline(file, line)) {
    const std::size_t space = line.rfind(' ');
    if (space != std::string::npos) digests.of[line.substr(0, space)] = line.substr(space + 1);
  }
  return digests;
}

void write(const Digests& digests) {
  std::ofstream file(kFile);
  file << "numerics_version " << digests.numerics_version << '\n';
  for (const auto& [identity, digest] : digests.of) file << identity << ' ' << digest << '\n';
  ASSERT_TRUE(file.flush()) << kFile;
}

Digests compute() {
  Digests digests{model::kNumericsVersion, {}};
  for (const test::Identity& identity : test::identities()) {
    XXH64_state_t state;
    XXH64_reset(&state, 0);
    for (const auto& row : test::baseline(identity)) XXH64_update(&state, row.data(), row.size() * sizeof(float));
    digests.of[to_string(identity)] = format("{:016x}", XXH64_digest(&state));
  }
  return digests;
}

TEST(Digests, AreThoseOfThisNumericsVersion) {
  const Digests committed = read(), computed = compute();
  ASSERT_EQ(computed.of.size(), test::numerics_classes().size() * 2 * kElementTypeCount * 3 * 2);
  if (committed.numerics_version == computed.numerics_version) {
    std::string changed;
    for (const auto& [identity, digest] : computed.of) {
      const auto before = committed.of.find(identity);
      if (before != committed.of.end() && before->second != digest)
        changed += format("  {}: {}, was {}\n", identity, digest, before->second);
    }
    ASSERT_EQ(changed, "") << "these bits have changed, but the numerics version is still " << model::kNumericsVersion
                           << ".\n"
                           << kWhatToDo;
  }
  if (std::getenv("RILL_WRITE_DIGESTS") != nullptr) {
    ASSERT_EQ(test::numerics_classes().size(), 2u) << "this machine cannot compute the digests of both classes";
    return write(computed);
  }
  ASSERT_EQ(committed.numerics_version, computed.numerics_version)
      << kFile << " is of another version than the library.\n"
      << kWhatToDo;
  for (const auto& [identity, digest] : computed.of)
    EXPECT_TRUE(committed.of.contains(identity)) << "no digest of " << identity;
  for (const auto& [identity, digest] : committed.of) {
    const auto numerics_class = identity.starts_with("fma ") ? NumericsClass::fma : NumericsClass::sse4;
    const bool runs_here = test::numerics_classes().contains(numerics_class);
    EXPECT_EQ(computed.of.contains(identity), runs_here) << "a digest of nothing: " << identity;
  }
}

}  // namespace
}  // namespace rill
