// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The end of the program by a signal: what it began to write is removed, and the processes that it started end with
/// it.
namespace weft::platforms {

/// From now on SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE and SIGXCPU do so before they end the program, but those that
/// were ignored when it began. A file that grows beyond its limit is an error of writing, not a signal.
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
