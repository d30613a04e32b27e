// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <stdexcept>

/// The commands of `weft`, one file each. Each adds its options to the command line and gives what runs it.
namespace weft::platforms {

/// Exit codes of the command line, as scripts know them.
enum ExitCode : int { kDone = 0, kFailed = 1, kBadInput = 2 };

struct Command {
  CLI::App* app;             ///< the subcommand, to see whether it was given
  std::function<int()> run;  ///< returns an ExitCode; throws InputError and UsageError on bad input
};

/// A wrong option, or a combination of options that means nothing. The text is the whole message.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

Command run_command(CLI::App& parent);
Command collective_command(CLI::App& parent);
Command kernel_command(CLI::App& parent);
Command dpa_command(CLI::App& parent);
Command validate_command(CLI::App& parent);
Command bench_command(CLI::App& parent);
Command memory_command(CLI::App& parent);
Command topology_command(CLI::App& parent);
Command trace_command(CLI::App& parent);
Command parts_command(CLI::App& parent);
Command import_command(CLI::App& parent);
Command workload_command(CLI::App& parent);
Command vcd_command(CLI::App& parent);
Command describe_command(CLI::App& parent);

}  // namespace weft::platforms
