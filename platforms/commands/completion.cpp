// SPDX-License-Identifier: Apache-2.0
// weft completion and weft man: what shells and man are told of the command line.
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "platforms/cli/output.h"
#include "platforms/cli/shell/completion.h"
#include "platforms/cli/shell/man_page.h"
#include "platforms/commands/command.h"
#include "platforms/results/version.h"

namespace weft::platforms {
namespace {

std::string script_for(const std::string& shell, const CommandTable& program) {
  if (shell == "bash") return bash_completion(program);
  return shell == "zsh" ? zsh_completion(program) : fish_completion(program);
}

/// A simulator of one's own completes under its own name.
CommandTable table_of_program(const Arguments& app) {
  CommandTable table = app.table();
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) table.name = program.filename().string();
  return table;
}

}  // namespace

Command completion_command(const Arguments& parent) {
  auto shell = std::make_shared<std::string>();
  const Arguments app = parent.add_subcommand("completion", "Prints a script by which a shell completes command lines");
  app.add_option("SHELL", *shell, "The shell").required().check(OneOf({"bash", "zsh", "fish"}));
  return {app, [shell, parent] {
            print(script_for(*shell, table_of_program(parent)));
            return kDone;
          }};
}

Command man_command(const Arguments& parent) {
  const Arguments app = parent.add_subcommand("man", "Prints the manual page, for man");
  return {app, [parent] {
            print(man_page(parent.table(), version_text()));
            return kDone;
          }};
}

}  // namespace weft::platforms
