// The bits themselves: digests of tiny models' logits are committed, and change together with the numerics version
// alone.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

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
  std::map<std::string, std::string> of;  // by identity and length
};

// First line "numerics_version N", then identity, length and digest in each line.
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
  for (const auto& [line, digest] : digests.of) file << line << ' ' << digest << '\n';
  ASSERT_TRUE(file.flush()) << kFile;
}

// Each of the positions that a sequence adds to the one before it.
Digests compute() {
  Digests digests{model::kNumericsVersion, {}};
  for (const test::Identity& identity : test::identities()) {
    std::size_t position = 0;
    for (const std::size_t length : test::kLengths) {
      XXH64_state_t state;
      XXH64_reset(&state, 0);
      for (; position < length; ++position) {
        const std::vector<float>& row = test::baseline(identity)[position];
        XXH64_update(&state, row.data(), row.size() * sizeof(float));
      }
      digests.of[format("{} {}", to_string(identity), length)] = format("{:016x}", XXH64_digest(&state));
    }
  }
  return digests;
}

// Of a class that this machine runs, and a length that this build computes.
bool computed_here(const std::string& line) {
  const auto numerics_class = line.starts_with("fma ") ? NumericsClass::fma : NumericsClass::sse4;
  return test::numerics_classes().contains(numerics_class) &&
         std::any_of(std::begin(test::kLengths), std::end(test::kLengths),
                     [&](std::size_t length) { return line.ends_with(format(" {}", length)); });
}

TEST(Digests, AreThoseOfThisNumericsVersion) {
  const Digests committed = read(), computed = compute();
  ASSERT_EQ(computed.of.size(),
            test::numerics_classes().size() * 2 * kElementTypeCount * 3 * 2 * std::size(test::kLengths));
  if (committed.numerics_version == computed.numerics_version) {
    std::string changed;
    for (const auto& [line, digest] : computed.of) {
      const auto before = committed.of.find(line);
      if (before == committed.of.end() || before->second == digest) continue;
      changed += format("  {}: {}, was {}\n", line, digest, before->second);
    }
    ASSERT_EQ(changed, "") << "bits have changed, but the numerics version is still " << model::kNumericsVersion << '\n'
                           << kWhatToDo;
  }
  if (std::getenv("RILL_WRITE_DIGESTS") != nullptr) {
    ASSERT_EQ(test::numerics_classes().size(), 2u) << "this machine cannot compute the digests of both classes";
    ASSERT_EQ(std::size(test::kLengths), 2u) << "this build computes a part of the digests";
    return write(computed);
  }
  ASSERT_EQ(committed.numerics_version, computed.numerics_version) << kFile << " is of another version\n" << kWhatToDo;
  for (const auto& [line, digest] : computed.of) EXPECT_TRUE(committed.of.contains(line)) << "no digest of " << line;
  for (const auto& [line, digest] : committed.of) {
    EXPECT_EQ(computed.of.contains(line), computed_here(line)) << "a digest of nothing: " << line;
  }
}

}  // namespace
}  // namespace rill
