// SPDX-License-Identifier: Apache-2.0
#include "platforms/jobs/several/apart.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <exception>
#include <system_error>

namespace weft::platforms {
namespace {

struct Answer {
  std::size_t number = 0;
  std::int64_t ps = 0;
};

/// Of a copy: it ends with its parent, and says nothing.
void hush() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGINT, SIG_IGN);  // of a terminal, which the parent answers
  signal(SIGTERM, SIG_DFL);
  const int nothing = open("/dev/null", O_RDWR);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nothing, stream);
}

pid_t wait_for(pid_t child) {
  pid_t ended = 0;
  do {
    ended = waitpid(child, nullptr, 0);
  } while (ended < 0 && errno == EINTR);
  return ended;
}

[[noreturn]] void answer(int to, std::size_t number, const std::function<Time(std::size_t)>& run) {
  try {
    const Answer said{number, run(number).count()};
    if (write(to, &said, sizeof said) == sizeof said) _exit(0);
  } catch (const std::exception&) {
    // It has no answer.
  }
  _exit(1);
}

}  // namespace

Apart::Apart(std::size_t count, const std::function<Time(std::size_t)>& run) : times_(count) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category(), "a pipe");
  child_ = fork();
  if (child_ < 0) throw std::system_error(errno, std::generic_category(), "a process");
  if (child_ == 0) {
    hush();
    for (std::size_t i = 0; i < count; ++i) {
      const pid_t copy = fork();
      if (copy == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        answer(ends[1], i, run);
      }
      if (copy > 0) wait_for(copy);
    }
    _exit(0);
  }
  close(ends[1]);
  answers_ = ends[0];
}

Apart::~Apart() {
  if (answers_ >= 0) close(answers_);
  if (child_ <= 0) return;
  kill(child_, SIGKILL);
  wait_for(child_);
}

const std::vector<std::optional<Time>>& Apart::times() {
  if (child_ == 0) return times_;
  Answer said;
  while (true) {
    const ssize_t got = read(answers_, &said, sizeof said);
    if (got < 0 && errno == EINTR) continue;
    if (got != sizeof said) break;
    times_[said.number] = Time(said.ps);
  }
  wait_for(child_);
  child_ = 0;
  return times_;
}

}  // namespace weft::platforms
