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
namespace {

/// "weft trace check"
std::string path_of(const CLI::App* app) {
  const CLI::App* parent = app->get_parent();
  return parent == nullptr ? app->get_name() : path_of(parent) + " " + app->get_name();
}

std::string with_help(const std::string& error, const CLI::App* app) {
  return error + (error.ends_with('?') ? " See " : ". See ") + path_of(app) + " --help";
}

/// A value that is no number: "--tolerance: expected a number, got "abc"".
std::string told(const CLI::ParseError& error) {
  const std::string text = error.what();
  constexpr std::string_view kBefore = "Could not convert: ";
  const std::size_t equals = text.find(" = ");
  if (!text.starts_with(kBefore) || equals == std::string::npos) return text;
  return text.substr(kBefore.size(), equals - kBefore.size()) + ": expected a number, got " +
         in_quotes(text.substr(equals + 3));
}

/// What is wrong with words that `app` does not take, whose arguments led on to `command`.
std::string unexpected(const CLI::App* app, const CLI::App* command) {
  const std::vector<std::string> words = app->remaining();
  const auto option = std::find_if(words.begin(), words.end(), [](const auto& word) { return word.starts_with('-'); });
  if (option == words.end()) return with_help("expected no further argument, got " + in_quotes(words.front()), app);
  const std::string name = option->substr(0, option->find('='));
  if (app != command && command->get_option_no_throw(name) != nullptr) {
    return with_help(name + ": expected behind " + in_quotes(path_of(command)) + ", whose option it is", command);
  }
  traces::NearestNames near(name);
  for (const CLI::Option* known : app->get_options()) {
    if (known->get_group().empty()) continue;
    for (const std::string& each : known->get_lnames()) near.look_at("--" + each);
  }
  return with_help("expected an option of " + path_of(app) + ", got " + in_quotes(name) + near.question(), app);
}

/// "A,B" of "TEXT:{A,B}", as Option::check has written it.
std::vector<std::string> choices_of(const std::string& type) {
  const std::size_t begin = type.find(":{");
  if (begin == std::string::npos || !type.ends_with('}')) return {};
  std::istringstream words(type.substr(begin + 2, type.size() - begin - 3));
  std::vector<std::string> choices;
  for (std::string word; std::getline(words, word, ',');) choices.push_back(word);
  return choices;
}

OptionTable table_of(const CLI::Option* option) {
  OptionTable table;
  for (const std::string& name : option->get_snames()) table.names.push_back("-" + name);
  for (const std::string& name : option->get_lnames()) table.names.push_back("--" + name);
  table.is_position = option->get_positional();
  if (table.is_position) table.names = {option->get_name(true)};
  table.doc = option->get_description();
  const std::string type = option->get_type_name();
  table.choices = choices_of(type);
  table.value = option->get_items_expected_max() > 0 ? type.substr(0, type.find(':')) : "";
  table.usual = option->get_default_str();
  table.is_required = option->get_required();
  table.takes_many = option->get_items_expected_max() > 1;
  table.may_stand_alone = option->get_items_expected_max() > 0 && option->get_expected_min() == 0;
  return table;
}

CommandTable table_of(const CLI::App* app) {
  CommandTable table;
  table.name = app->get_name();
  table.doc = app->get_description();
  table.needs_command = app->get_require_subcommand_min() > 0;
  for (const CLI::Option* option : app->get_options()) {
    if (!option->get_group().empty()) table.options.push_back(table_of(option));
  }
  for (const CLI::App* command : app->get_subcommands([](const CLI::App* /*all*/) { return true; })) {
    table.commands.push_back(table_of(command));
  }
  return table;
}

}  // namespace

const Option& Option::required() const {
  option_->required();
  return *this;
}
const Option& Option::check(const OneOf& values) const {
  option_->check(CLI::Validator([names = values.values](const std::string& text) { return not_one_of(names, text); },
                                "{" + join(values.values, ",") + "}"));
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
const Option& Option::may_stand_alone(const std::string& value) const {
  option_->expected(0, 1)->default_str(value);
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

CommandTable Arguments::table() const {
  return table_of(app_);
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

/// The command that the arguments led to.
const CLI::App* CommandLine::command() const {
  const CLI::App* app = app_.get();
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return app;
}

/// A word where a command belongs that is none.
void CommandLine::check_commands(int argc, char** argv) const {
  const CLI::App* app = app_.get();
  for (int i = 1; i < argc && argv[i][0] != '-'; ++i) {
    std::vector<std::string> names;
    for (const CLI::App* each : app->get_subcommands([](const CLI::App* /*all*/) { return true; })) {
      names.push_back(each->get_name());
    }
    if (names.empty() || app->get_require_subcommand_min() == 0) return;
    if (const std::string error = not_one_of(names, argv[i]); !error.empty()) throw UsageError(with_help(error, app));
    app = app->get_subcommand(argv[i]);
  }
}

std::optional<std::string> CommandLine::parse(int argc, char** argv) {
  check_commands(argc, argv);
  try {
    app_->parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    // What is not taken may be why something else seems to be missing.
    const bool is_by_words = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr ||
                             dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
    // It may stand before a command.
    const CLI::App* app = app_.get();
    while (app->remaining().empty() && !app->get_subcommands().empty()) app = app->get_subcommands().front();
    if (is_by_words && !app->remaining().empty()) throw UsageError(unexpected(app, command()));
    if (error.get_exit_code() != 0) throw UsageError(with_help(told(error), command()));
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
