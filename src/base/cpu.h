// Which processors this process may keep busy.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <vector>

namespace rill::cpu {

// Physical performance cores that this process may use, and no more than the CPU quota of its control groups, rounded
// up; at least 1. The default number of threads: a second thread on a core, or one on an efficiency core that the
// others then wait for, makes a step slower.
unsigned usable_cores();

// The same from Linux's /sys and /proc below `root`, for the CPUs `allowed` (ids, not empty). What is not found there
// does not limit.
unsigned usable_cores(std::span<const unsigned> allowed, const std::filesystem::path& root);

// ---- Per operating system: cpu_posix.cc, cpu_windows.cc ----

// Ids of the CPUs that the affinity of the process allows; only performance cores, where the system tells in its own
// way.
std::vector<unsigned> allowed_cpus();

// Blocks all signals of this thread for its lifetime, and so those of the threads that are started meanwhile.
class ScopedSignalBlock {
 public:
  ScopedSignalBlock();
  ~ScopedSignalBlock();
  ScopedSignalBlock(const ScopedSignalBlock&) = delete;
  ScopedSignalBlock& operator=(const ScopedSignalBlock&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rill::cpu
