// SPDX-License-Identifier: Apache-2.0
#include "platforms/cli/signals.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <nlohmann/json.hpp>
#include <string_view>

#include "platforms/cli/process.h"
#include "traces/files/temporary.h"

namespace weft::platforms {
namespace {

struct Named {
  int signal;
  std::string_view name;
};
constexpr Named kSignals[] = {{SIGINT, "SIGINT"},   {SIGTERM, "SIGTERM"}, {SIGHUP, "SIGHUP"},   {SIGQUIT, "SIGQUIT"},
                              {SIGXCPU, "SIGXCPU"}, {SIGALRM, "SIGALRM"}, {SIGUSR1, "SIGUSR1"}, {SIGUSR2, "SIGUSR2"}};

std::atomic<bool> held = false;
std::atomic<int> waiting = 0;  ///< the signal that came meanwhile
std::atomic<bool> interruptible = false;
std::atomic<int> interrupting = 0;  ///< the signal that came then
std::atomic<bool> on_terminal = false;

std::string_view name_of_signal(int signal) {
  for (const Named& each : kSignals) {
    if (each.signal == signal) return each.name;
  }
  return "a signal";
}

void write_error(std::string_view text) {
  // Nothing helps where it cannot be written.
  [[maybe_unused]] const ssize_t ignored = write(STDERR_FILENO, text.data(), text.size());
}

/// Over a line of progress.
void begin_line() {
  if (on_terminal) write_error("\r\033[K");
}

[[noreturn]] void die_by(int signal) {
  end_children();
  traces::remove_temporaries();
  std::signal(signal, SIG_DFL);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, signal);
  pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  raise(signal);
  _exit(128 + signal);
}

/// Safe in a signal handler, as all that it calls.
[[noreturn]] void end_by(int signal) {
  begin_line();
  write_error("weft: ended by ");
  write_error(name_of_signal(signal));
  write_error("\n");
  die_by(signal);
}

extern "C" void on_signal(int signal) {
  const int error = errno;
  if (held) {
    waiting = signal;
  } else if (!interruptible || signal == SIGQUIT || interrupting.exchange(signal) != 0) {
    end_by(signal);
  }
  errno = error;
}

}  // namespace

void clean_up_on_signals() {
  on_terminal = isatty(STDERR_FILENO) != 0;
  for (const Named& each : kSignals) {
    struct sigaction now {};
    sigaction(each.signal, nullptr, &now);
    if (now.sa_handler == SIG_IGN) continue;
    struct sigaction action {};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    sigfillset(&action.sa_mask);
    sigaction(each.signal, &action, nullptr);
  }
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGPIPE, SIG_IGN);
}

SignalsHeld::SignalsHeld() {
  held = true;
}

SignalsHeld::~SignalsHeld() {
  held = false;
  if (const int signal = waiting.exchange(0); signal != 0) end_by(signal);
}

std::string Interrupted::name() const {
  return std::string(name_of_signal(signal_));
}

Interruptible::Interruptible() {
  interruptible = true;
}

Interruptible::~Interruptible() {
  interruptible = false;
}

int interruption() {
  return interrupting;
}

void check_interrupted() {
  if (const int signal = interrupting; signal != 0) throw Interrupted(signal);
}

nlohmann::ordered_json partial_json(const std::optional<Interrupted>& by) {
  if (!by) return nullptr;
  return {{"ended_by", by->name()}, {"done", by->kept}};
}

void end_interrupted(const Interrupted& by) {
  begin_line();
  write_error("weft: ended by " + by.name() + (by.kept.empty() ? "" : ": " + by.kept) + "\n");
  die_by(by.signal());
}

}  // namespace weft::platforms
