// SPDX-License-Identifier: Apache-2.0
#include "platforms/cli/shell/man_page.h"

#include <fmt/format.h>

#include <string_view>

#include "platforms/config/text.h"

namespace weft::platforms {
namespace {

/// As roff takes it.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else {
      // At the beginning of a line these two would be requests.
      if (result.empty() && (c == '.' || c == '\'')) result += "\\&";
      result += c;
    }
  }
  return result;
}

std::string bold(std::string_view text) {
  return "\\fB" + escaped(text) + "\\fR";
}
std::string italic(std::string_view text) {
  return "\\fI" + escaped(text) + "\\fR";
}

/// "--set PATH=VALUE"
std::string heading(const OptionTable& option) {
  std::string text;
  for (const std::string& name : option.names) {
    text += (text.empty() ? "" : ", ") + (option.is_position ? italic(name) : bold(name));
  }
  if (option.is_position || option.value.empty()) return text;
  return text + " " + (option.may_stand_alone ? "[" + italic(option.value) + "]" : italic(option.value));
}

std::string entry(const OptionTable& option) {
  std::string doc = option.doc;
  if (!option.choices.empty()) doc += ": " + join(option.choices, ", ");
  if (!option.usual.empty()) doc += " (" + option.usual + ")";
  return ".TP\n" + heading(option) + "\n" + escaped(doc) + "\n";
}

/// "weft run PLATFORM [OPTIONS]"
std::string synopsis(const CommandTable& command, const std::string& path) {
  std::string text = bold(path);
  for (const OptionTable& option : command.options) {
    if (!option.is_position) continue;
    const std::string name = italic(option.names.front());
    text += option.is_required ? " " + name : " [" + name + "]";
  }
  return text + " [" + italic("OPTIONS") + "]";
}

void add_commands(const CommandTable& command, const std::string& path, std::string& page) {
  for (const CommandTable& each : command.commands) {
    const std::string name = path + " " + each.name;
    page += ".SS " + escaped(name) + "\n" + escaped(each.doc) + ".\n";
    if (!each.needs_command) page += ".PP\n" + synopsis(each, name) + "\n";
    for (const OptionTable& option : each.options) {
      // All commands have it.
      if (option.names.back() != "--help") page += entry(option);
    }
    add_commands(each, name, page);
  }
}

}  // namespace

std::string man_page(const CommandTable& program, const std::string& version) {
  std::string page =
      fmt::format(".TH WEFT 1 \"\" \"{0}\" \"Weft\"\n.SH NAME\nweft \\- {1}\n", escaped(version), escaped(program.doc));
  page += ".SH SYNOPSIS\n" + bold("weft") + " " + italic("COMMAND") + " [" + italic("OPTIONS") + "]\n";
  page +=
      ".SH DESCRIPTION\n"
      "You describe a machine in JSON, run it, and learn how long a training step takes, where the time goes, and "
      "what changes when you change the machine.\n.PP\n" +
      bold("--help") + " lists the options of a command. With " + bold("--json") +
      " a command prints its results for programs.\n";
  page += ".SH COMMANDS\n";
  add_commands(program, "weft", page);
  page += ".SH ENVIRONMENT\n.TP\n" + bold("WEFT_PATH") +
          "\nFolders with parts and models of your own, separated by colons.\n.TP\n" + bold("WEFT_DATA") +
          "\nA folder whose platforms, parts, models and published tables take precedence over those that come with "
          "Weft.\n";
  page +=
      ".SH EXIT STATUS\n.TP\n0\nDone.\n.TP\n1\nThe run or the comparison failed.\n.TP\n2\nBad input. The message names "
      "the file, the path within it and what was expected; nothing is written.\n";
  page += ".SH SEE ALSO\nThe pages that come with Weft, in docs; docs/README.md lists them.\n";
  return page;
}

}  // namespace weft::platforms
