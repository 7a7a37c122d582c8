#if !defined(_WIN32)

#include <pthread.h>
#include <signal.h>
#if defined(__linux__)
#include <sched.h>
#elif defined(__APPLE__)
#include <sys/sysctl.h>
#endif

#include <algorithm>
#include <numeric>
#include <thread>

#include "base/cpu.h"

namespace rill::cpu {

std::vector<unsigned> allowed_cpus() {
#if defined(__linux__)
  // The kernel refuses a set smaller than its own, so the set grows until it fits.
  for (std::size_t cpus = CPU_SETSIZE; cpus <= (std::size_t{1} << 16); cpus *= 2) {
    std::vector<cpu_set_t> set(cpus / CPU_SETSIZE);
    const std::size_t bytes = set.size() * sizeof(cpu_set_t);
    if (::sched_getaffinity(0, bytes, set.data()) != 0) continue;
    std::vector<unsigned> allowed;
    for (unsigned cpu = 0; cpu < cpus; ++cpu) {
      if (CPU_ISSET_S(cpu, bytes, set.data())) allowed.push_back(cpu);
    }
    if (!allowed.empty()) return allowed;
  }
#endif
  unsigned count = std::max(1u, std::thread::hardware_concurrency());
#if defined(__APPLE__)
  int performance_cores = 0;
  std::size_t size = sizeof(performance_cores);
  if (::sysctlbyname("hw.perflevel0.physicalcpu", &performance_cores, &size, nullptr, 0) == 0 &&
      performance_cores > 0) {
    count = static_cast<unsigned>(performance_cores);
  }
#endif
  std::vector<unsigned> allowed(count);
  std::iota(allowed.begin(), allowed.end(), 0u);
  return allowed;
}

struct ScopedSignalBlock::State {
  sigset_t saved;
};

ScopedSignalBlock::ScopedSignalBlock() : state_(new State) {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &state_->saved);
}

ScopedSignalBlock::~ScopedSignalBlock() { ::pthread_sigmask(SIG_SETMASK, &state_->saved, nullptr); }

}  // namespace rill::cpu

#endif  // !_WIN32
