// SPDX-License-Identifier: Apache-2.0
// The process of a worker, and those that it forks, one for each task.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <new>
#include <systemc>

#include "platforms/results/stopwatch.h"
#include "platforms/study/stored_text.h"
#include "platforms/study/workers/workers.h"

namespace weft::study {

using nlohmann::json;
using nlohmann::ordered_json;

namespace {

constexpr const char* kTooLittleMemory = "this computer has too little memory for it";

bool write_all(int to, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = write(to, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    done += static_cast<std::size_t>(count);
  }
  return true;
}

std::string too_little(Bytes limit) {
  return limit == Bytes(0)
             ? kTooLittleMemory
             : std::string("it needs more memory than ") + kMemoryLimit + ", " + to_text(limit) + ", allows";
}

/// What is not memory of the task's own does not count.
void limit_memory(Bytes limit) {
  if (limit == Bytes(0)) return;
  std::ifstream statm("/proc/self/statm");
  std::uint64_t pages = 0;
  statm >> pages;
  const auto most = static_cast<rlim_t>(limit.count()) + pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
  const rlimit both{most, most};
  setrlimit(RLIMIT_AS, &both);
}

/// In the process of a task: its answer but for what is measured from outside.
std::string answer_text(ReadTask& task, Bytes limit) {
  const auto failed = [](const std::string& error) { return dumped({{"error", error}}); };
  try {
    const Outcome outcome = simulate(task);
    return dumped({{"result", outcome.result}, {"configuration", outcome.configuration}, {"digest", outcome.digest}});
  } catch (const std::bad_alloc&) {
    return failed(too_little(limit));
  } catch (const sc_core::sc_report& report) {
    return failed(std::string(report.get_msg_type()) + ": " + report.get_msg());
  } catch (const std::exception& error) {
    return failed(error.what());
  }
}

/// The last line that a process has left on stderr, for why it ended.
std::string last_line(int file) {
  constexpr off_t kMost = 400;
  const off_t size = lseek(file, 0, SEEK_END);
  std::string text(static_cast<std::size_t>(std::min(size, kMost)), '\0');
  if (pread(file, text.data(), text.size(), std::max<off_t>(0, size - kMost)) < 0) return "";
  while (!text.empty() && text.back() == '\n') text.pop_back();
  const std::size_t end = text.rfind('\n');
  return end == std::string::npos ? text : text.substr(end + 1);
}

/// One task, in a process of its own.
class Child {
 public:
  Child(ReadTask& task, const Limits& limits) : limits_(limits) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error(std::string("no pipe: ") + std::strerror(errno));
    errors_ = memfd_create("stderr", MFD_CLOEXEC);
    const pid_t parent = getpid();
    pid_ = fork();
    if (pid_ < 0) {
      close(ends[0]);
      close(ends[1]);
      throw std::runtime_error(std::string("no process: ") + std::strerror(errno));
    }
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(1);
      close(ends[0]);
      dup2(errors_, STDERR_FILENO);
      limit_memory(limits.memory);
      const std::string text = answer_text(task, limits.memory);
      _exit(write_all(ends[1], text) ? 0 : 1);
    }
    close(ends[1]);
    from_ = ends[0];
  }
  ~Child() {
    close(from_);
    close(errors_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// Reads until the process ends, or its time is over. `dealer` is watched: when it hangs up nobody wants the answer.
  void read_all(int dealer) {
    const double most = static_cast<double>(limits_.time.count()) * 1e-12;
    for (;;) {
      pollfd watched[2] = {{from_, POLLIN, 0}, {dealer, 0, 0}};
      const double left = most - watch_.seconds();
      const int wait = limits_.time == Time() ? -1 : std::max(0, static_cast<int>(left * 1000) + 1);
      const int ready = poll(watched, 2, wait);
      if (ready < 0 && errno == EINTR) continue;
      if (limits_.time != Time() && watch_.seconds() > most) {
        out_of_time_ = true;
        kill(pid_, SIGKILL);
        return;
      }
      if ((watched[1].revents & (POLLHUP | POLLERR)) != 0) {
        kill(pid_, SIGKILL);
        _exit(0);
      }
      if (watched[0].revents == 0) continue;
      char bytes[65536];
      const ssize_t count = read(from_, bytes, sizeof bytes);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return;
      text_.append(bytes, static_cast<std::size_t>(count));
    }
  }

  /// The line for the dealer.
  std::string end(std::uint64_t id) {
    int status = 0;
    rusage usage{};
    while (wait4(pid_, &status, 0, &usage) < 0 && errno == EINTR) continue;
    const auto seconds = [](const timeval& time) {
      return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    };
    std::string line =
        fmt::format(R"({{"id":{},"wall_s":{:.6f},"user_s":{:.6f},"peak_bytes":{},)", id, watch_.seconds(),
                    seconds(usage.ru_utime) + seconds(usage.ru_stime), std::int64_t{usage.ru_maxrss} * 1024);
    if (!out_of_time_ && WIFEXITED(status) && WEXITSTATUS(status) == 0 && !text_.empty()) {
      return line + text_.substr(1);
    }
    if (!out_of_time_ && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) return line + R"("lost":true})";
    return line + dumped({{"error", why_it_ended(status)}}).substr(1);
  }

 private:
  [[nodiscard]] std::string why_it_ended(int status) const {
    if (out_of_time_) return kOutOfTime + to_text(limits_.time) + ", allows";
    std::string why = WIFSIGNALED(status)
                          ? fmt::format("its process was ended by SIG{}", sigabbrev_np(WTERMSIG(status)))
                          : fmt::format("its process ended with {} and no result", WEXITSTATUS(status));
    if (limits_.memory != Bytes(0)) why += std::string(", with ") + kMemoryLimit + " of " + to_text(limits_.memory);
    const std::string said = last_line(errors_);
    return said.empty() ? why : why + ": " + said;
  }

  Limits limits_;
  platforms::Stopwatch watch_;
  pid_t pid_ = -1;
  int from_ = -1;
  int errors_ = -1;
  std::string text_;
  bool out_of_time_ = false;
};

std::string answer_line(const std::string& line, int dealer) {
  const json told = json::parse(line);
  const auto id = told.at("id").get<std::uint64_t>();
  try {
    const Task task = task_of(told);
    ReadTask read(task);
    read.warm_up();
    Child child(read, task.limits);
    child.read_all(dealer);
    return child.end(id);
  } catch (const std::exception& error) {
    return dumped({{"id", id}, {"error", error.what()}});
  }
}

}  // namespace

void work(int from, int to) {
  // The dealer ends it, by closing the pipe, and not a terminal that tells all processes at once.
  for (const int each : {SIGINT, SIGHUP, SIGQUIT, SIGALRM, SIGUSR1, SIGUSR2, SIGXCPU}) signal(each, SIG_IGN);
  signal(SIGTERM, SIG_DFL);
  signal(SIGPIPE, SIG_IGN);
  std::string read_text;
  for (;;) {
    for (std::size_t end = 0; (end = read_text.find('\n')) != std::string::npos;) {
      const std::string line = read_text.substr(0, end);
      read_text.erase(0, end + 1);
      if (!write_all(to, answer_line(line, from) + "\n")) _exit(0);
    }
    char bytes[65536];
    const ssize_t count = read(from, bytes, sizeof bytes);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) _exit(0);
    read_text.append(bytes, static_cast<std::size_t>(count));
  }
}

}  // namespace weft::study
