// SPDX-License-Identifier: Apache-2.0
#include "platforms/cli/arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <sstream>
#include <vector>

#include "platforms/config/text.h"
#include "traces/nearest_names.h"

namespace weft::platforms {

const Option& Option::required() const {
  option_->required();
  return *this;
}
const Option& Option::check(const OneOf& values) const {
  option_->check(CLI::IsMember(values.values));
  return *this;
}
const Option& Option::check(const Within& bounds) const {
  std::visit([this](const auto& both) { option_->check(CLI::Range(both.least, both.most)); }, bounds.bounds);
  // Which is in any range, as comparisons with it are false.
  option_->check(CLI::Validator(
      [](const std::string& text) {
        return std::isnan(std::strtod(text.c_str(), nullptr)) ? "expected a number, got " + text : std::string();
      },
      ""));
  return *this;
}
const Option& Option::shows_default() const {
  option_->capture_default_str();
  return *this;
}
const Option& Option::shows_default(const std::string& text) const {
  option_->default_str(text);
  return *this;
}
const Option& Option::type_name(const std::string& name) const {
  option_->type_name(name);
  return *this;
}
const Option& Option::one_at_a_time() const {
  option_->allow_extra_args(false);
  return *this;
}
const Option& Option::hidden() const {
  option_->group("");
  return *this;
}

Arguments Arguments::add_subcommand(const std::string& name, const std::string& doc) const {
  return Arguments(app_->add_subcommand(name, doc));
}
void Arguments::require_subcommand(std::size_t least, std::size_t most) const {
  app_->require_subcommand(least, most);
}

Option Arguments::add_option(const std::string& name, std::string& value, const std::string& doc) const {
  return Option(app_->add_option(name, value, doc));
}
Option Arguments::add_option(const std::string& name, int& value, const std::string& doc) const {
  return Option(app_->add_option(name, value, doc));
}
Option Arguments::add_option(const std::string& name, unsigned& value, const std::string& doc) const {
  return Option(app_->add_option(name, value, doc));
}
Option Arguments::add_option(const std::string& name, std::optional<int>& value, const std::string& doc) const {
  return Option(app_->add_option(name, value, doc));
}
Option Arguments::add_option(const std::string& name, std::int64_t& value, const std::string& doc) const {
  return Option(app_->add_option(name, value, doc));
}
Option Arguments::add_option(const std::string& name, std::uint64_t& value, const std::string& doc) const {
  return Option(app_->add_option(name, value, doc));
}
Option Arguments::add_option(const std::string& name, double& value, const std::string& doc) const {
  return Option(app_->add_option(name, value, doc));
}
Option Arguments::add_option(const std::string& name, std::vector<std::string>& values, const std::string& doc) const {
  return Option(app_->add_option(name, values, doc));
}
Option Arguments::add_option(const std::string& name, std::optional<std::int64_t>& value,
                             const std::string& doc) const {
  return Option(app_->add_option(name, value, doc));
}
Option Arguments::add_option(const std::string& name, std::optional<std::uint64_t>& value,
                             const std::string& doc) const {
  return Option(app_->add_option(name, value, doc));
}
Option Arguments::add_flag(const std::string& name, bool& value, const std::string& doc) const {
  return Option(app_->add_flag(name, value, doc));
}

bool Arguments::given() const {
  return app_->parsed();
}
bool Arguments::given(const std::string& option) const {
  return app_->count(option) > 0;
}

CommandLine::CommandLine() : app_(std::make_unique<CLI::App>()) {
  app_->set_help_flag();
}
CommandLine::CommandLine(const std::string& doc, const std::string& name, const std::string& version)
    : app_(std::make_unique<CLI::App>(doc, name)) {
  app_->set_version_flag("--version", version);
}
CommandLine::~CommandLine() = default;

/// A word where a command belongs that is none.
void CommandLine::check_commands(int argc, char** argv) const {
  const CLI::App* app = app_.get();
  std::string path = app->get_name();
  for (int i = 1; i < argc && argv[i][0] != '-'; ++i) {
    const std::vector<const CLI::App*> commands = app->get_subcommands([](const CLI::App* /*all*/) { return true; });
    if (commands.empty() || app->get_require_subcommand_min() == 0) return;
    const auto next = std::find_if(commands.begin(), commands.end(),
                                   [&](const CLI::App* command) { return command->check_name(argv[i]); });
    if (next == commands.end()) {
      traces::NearestNames near(argv[i]);
      std::string names;
      for (const CLI::App* command : commands) {
        near.look_at(command->get_name());
        names += (names.empty() ? "" : ", ") + command->get_name();
      }
      throw UsageError(path + ": expected one of " + names + ", got " + in_quotes(argv[i]) + near.question());
    }
    app = *next;
    path += " " + app->get_name();
  }
}

std::optional<std::string> CommandLine::parse(int argc, char** argv) {
  check_commands(argc, argv);
  try {
    app_->parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) throw UsageError(error.what());
    std::ostringstream text;
    app_->exit(error, text, text);
    return text.str();
  }
}

void CommandLine::parse(const std::string& text) {
  try {
    app_->parse(text, false);
  } catch (const CLI::ParseError& error) {
    throw UsageError(error.what());
  }
}

}  // namespace weft::platforms
