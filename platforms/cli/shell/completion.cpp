// SPDX-License-Identifier: Apache-2.0
#include "platforms/cli/shell/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "platforms/config/text.h"

namespace weft::platforms {
namespace {

/// What a shell offers for a value.
enum class Offer { kNothing, kChoices, kFiles, kFolders, kPlatforms, kParts, kPartsAndPlatforms, kModels, kFields };

/// Whose --set then has the paths of a platform.
bool takes_platform(const CommandTable& command) {
  return std::any_of(command.options.begin(), command.options.end(),
                     [](const OptionTable& option) { return option.is_position && option.value == "PLATFORM"; });
}

Offer offer_of(const CommandTable& command, const OptionTable& option) {
  if (!option.choices.empty()) return Offer::kChoices;
  if (option.value == "PLATFORM") return Offer::kPlatforms;
  if (option.value == "PART") return Offer::kParts;
  if (option.value == "PART|PLATFORM") return Offer::kPartsAndPlatforms;
  if (option.value == "MODEL") return Offer::kModels;
  if (option.value == "FOLDER") return Offer::kFolders;
  if (option.value == "PATH=VALUE" && takes_platform(command)) return Offer::kFields;
  return option.value == "FILE" || option.value == "PREFIX" ? Offer::kFiles : Offer::kNothing;
}

/// "trace" and "check" to "trace check".
std::string below(const std::string& path, const std::string& name) {
  return path.empty() ? name : path + " " + name;
}

/// Calls it with each command and the words that lead to it, "trace check".
void for_each(const CommandTable& command, const std::string& path,
              const std::function<void(const CommandTable&, const std::string&)>& action) {
  action(command, path);
  for (const CommandTable& each : command.commands) {
    for_each(each, below(path, each.name), action);
  }
}

std::vector<std::string> names_of(const CommandTable& command) {
  std::vector<std::string> names;
  for (const CommandTable& each : command.commands) names.push_back(each.name);
  return names;
}

/// Those of options, not of positions.
std::vector<std::string> options_of(const CommandTable& command) {
  std::vector<std::string> names;
  for (const OptionTable& option : command.options) {
    if (!option.is_position) names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return names;
}

std::string replaced(const std::string& text, const std::function<std::string(char)>& replace) {
  std::string result;
  for (const char c : text) result += replace(c);
  return result;
}

/// In single quotes, for bash and zsh.
std::string quoted(const std::string& text) {
  return "'" + replaced(text, [](char c) { return c == '\'' ? std::string(R"('\'')") : std::string(1, c); }) + "'";
}

std::string bash_offer(Offer offer, const OptionTable& option) {
  switch (offer) {
    case Offer::kChoices:
      return "_weft_words " + quoted(join(option.choices, " "));
    case Offer::kFiles:
      return "_weft_files";
    case Offer::kFolders:
      return "_weft_folders";
    case Offer::kPlatforms:
      return "_weft_names platforms; _weft_files";
    case Offer::kParts:
      return "_weft_names parts";
    case Offer::kPartsAndPlatforms:
      return "_weft_names parts; _weft_names platforms; _weft_files";
    case Offer::kModels:
      return "_weft_names models; _weft_files";
    case Offer::kFields:
      return "_weft_fields";
    case Offer::kNothing:
      break;
  }
  return ":";
}

constexpr std::string_view kBashBegin = R"bash(_weft_words() { COMPREPLY+=($(compgen -W "$1" -- "$cur")); }
_weft_names() { _weft_words "$("${COMP_WORDS[0]}" "$1" --names 2>/dev/null)"; }
_weft_files() { local IFS=$'\n'; compopt -o filenames 2>/dev/null; COMPREPLY+=($(compgen -f -- "$cur")); }
_weft_folders() { local IFS=$'\n'; compopt -o filenames 2>/dev/null; COMPREPLY+=($(compgen -d -- "$cur")); }
_weft_fields() {
  compopt -o nospace 2>/dev/null
  COMPREPLY+=($(compgen -S = -W "$("${COMP_WORDS[0]}" describe --names 2>/dev/null)" -- "$cur"))
}

_weft() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command='' i
  COMPREPLY=()
  # To bash the = of --option=value is a word.
  if [[ $cur == '=' ]]; then
    cur=''
  elif [[ $prev == '=' ]]; then
    prev=${COMP_WORDS[COMP_CWORD-2]}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$command/${COMP_WORDS[i]}" in
)bash";

/// With a blank ahead an action is called as it stands.
std::string zsh_offer(Offer offer, const OptionTable& option) {
  switch (offer) {
    case Offer::kChoices:
      return "(" + join(option.choices, " ") + ")";
    case Offer::kFiles:
      return "_files";
    case Offer::kFolders:
      return "_files -/";
    case Offer::kPlatforms:
      return " _weft_named_files platforms";
    case Offer::kParts:
      return " _weft_names parts";
    case Offer::kPartsAndPlatforms:
      return " _weft_parts_and_platforms";
    case Offer::kModels:
      return " _weft_named_files models";
    case Offer::kFields:
      return "_weft_fields";
    case Offer::kNothing:
      break;
  }
  return " ";
}

constexpr std::string_view kZshBegin = R"zsh(_weft_names() {
  local -a names
  names=(${(f)"$(_call_program names $weft_program $1 --names 2>/dev/null)"})
  compadd -a names
}
_weft_named_files() { _alternative "names:name: _weft_names $1" 'files:file:_files' }
_weft_parts_and_platforms() {
  _alternative 'parts:part: _weft_names parts' 'names:name: _weft_names platforms' 'files:file:_files'
}
_weft_fields() {
  local -a names
  names=(${(f)"$(_call_program names $weft_program describe --names 2>/dev/null)"})
  compadd -S = -a names
}
)zsh";

