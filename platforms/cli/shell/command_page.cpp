// SPDX-License-Identifier: Apache-2.0
#include "platforms/cli/shell/command_page.h"

#include <fmt/format.h>

#include <string_view>

#include "platforms/config/text.h"

namespace weft::platforms {
namespace {

std::string table_code(std::string_view text) {
  return text.empty() ? "" : fmt::format("`{}`", markdown_cell(text));
}

std::string option_names(const OptionTable& option) {
  std::string text;
  for (const std::string& name : option.names) text += (text.empty() ? "" : ", ") + table_code(name);
  return text;
}

std::string option_value(const OptionTable& option) {
  if (option.value.empty()) return "";
  const std::string value = table_code(option.value + (option.takes_many ? " ..." : ""));
  return option.may_stand_alone ? value + ", optional" : value;
}

std::string option_row(const OptionTable& option) {
  std::string doc = markdown_cell(option.doc);
  std::string choices;
  for (const std::string& choice : option.choices) choices += (choices.empty() ? ": " : ", ") + table_code(choice);
  if (option.is_required) choices += " (required)";
  return fmt::format("| {} | {} | {} | {} |\n", option_names(option), option_value(option), table_code(option.usual),
                     doc + choices);
}

/// "weft run PLATFORM [OPTIONS]"
std::string usage_line(const CommandTable& command, const std::string& path) {
  std::string text = path;
  for (const OptionTable& option : command.options) {
    if (!option.is_position) continue;
    const std::string& name = option.names.front();
    text += option.is_required ? " " + name : " [" + name + "]";
  }
  return text + " [OPTIONS]";
}

void add_sections(const CommandTable& command, const std::string& path, std::string& page) {
  for (const CommandTable& each : command.commands) {
    const std::string name = path + " " + each.name;
    page += fmt::format("\n## {}\n\n{}.\n", name, each.doc);
    if (!each.needs_command) page += fmt::format("\n    {}\n", usage_line(each, name));
    std::string rows;
    for (const OptionTable& option : each.options) {
      // All commands have it.
      if (option.names.back() != "--help") rows += option_row(option);
    }
    if (!rows.empty()) page += "\n| Option | Value | Default | Meaning |\n| --- | --- | --- | --- |\n" + rows;
    add_sections(each, name, page);
  }
}

}  // namespace

std::string command_page(const CommandTable& program) {
  std::string page =
      "# Command reference\n\n"
      "Written by `weft describe --commands` from the definitions that read the command line; `weft man` prints the\n"
      "same as a manual page. Every command also has `--help`. Arguments without dashes are known by their order.\n\n"
      "| Command | What it does |\n| --- | --- |\n";
  for (const CommandTable& each : program.commands) page += fmt::format("| `weft {}` | {} |\n", each.name, each.doc);
  page +=
      "\n| Environment | Meaning |\n| --- | --- |\n"
      "| `WEFT_PATH` | Folders with parts and models of your own, separated by colons |\n"
      "| `WEFT_DATA` | A folder whose platforms, parts, models and published tables take precedence over those that "
      "come "
      "with Weft |\n"
      "| `WEFT_HEARTBEAT` | Seconds between two lines of progress where standard error is no terminal |\n";
  add_sections(program, "weft", page);
  return page;
}

}  // namespace weft::platforms
