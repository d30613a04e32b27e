// SPDX-License-Identifier: Apache-2.0
#include "platforms/cli/signals.h"

#include <atomic>
#include <cerrno>
#include <csignal>

#include "platforms/cli/process.h"
#include "traces/temporary.h"

namespace weft::platforms {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXCPU, SIGALRM, SIGUSR1, SIGUSR2};

std::atomic<bool> held = false;
std::atomic<int> waiting = 0;  ///< the signal that came meanwhile

void end_by(int signal) {
  end_children();
  traces::remove_temporaries();
  std::signal(signal, SIG_DFL);
  raise(signal);
}

extern "C" void on_signal(int signal) {
  const int error = errno;
  if (held) {
    waiting = signal;
  } else {
    end_by(signal);
  }
  errno = error;
}

}  // namespace

void clean_up_on_signals() {
  for (const int signal : kSignals) {
    struct sigaction now {};
    sigaction(signal, nullptr, &now);
    if (now.sa_handler == SIG_IGN) continue;
    struct sigaction action {};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    sigfillset(&action.sa_mask);
    sigaction(signal, &action, nullptr);
  }
  std::signal(SIGXFSZ, SIG_IGN);
}

SignalsHeld::SignalsHeld() {
  held = true;
}

SignalsHeld::~SignalsHeld() {
  held = false;
  if (const int signal = waiting.exchange(0); signal != 0) end_by(signal);
}

}  // namespace weft::platforms