/// The function for what follows the command.
std::string zsh_function(const std::string& path) {
  return "_weft_at_" + replaced(path, [](char c) { return std::string(1, c == ' ' ? '_' : c); });
}

/// A word of _arguments: inside brackets.
std::string zsh_doc(const std::string& text) {
  return replaced(text, [](char c) { return (c == '[' || c == ']' || c == '\\' ? "\\" : "") + std::string(1, c); });
}

/// `position` is the number of those before it.
std::string zsh_option(const CommandTable& command, const OptionTable& option, int position) {
  const std::string value = option.value.substr(0, option.value.find_first_of(":[]"));
  const std::string action = value + ":" + zsh_offer(offer_of(command, option), option);
  if (option.is_position) return quoted((option.takes_many ? "*" : std::to_string(position + 1)) + ":" + action);
  std::string text;
  for (const std::string& name : option.names) {
    const std::string behind = option.value.empty() ? "" : std::string(option.may_stand_alone ? "::" : ":") + action;
    const char* const equals = !option.value.empty() && name.starts_with("--") ? "=" : "";
    text += (text.empty() ? "" : " ") + quoted("*" + name + equals + "[" + zsh_doc(option.doc) + "]" + behind);
  }
  return text;
}

std::string fish_offer(Offer offer, const OptionTable& option) {
  switch (offer) {
    case Offer::kChoices:
      return " -x -a " + quoted(join(option.choices, " "));
    case Offer::kFiles:
      return " -r -F";
    case Offer::kFolders:
      return " -x -a '(__fish_complete_directories)'";
    case Offer::kPlatforms:
      return " -r -F -a '(__weft_names platforms)'";
    case Offer::kParts:
      return " -x -a '(__weft_names parts)'";
    case Offer::kPartsAndPlatforms:
      return " -r -F -a '(__weft_names parts) (__weft_names platforms)'";
    case Offer::kModels:
      return " -r -F -a '(__weft_names models)'";
    case Offer::kFields:
      return " -x -a '(__weft_fields)'";
    case Offer::kNothing:
      break;
  }
  return " -x";
}

constexpr std::string_view kFishBegin = R"fish(function __weft_names
    set -l words (commandline -opc)
    $words[1] $argv --names 2>/dev/null
end
function __weft_fields
    __weft_names describe | string replace -r '$' '='
end
function __weft_command
    set -l command ''
    for word in (commandline -opc)[2..-1]
        switch "$command/$word"
)fish";

/// In single quotes for fish.
std::string fish_quoted(const std::string& text) {
  return "'" + replaced(text, [](char c) { return (c == '\'' || c == '\\' ? "\\" : "") + std::string(1, c); }) + "'";
}

/// Patterns of a case by which a shell follows the words of a command line down to the command.
std::vector<std::string> steps_of(const CommandTable& program) {
  std::vector<std::string> steps;
  for_each(program, "", [&](const CommandTable& command, const std::string& path) {
    for (const std::string& name : names_of(command)) steps.push_back(quoted(path + "/" + name));
  });
  return steps;
}

std::string header_of(const CommandTable& program, const char* shell) {
  return fmt::format("# {1} completion of {0}; written by: {0} completion {1}\n", program.name, shell);
}

