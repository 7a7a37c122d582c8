// Runs a program, for a benchmark that measures fresh processes. POSIX.
#pragma once

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace rill::benchmarks {

struct Child {
  std::string output;
  std::uint64_t peak_bytes = 0;  // resident
};

// Waits for its end; throws if it does not end well. "/proc/self/exe" is this program.
inline Child run_child(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  int ends[2];
  if (::pipe(ends) != 0) throw std::runtime_error("no pipe");
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("no process");
  if (child == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::execvp(arguments[0], arguments.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  Child ran;
  char buffer[256];
  for (ssize_t count; (count = ::read(ends[0], buffer, sizeof buffer)) > 0;) {
    ran.output.append(buffer, static_cast<std::size_t>(count));
  }
  ::close(ends[0]);
  int status = 0;
  rusage usage{};
  ::wait4(child, &status, 0, &usage);
  if (status != 0) throw std::runtime_error(command[0] + " failed");
  ran.peak_bytes = std::uint64_t{1024} * static_cast<std::uint64_t>(usage.ru_maxrss);
  return ran;
}

}  // namespace rill::benchmarks
