// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace weft::platforms {

/// What a child process left. A process killed by signal S has exit code 128 + S, as in a shell.
struct ChildResult {
  int exit_code = 0;
  std::string out;
  std::string err;
};

/// Runs this program with other arguments and waits for its end. A machine needs a process of its own: SystemC has one
/// kernel for each, and what a run leaves in memory would weigh on the next. May be called by several threads at once.
/// Throws std::system_error if there can be no process, and Interrupted, with its end, where a signal came meanwhile.
ChildResult run_self(const std::vector<std::string>& arguments);

/// Ends the processes that run meanwhile, with SIGTERM, and those that are still there after some seconds with SIGKILL.
/// Safe in a signal handler.
void end_children() noexcept;

/// Memory that this process has, and the most that it has had.
double resident_bytes();
double most_resident_bytes();

}  // namespace weft::platforms
