// SPDX-License-Identifier: Apache-2.0
#include "platforms/commands/command_line.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <new>
#include <optional>
#include <string_view>
#include <systemc>

#include "hw/core/fields.h"
#include "platforms/cli/output.h"
#include "platforms/cli/signals.h"
#include "platforms/commands/command.h"
#include "platforms/config/input_error.h"
#include "platforms/config/text.h"
#include "platforms/machine/machine.h"
#include "platforms/results/version.h"
#include "traces/files/format_error.h"
#include "traces/files/text_file.h"

namespace weft::platforms {
namespace {

/// libsystemc brings main() and prints a banner before it calls sc_main(), unless told so by the environment.
[[maybe_unused]] const int no_banner = setenv("SC_COPYRIGHT_MESSAGE", "DISABLE", 0);

/// What leaves sc_main() as an exception, such as a registration that is refused, comes back as a report to be shown:
/// it is a line like any other error.
bool is_uncaught(const sc_core::sc_report& report, sc_core::sc_actions actions) {
  if (report.get_severity() < sc_core::SC_ERROR || (actions & sc_core::SC_THROW) != 0) return false;
  const bool is_exception = std::string_view(report.get_msg_type()) == sc_core::SC_ID_SIMULATION_UNCAUGHT_EXCEPTION_;
  print_error((is_exception ? "" : std::string(report.get_msg_type()) + ": ") + report.get_msg());
  return true;
}

/// SystemC's own reports: errors are thrown, warnings are a line on stderr, the rest is not for users.
void on_report(const sc_core::sc_report& report, const sc_core::sc_actions& actions) {
  if (report.get_severity() == sc_core::SC_WARNING) {
    print_warnings({std::string(report.get_msg_type()) + ": " + report.get_msg()});
  }
  if (is_uncaught(report, actions)) return;
  constexpr sc_core::sc_actions kQuiet = ~(sc_core::SC_DISPLAY | sc_core::SC_LOG | sc_core::SC_ABORT);
  sc_core::sc_report_handler::default_handler(report, actions & kQuiet);
}

/// Before command_line() is called, when users register what is theirs.
void on_early_report(const sc_core::sc_report& report, const sc_core::sc_actions& actions) {
  if (!is_uncaught(report, actions)) sc_core::sc_report_handler::default_handler(report, actions);
}
[[maybe_unused]] const int early = (sc_core::sc_report_handler::set_handler(on_early_report), 0);

int fail(ExitCode code, const std::string& text) {
  print_error(text);
  return code;
}

/// What is closed would be the number of the next file that is opened, into which would go what is printed.
void open_standard_streams() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // For the other direction, so that its use is an error still.
    if (fcntl(descriptor, F_GETFD) < 0) open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

/// A path may be of any bytes, but it stands in JSON among the results.
void check_words(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (traces::find_not_utf8(word) == std::string_view::npos) continue;
    throw UsageError("expected arguments in UTF-8, got " + in_quotes(word));
  }
}

int run(int argc, char** argv) {
  CommandLine line("A virtual platform for AI training clusters", "weft", version_text());
  const Arguments app = line.arguments();
  app.require_subcommand(1, 1);
  const std::vector<Command> commands = {
      run_command(app),        why_command(app),       compare_command(app),  report_command(app),
      collective_command(app), sweep_command(app),     study_command(app),    evaluate_command(app),
      kernel_command(app),     regress_command(app),   validate_command(app), bench_command(app),
      dpa_command(app),        platforms_command(app), parts_command(app),    models_command(app),
      new_command(app),        describe_command(app),  topology_command(app), trace_command(app),
      import_command(app),     workload_command(app),  memory_command(app),   vcd_command(app),
      completion_command(app), man_command(app)};
  check_words(argc, argv);
  if (const std::optional<std::string> help = line.parse(argc, argv)) {
    print(*help);
    return kDone;
  }
  for (const Command& command : commands) {
    if (!command.app.given()) continue;
    const int code = command.run();
    // One that came too late to leave anything out is what ends the program all the same: scripts stop at it.
    check_interrupted();
    return code;
  }
  return kBadInput;
}

}  // namespace

int command_line(int argc, char** argv) {
  open_standard_streams();
  clean_up_on_signals();
  sc_core::sc_report_handler::set_handler(on_report);
  sc_core::sc_report_handler::set_actions(sc_core::SC_FATAL, sc_core::SC_THROW);
  try {
    return run(argc, argv);
  } catch (const Interrupted& by) {
    end_interrupted(by);
  } catch (const UsageError& error) {
    return fail(kBadInput, error.what());
  } catch (const InputError& error) {
    return fail(kBadInput, error.what());
  } catch (const ConfigError& error) {
    return fail(kBadInput, error.what());
  } catch (const QuantityOverflow& error) {
    return fail(kBadInput, error.what());
  } catch (const traces::FormatError& error) {
    return fail(kBadInput, error.what());
  } catch (const sc_core::sc_report& report) {
    return fail(kFailed, std::string(report.get_msg_type()) + ": " + report.get_msg());
  } catch (const std::bad_alloc&) {
    return fail(
        kFailed,
        "this computer, or a limit that is set for the process, gives too little memory for what was asked for: "
        "fewer accelerators or ends, chunks (splits) or messages under way need less");
  } catch (const OutputClosed&) {
    return kFailed;
  } catch (const std::exception& error) {
    return fail(kFailed, error.what());
  }
}

}  // namespace weft::platforms
