// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

/// The end of the program by a signal: what it began to write is removed, the processes that it started end with it,
/// and one line on stderr names the signal. A command that has something finished by then keeps it first.
namespace weft::platforms {

/// From now on those that end a program in everyday use (SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXCPU, SIGALRM, and
/// SIGUSR1 and SIGUSR2, which batch systems send before their limits) do so before they end it, but those that were
/// ignored when it began. A pipe that nobody reads any more, and a file that grows beyond its limit, are errors of
/// writing, not signals.
void clean_up_on_signals();

/// As long as it lives, such a signal waits. There is at most one.
class SignalsHeld {
 public:
  SignalsHeld();
  ~SignalsHeld();
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;
};

/// What the work of a command ends with when a signal came. The command keeps what is finished, adds what it kept, and
/// lets it pass on: then the program ends by the signal.
class Interrupted : public std::exception {
 public:
  explicit Interrupted(int signal) : signal_(signal) {}

  [[nodiscard]] const char* what() const noexcept override { return "ended by a signal"; }
  [[nodiscard]] int signal() const { return signal_; }
  /// "SIGINT".
  [[nodiscard]] std::string name() const;
  /// For the line on stderr: "3 of 12 rows are done".
  std::string kept;

 private:
  int signal_;
};

/// As long as it lives, the first such signal but SIGQUIT does not end the program: the work ends where it next calls
/// check_interrupted(). A second one ends the program at once. There is at most one.
class Interruptible {
 public:
  Interruptible();
  ~Interruptible();
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;
};

/// The signal that came while something was Interruptible; 0: none.
int interruption();
/// Throws Interrupted if one came.
void check_interrupted();

/// What JSON results have as "partial": {"ended_by": "SIGINT", "done": "3 of 12 rows are done"}, or null where all is
/// done.
nlohmann::ordered_json partial_json(const std::optional<Interrupted>& by);

/// Prints the one line, cleans up, and ends the program by the signal.
[[noreturn]] void end_interrupted(const Interrupted& by);

}  // namespace weft::platforms
