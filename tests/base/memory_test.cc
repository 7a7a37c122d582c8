#include "base/memory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string_view>

#include "support/temp_dir.h"

namespace rill {
namespace {

class MemoryTest : public testing::Test {
 protected:
  void write(const std::filesystem::path& path, std::string_view text) {
    std::filesystem::create_directories((dir_.path() / path).parent_path());
    std::ofstream(dir_.path() / path) << text;
  }
  void write_machine(std::string_view groups) {
    write("proc/meminfo", "MemTotal:  2000 kB\nMemFree: 100 kB\nMemAvailable:  1000 kB\n");
    write("proc/self/cgroup", groups);
  }
  std::uint64_t available() { return available_memory(dir_.path()); }

  test::TempDir dir_;
};

TEST_F(MemoryTest, WithoutGroupsIsWhatTheMachineHas) {
  write_machine("");
  EXPECT_EQ(available(), 1000u * 1024);
}

TEST_F(MemoryTest, TakesTheTightestGroupAndCountsReclaimableCacheAsFree) {
  write_machine("0::/app/worker\n");
  write("sys/fs/cgroup/app/worker/memory.max", "max\n");
  write("sys/fs/cgroup/app/worker/memory.current", "400000\n");
  write("sys/fs/cgroup/app/memory.max", "600000\n");
  write("sys/fs/cgroup/app/memory.current", "500000\n");
  write("sys/fs/cgroup/app/memory.stat", "anon 300000\ninactive_file 200000\n");
  EXPECT_EQ(available(), 300000u);
}

TEST_F(MemoryTest, ReadsVersionOneGroups) {
  write_machine("5:cpu,cpuacct:/a\n4:memory:/host/only/path\n");
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "500000\n");
  write("sys/fs/cgroup/memory/memory.usage_in_bytes", "700000\n");
  EXPECT_EQ(available(), 0u);
  write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(available(), 1000u * 1024);
}

TEST_F(MemoryTest, ThisMachineHasSome) { EXPECT_GT(available_memory(), std::uint64_t{1} << 20); }

}  // namespace
}  // namespace rill
