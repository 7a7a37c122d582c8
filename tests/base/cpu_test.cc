#include "base/cpu.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

namespace rill::cpu {
namespace {

namespace fs = std::filesystem;

// A machine described by a tree of files as Linux shows them.
class CpuTest : public testing::Test {
 protected:
  void SetUp() override { root_ = fs::path(testing::TempDir()) / ("cpu_test_" + std::string(test_name())); }
  void TearDown() override { fs::remove_all(root_); }

  static const char* test_name() { return testing::UnitTest::GetInstance()->current_test_info()->name(); }

  void write(const fs::path& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text << '\n';
  }
  void cpu(unsigned id, const std::string& file, const std::string& text) {
    write("sys/devices/system/cpu/cpu" + std::to_string(id) + "/" + file, text);
  }
  unsigned cores(const std::vector<unsigned>& allowed) { return usable_cores(allowed, root_); }

  fs::path root_;
};

TEST_F(CpuTest, NothingKnown) { EXPECT_EQ(cores({0, 1, 2}), 3u); }

TEST_F(CpuTest, SiblingsAreOneCore) {
  cpu(0, "topology/thread_siblings_list", "0,2");
  cpu(2, "topology/thread_siblings_list", "0,2");
  cpu(1, "topology/thread_siblings_list", "1,3");
  cpu(3, "topology/thread_siblings_list", "1,3");
  EXPECT_EQ(cores({0, 1, 2, 3}), 2u);
  EXPECT_EQ(cores({0, 2}), 1u);
  EXPECT_EQ(cores({3}), 1u);
}

TEST_F(CpuTest, IntelHybridCountsPerformanceCores) {
  write("sys/devices/cpu_core/cpus", "0-3,8");
  for (unsigned id : {0u, 1u}) cpu(id, "topology/thread_siblings_list", "0-1");
  EXPECT_EQ(cores({0, 1, 2, 3, 4, 5, 6, 7, 8}), 4u);  // {0, 1}, 2, 3, 8
  EXPECT_EQ(cores({5, 6}), 2u) << "pinned to efficiency cores: use those";
}

TEST_F(CpuTest, ArmCapacityDropsLittleCores) {
  const unsigned capacity[] = {250, 250, 250, 250, 870, 870, 870, 1024};
  for (unsigned id = 0; id < 8; ++id) cpu(id, "cpu_capacity", std::to_string(capacity[id]));
  EXPECT_EQ(cores({0, 1, 2, 3, 4, 5, 6, 7}), 4u);
  EXPECT_EQ(cores({0, 1, 2}), 3u);
}

TEST_F(CpuTest, QuotaOfControlGroupsVersion2) {
  write("proc/self/cgroup", "0::/a/b");
  write("sys/fs/cgroup/a/b/cpu.max", "max 100000");
  EXPECT_EQ(cores({0, 1, 2, 3}), 4u);
  write("sys/fs/cgroup/a/cpu.max", "150000 100000");
  EXPECT_EQ(cores({0, 1, 2, 3}), 2u) << "a group above limits too; 1.5 CPUs round up";
  write("sys/fs/cgroup/a/b/cpu.max", "50000 100000");
  EXPECT_EQ(cores({0, 1, 2, 3}), 1u);
}

TEST_F(CpuTest, QuotaOfControlGroupsVersion1) {
  write("proc/self/cgroup", "9:memory:/x\n4:cpu,cpuacct:/docker/f00\n0::/");
  write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "300000");  // in a container the group's own files are at the root
  write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000");
  EXPECT_EQ(cores({0, 1, 2, 3}), 3u);
  write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1");
  EXPECT_EQ(cores({0, 1, 2, 3}), 4u);
}

TEST_F(CpuTest, BrokenFilesDoNotLimit) {
  write("proc/self/cgroup", "\n:\n::\n0::../..\nx:cpu:");
  write("sys/fs/cgroup/cpu.max", "0 0");
  write("sys/devices/cpu_core/cpus", "-,a-b,,99999999999999");
  cpu(0, "cpu_capacity", "-5");
  EXPECT_EQ(cores({0, 1}), 2u);
}

TEST(AllowedCpusTest, NotEmptyAndUsable) {
  EXPECT_FALSE(allowed_cpus().empty());
  EXPECT_GE(usable_cores(), 1u);
  EXPECT_LE(usable_cores(), allowed_cpus().size());
}

}  // namespace
}  // namespace rill::cpu
