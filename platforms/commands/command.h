// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "platforms/cli/arguments.h"
#include "platforms/cli/exit_code.h"

/// The commands of `weft`, one file each. Each adds its options to the command line and gives what runs it.
namespace weft::platforms {

struct Command {
  Arguments app;             ///< the subcommand, to see whether it was given
  std::function<int()> run;  ///< returns an ExitCode; throws InputError and UsageError on bad input
};

Command run_command(const Arguments& parent);
Command collective_command(const Arguments& parent);
Command sweep_command(const Arguments& parent);
Command study_command(const Arguments& parent);
Command evaluate_command(const Arguments& parent);
Command kernel_command(const Arguments& parent);
Command dpa_command(const Arguments& parent);
Command regress_command(const Arguments& parent);
Command validate_command(const Arguments& parent);
Command bench_command(const Arguments& parent);
Command memory_command(const Arguments& parent);
Command topology_command(const Arguments& parent);
Command trace_command(const Arguments& parent);
Command platforms_command(const Arguments& parent);
Command parts_command(const Arguments& parent);
Command import_command(const Arguments& parent);
Command workload_command(const Arguments& parent);
Command why_command(const Arguments& parent);
Command compare_command(const Arguments& parent);
Command report_command(const Arguments& parent);
Command vcd_command(const Arguments& parent);
Command describe_command(const Arguments& parent);
Command models_command(const Arguments& parent);
Command new_command(const Arguments& parent);
Command completion_command(const Arguments& parent);
Command man_command(const Arguments& parent);

}  // namespace weft::platforms
