// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "platforms/cli/shell/command_table.h"
#include "platforms/config/input_error.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

/// What a command says of its arguments. CLI11 does it, and is compiled in arguments.cpp alone: it takes as long as a
/// whole command, and longer with sanitizers.
namespace weft::platforms {

/// A value has to be one of these.
struct OneOf {
  explicit OneOf(std::vector<std::string> all) : values(std::move(all)) {}
  std::vector<std::string> values;
};
/// A number has to lie within these, both included.
struct Within {
  template <std::signed_integral T>
  Within(T least, T most) : bounds(Bounds<std::int64_t>{least, most}) {}
  template <std::unsigned_integral T>
  Within(T least, T most) : bounds(Bounds<std::uint64_t>{least, most}) {}
  template <std::floating_point T>
  Within(T least, T most) : bounds(Bounds<double>{least, most}) {}

  template <typename T>
  struct Bounds {
    T least;
    T most;
  };
  std::variant<Bounds<std::int64_t>, Bounds<std::uint64_t>, Bounds<double>> bounds;
};

/// One that was added; a handle.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}

  const Option& required() const;
  const Option& check(const OneOf& values) const;
  const Option& check(const Within& bounds) const;
  /// Help names the value that the variable has now ...
  const Option& shows_default() const;
  /// ... or another text.
  const Option& shows_default(const std::string& text) const;
  /// What help calls the value. FILE, PREFIX, FOLDER, PLATFORM, PART, PART|PLATFORM and MODEL are completed as such.
  const Option& type_name(const std::string& name) const;
  /// It may be given without a value, and then has this one.
  const Option& may_stand_alone(const std::string& value) const;
  /// A list takes one value each time it is given, not all words that follow.
  const Option& one_at_a_time() const;
  /// Help does not list it.
  const Option& hidden() const;

 private:
  CLI::Option* option_;
};

/// The arguments of a command or subcommand; a handle. Variables are set when the command line is parsed, and have to
/// live until then. Names that begin with a dash are options, others positions.
class Arguments {
 public:
  explicit Arguments(CLI::App* app) : app_(app) {}

  [[nodiscard]] Arguments add_subcommand(const std::string& name, const std::string& doc) const;
  void require_subcommand(std::size_t least, std::size_t most) const;

  Option add_option(const std::string& name, std::string& value, const std::string& doc) const;
  Option add_option(const std::string& name, int& value, const std::string& doc) const;
  Option add_option(const std::string& name, unsigned& value, const std::string& doc) const;
  Option add_option(const std::string& name, std::int64_t& value, const std::string& doc) const;
  Option add_option(const std::string& name, std::uint64_t& value, const std::string& doc) const;
  Option add_option(const std::string& name, double& value, const std::string& doc) const;
  Option add_option(const std::string& name, std::vector<std::string>& values, const std::string& doc) const;
  Option add_option(const std::string& name, std::optional<int>& value, const std::string& doc) const;
  Option add_option(const std::string& name, std::optional<std::int64_t>& value, const std::string& doc) const;
  Option add_option(const std::string& name, std::optional<std::uint64_t>& value, const std::string& doc) const;
  Option add_flag(const std::string& name, bool& value, const std::string& doc) const;

  /// All that is said here and of subcommands, but for what help does not list.
  [[nodiscard]] CommandTable table() const;

  // After parsing:
  [[nodiscard]] bool given() const;                           ///< whether the command line has this subcommand
  [[nodiscard]] bool given(const std::string& option) const;  ///< or this option of its

 private:
  CLI::App* app_;
};

/// All of a command line.
class CommandLine {
 public:
  /// One without --help.
  CommandLine();
  CommandLine(const std::string& doc, const std::string& name, const std::string& version);
  ~CommandLine();

  [[nodiscard]] Arguments arguments() const { return Arguments(app_.get()); }
  /// The text of help or of the version, if that was asked for. Throws UsageError.
  std::optional<std::string> parse(int argc, char** argv);
  /// Words, without the name of a program. Throws UsageError.
  void parse(const std::string& text);

 private:
  [[nodiscard]] const CLI::App* command() const;
  void check_commands(int argc, char** argv) const;

  std::unique_ptr<CLI::App> app_;
};

}  // namespace weft::platforms
