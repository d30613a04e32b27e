// SPDX-License-Identifier: Apache-2.0
#include "platforms/cli/process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <fstream>
#include <optional>
#include <system_error>

#include "platforms/cli/signals.h"

extern char** environ;

namespace weft::platforms {
namespace {

void check(int error, const char* what) {
  if (error != 0) throw std::system_error(error, std::generic_category(), what);
}

/// A pipe that no child inherits but by what it is given.
struct Pipe {
  std::array<int, 2> ends{-1, -1};

  Pipe() { check(pipe2(ends.data(), O_CLOEXEC) == 0 ? 0 : errno, "pipe"); }
  ~Pipe() {
    for (int& end : ends) close_end(end);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  static void close_end(int& end) {
    if (end >= 0) close(end);
    end = -1;
  }
};

/// Of processes that run, for a signal handler; 0: none.
std::array<std::atomic<pid_t>, 128> children;
std::atomic<bool> ending = false;  ///< this process: none begins any more
std::atomic<int> starting = 0;     ///< processes that may run and are not among the children yet

constexpr timespec kPause = {0, 10'000'000};

/// While a process starts: no signal handler runs in this thread, and those in others wait for it.
class Starting {
 public:
  Starting() {
    sigset_t all;
    sigfillset(&all);
    check(pthread_sigmask(SIG_BLOCK, &all, &before_), "pthread_sigmask");
    ++starting;
    if (!ending) return;
    --starting;
    if (interruption() != 0) {
      pthread_sigmask(SIG_SETMASK, &before_, nullptr);
      check_interrupted();
    }
    while (true) pause();
  }
  ~Starting() {
    --starting;
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  Starting(const Starting&) = delete;
  Starting& operator=(const Starting&) = delete;

  /// Signals that were blocked before, as they are in the new process.
  [[nodiscard]] const sigset_t& before() const { return before_; }

 private:
  sigset_t before_{};
};

/// One of them.
class Child {
 public:
  explicit Child(pid_t child) : child_(child) {
    for (std::atomic<pid_t>& each : children) {
      pid_t none = 0;
      if (each.compare_exchange_strong(none, child)) {
        noted_ = &each;
        break;
      }
    }
  }
  ~Child() {
    if (noted_ != nullptr) *noted_ = 0;
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Its status, as waitpid has it.
  [[nodiscard]] int wait() const {
    int status = 0;
    while (waitpid(child_, &status, 0) < 0) {
      if (errno != EINTR) check(errno, "waitpid");
    }
    return status;
  }

 private:
  pid_t child_;
  std::atomic<pid_t>* noted_ = nullptr;
};

/// Reads both until both are at their end.
void drain(Pipe& out, Pipe& err, ChildResult& result) {
  std::array<pollfd, 2> polled{pollfd{out.ends[0], POLLIN, 0}, pollfd{err.ends[0], POLLIN, 0}};
  const std::array<std::string*, 2> texts{&result.out, &result.err};
  int open = 2;
  while (open > 0) {
    // One that came just before would not wake it.
    constexpr int kLook = 200;  // ms
    const int ready = poll(polled.data(), polled.size(), kLook);
    if (ready < 0 && errno != EINTR) check(errno, "poll");
    if (interruption() != 0) {
      end_children();
      check_interrupted();
    }
    if (ready <= 0) continue;
    for (std::size_t i = 0; i < polled.size(); ++i) {
      if (polled[i].fd < 0 || polled[i].revents == 0) continue;
      std::array<char, 65536> buffer;
      const ssize_t count = read(polled[i].fd, buffer.data(), buffer.size());
      if (count > 0) {
        texts[i]->append(buffer.data(), static_cast<std::size_t>(count));
      } else if (count == 0 || errno != EINTR) {
        polled[i].fd = -1;
        --open;
      }
    }
  }
}

/// Starts this program.
pid_t spawn_self(const std::vector<std::string>& words, const Pipe& out, const Pipe& err, const sigset_t& blocked) {
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  check(posix_spawn_file_actions_init(&actions), "posix_spawn");
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out.ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.ends[1], STDERR_FILENO);
  posix_spawnattr_t attributes;
  check(posix_spawnattr_init(&attributes), "posix_spawn");
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setsigmask(&attributes, &blocked);
  pid_t child = 0;
  const int error = posix_spawn(&child, "/proc/self/exe", &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  check(error, "cannot start a process");
  return child;
}

}  // namespace

ChildResult run_self(const std::vector<std::string>& arguments) {
  std::vector<std::string> words = {"weft"};
  words.insert(words.end(), arguments.begin(), arguments.end());

  Pipe out;
  Pipe err;
  std::optional<Child> running;
  {
    const Starting now;
    running.emplace(spawn_self(words, out, err, now.before()));
  }
  Pipe::close_end(out.ends[1]);
  Pipe::close_end(err.ends[1]);

  ChildResult result;
  drain(out, err, result);
  const int status = running->wait();
  constexpr int kSignalled = 128;
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : kSignalled + WTERMSIG(status);
  return result;
}

void end_children() noexcept {
  constexpr int kPatience = 300;  // times a hundredth of a second
  ending = true;
  while (starting != 0) nanosleep(&kPause, nullptr);
  for (const pid_t child : children) {
    if (child != 0) kill(child, SIGTERM);
  }
  for (const pid_t child : children) {
    if (child == 0) continue;
    // Where another thread waits for it as well, one of both has its end.
    for (int i = 0; waitpid(child, nullptr, WNOHANG) == 0; ++i) {
      if (i == kPatience) kill(child, SIGKILL);
      nanosleep(&kPause, nullptr);
    }
  }
}

double resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  double total = 0;
  double resident = 0;
  statm >> total >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

double most_resident_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024;
}

}  // namespace weft::platforms
