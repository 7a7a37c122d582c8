#if defined(_WIN32)

#define NOMINMAX
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <algorithm>
#include <numeric>
#include <thread>

#include "base/cpu.h"

namespace rill::cpu {
namespace {

struct Core {
  unsigned efficiency_class;  // higher is faster
  unsigned first_cpu;
};

// The physical cores of the process's processor group that its affinity mask allows.
std::vector<Core> allowed_cores() {
  DWORD_PTR mask = 0, machine = 0;
  DWORD bytes = 0;
  ::GetProcessAffinityMask(::GetCurrentProcess(), &mask, &machine);
  ::GetLogicalProcessorInformationEx(RelationProcessorCore, nullptr, &bytes);
  std::vector<unsigned char> records(bytes);
  const auto at = [&](DWORD offset) {
    return reinterpret_cast<SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX*>(records.data() + offset);
  };
  if (bytes == 0 || !::GetLogicalProcessorInformationEx(RelationProcessorCore, at(0), &bytes)) return {};
  std::vector<Core> cores;
  for (DWORD offset = 0; offset < bytes; offset += at(offset)->Size) {
    const PROCESSOR_RELATIONSHIP& core = at(offset)->Processor;
    unsigned long cpu = 0;
    if (core.GroupMask[0].Group == 0 && _BitScanForward64(&cpu, core.GroupMask[0].Mask & mask)) {
      cores.push_back({core.EfficiencyClass, static_cast<unsigned>(cpu)});
    }
  }
  return cores;
}

}  // namespace

std::vector<unsigned> allowed_cpus() {
  const std::vector<Core> cores = allowed_cores();
  unsigned fastest = 0;
  for (const Core& core : cores) fastest = std::max(fastest, core.efficiency_class);
  std::vector<unsigned> allowed;
  for (const Core& core : cores) {
    if (core.efficiency_class == fastest) allowed.push_back(core.first_cpu);
  }
  if (!allowed.empty()) return allowed;
  allowed.resize(std::max(1u, std::thread::hardware_concurrency()));
  std::iota(allowed.begin(), allowed.end(), 0u);
  return allowed;
}

struct ScopedSignalBlock::State {};  // no signals there
ScopedSignalBlock::ScopedSignalBlock() = default;
ScopedSignalBlock::~ScopedSignalBlock() = default;

}  // namespace rill::cpu

#endif  // _WIN32