/// Functions of the script, _weft and others, are called as the program is, so that several programs have their own.
std::string with_own_functions(std::string script, const CommandTable& program) {
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  const std::string own = "_" + replaced(program.name, [&](char c) { return std::string(1, is_word(c) ? c : '_'); });
  constexpr std::string_view kWritten = "_weft";
  std::size_t length = 0;
  for (std::size_t at = 0; (at = script.find(kWritten, at)) != std::string::npos; at += length) {
    // A program's own name may end so.
    const bool is_function = at == 0 || !is_word(script[at - 1]);
    if (is_function) script.replace(at, kWritten.size(), own);
    length = is_function ? own.size() : kWritten.size();
  }
  return script;
}

}  // namespace

std::string bash_completion(const CommandTable& program) {
  std::string text = header_of(program, "bash") + std::string(kBashBegin);
  text += "      " + join(steps_of(program), "|") + ")\n        command=${command:+$command }${COMP_WORDS[i]} ;;\n";
  text += "    esac\n  done\n  case \"$command $prev\" in\n";
  for_each(program, "", [&](const CommandTable& command, const std::string& path) {
    for (const OptionTable& option : command.options) {
      if (option.is_position || option.value.empty()) continue;
      std::vector<std::string> patterns;
      for (const std::string& name : option.names) patterns.push_back(quoted(path + " " + name));
      text +=
          fmt::format("    {}) {}; return ;;\n", join(patterns, "|"), bash_offer(offer_of(command, option), option));
    }
  });
  text += "  esac\n  case \"$command\" in\n";
  for_each(program, "", [&](const CommandTable& command, const std::string& path) {
    std::string offers;
    for (const OptionTable& option : command.options) {
      if (option.is_position) offers += "; " + bash_offer(offer_of(command, option), option);
    }
    if (!command.commands.empty()) offers += "; _weft_words " + quoted(join(names_of(command), " "));
    text += fmt::format("    {})\n      if [[ $cur == -* ]]; then _weft_words {}; else :{}; fi ;;\n", quoted(path),
                        quoted(join(options_of(command), " ")), offers);
  });
  return with_own_functions(text + "  esac\n}\ncomplete -F _weft ", program) + program.name + "\n";
}

std::string zsh_completion(const CommandTable& program) {
  std::string text = "#compdef " + program.name + "\n" + header_of(program, "zsh") + std::string(kZshBegin);
  for_each(program, "", [&](const CommandTable& command, const std::string& path) {
    text += "\n" + zsh_function(path) + "() {\n";
    text += "  local curcontext=$curcontext state line\n  _arguments -C";
    int positions = 0;
    for (const OptionTable& option : command.options) {
      text += " \\\n    " + zsh_option(command, option, positions);
      positions += option.is_position ? 1 : 0;
    }
    if (command.commands.empty()) {
      text += "\n}\n";
      return;
    }
    text += " \\\n    '1:command:->command' '*::argument:->argument'\n  case $state in\n    command)\n";
    text += "      local -a commands\n      commands=(\n";
    for (const CommandTable& each : command.commands) text += "        " + quoted(each.name + ":" + each.doc) + "\n";
    text += "      )\n      _describe command commands ;;\n    argument)\n      case $words[1] in\n";
    for (const CommandTable& each : command.commands) {
      text += fmt::format("        {}) {} ;;\n", each.name, zsh_function(below(path, each.name)));
    }
    text += "      esac ;;\n  esac\n}\n";
  });
  text += "\n_weft() {\n  local weft_program=$words[1]\n  _weft_at_\n}\n_weft \"$@\"\n";
  return with_own_functions(std::move(text), program);
}

std::string fish_completion(const CommandTable& program) {
  std::string text = header_of(program, "fish") + std::string(kFishBegin);
  text += "            case " + join(steps_of(program), " ");
  text +=
      "\n                set command (string trim \"$command $word\")\n        end\n    end\n    echo $command\nend\n";
  text += "function __weft_at\n    test (__weft_command) = \"$argv\"\nend\n";
  text += "complete -c " + program.name + " -f\n";
  for_each(program, "", [&](const CommandTable& command, const std::string& path) {
    const std::string begin = "complete -c " + program.name + " -n " + fish_quoted("__weft_at " + path);
    for (const CommandTable& each : command.commands) {
      text += fmt::format("{} -f -a {} -d {}\n", begin, each.name, fish_quoted(each.doc));
    }
    for (const OptionTable& option : command.options) {
      const std::string offer = fish_offer(offer_of(command, option), option);
      if (option.is_position) {
        text += begin + (offer == " -x" ? " -f" : offer) + "\n";
        continue;
      }
      std::string names;
      for (const std::string& name : option.names) {
        names += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      text += begin + names + " -d " + fish_quoted(option.doc) + (option.value.empty() ? "" : offer) + "\n";
    }
  });
  return with_own_functions(std::move(text), program);
}

}  // namespace weft::platforms
