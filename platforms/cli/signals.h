// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The end of the program by a signal: what it began to write is removed, and the processes that it started end with
/// it.
namespace weft::platforms {

/// From now on those that end a program in everyday use (SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXCPU, SIGALRM,
/// and SIGUSR1 and SIGUSR2, which batch systems send before their limits) do so before they end it, but those that were
/// ignored when it began. A file that grows beyond its limit is an error of writing, not a signal.
void clean_up_on_signals();

/// As long as it lives, such a signal waits. There is at most one.
class SignalsHeld {
 public:
  SignalsHeld();
  ~SignalsHeld();
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;
};

}  // namespace weft::platforms
