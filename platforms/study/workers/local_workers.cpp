// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "platforms/study/workers/workers.h"

namespace weft::study {

using nlohmann::json;
using nlohmann::ordered_json;

namespace {

void close_once(int& descriptor) {
  if (descriptor >= 0) close(descriptor);
  descriptor = -1;
}

[[noreturn]] void fail(const char* what) {
  throw std::runtime_error(std::string("cannot start a worker: ") + what + ": " + std::strerror(errno));
}

}  // namespace

std::string line_of(std::uint64_t id, const Task& task) {
  json told = to_json(task);
  told["id"] = id;
  return told.dump();
}

Answer answer_of(const std::string& line) {
  ordered_json told = ordered_json::parse(line);
  Answer answer;
  answer.id = told.at("id");
  answer.is_lost = told.value("lost", false);
  answer.error = told.value("error", "");
  answer.wall_s = told.value("wall_s", 0.0);
  answer.user_s = told.value("user_s", 0.0);
  answer.peak_bytes = told.value("peak_bytes", std::int64_t{0});
  if (!answer.error.empty() || answer.is_lost) return answer;
  answer.result = std::move(told.at("result"));
  answer.configuration = std::move(told.at("configuration"));
  answer.digest = told.at("digest");
  return answer;
}

std::string lost_line(std::uint64_t id) {
  return json{{"id", id}, {"lost", true}}.dump();
}

LocalWorkers::LocalWorkers(std::size_t count) : workers_(count) {
  for (Worker& worker : workers_) start(worker);
}

LocalWorkers::~LocalWorkers() {
  for (Worker& worker : workers_) end(worker);
}

void LocalWorkers::start(Worker& worker) {
  int there[2];
  int back[2];
  if (pipe2(there, O_CLOEXEC) != 0) fail("no pipe");
  if (pipe2(back, O_CLOEXEC) != 0) {
    close(there[0]);
    close(there[1]);
    fail("no pipe");
  }
  std::fflush(nullptr);  // what is buffered would be written by both
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    close(there[1]);
    close(back[0]);
    // Held open here, a pipe of another worker would not end when this process ends.
    for (Worker& other : workers_) {
      close_once(other.to);
      close_once(other.from);
    }
    const int nothing = open("/dev/null", O_RDWR);
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
    work(there[0], back[1]);
  }
  close(there[0]);
  close(back[1]);
  if (pid < 0) {
    close(there[1]);
    close(back[0]);
    fail("no process");
  }
  worker = {pid, there[1], back[0], {}, {}};
}

void LocalWorkers::end(Worker& worker) {
  close_once(worker.to);
  close_once(worker.from);
  if (worker.pid < 0) return;
  // It ends when its pipe is closed, but not while it reads a platform.
  kill(worker.pid, SIGKILL);
  while (waitpid(worker.pid, nullptr, 0) < 0 && errno == EINTR) continue;
  worker.pid = -1;
}

void LocalWorkers::give(std::size_t worker, std::uint64_t id, const Task& task) {
  give_line(worker, id, line_of(id, task));
}

void LocalWorkers::give_line(std::size_t worker, std::uint64_t id, const std::string& line) {
  Worker& to = workers_[worker];
  const std::string text = line + "\n";
  to.under_way = id;
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = write(to.to, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return;  // It has ended, which take() finds.
    done += static_cast<std::size_t>(count);
  }
}

std::optional<std::string> LocalWorkers::read(Worker& worker) {
  char bytes[65536];
  const ssize_t count = ::read(worker.from, bytes, sizeof bytes);
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return std::nullopt;
  if (count > 0) {
    worker.read.append(bytes, static_cast<std::size_t>(count));
    const std::size_t end = worker.read.find('\n');
    if (end == std::string::npos) return std::nullopt;
    std::string line = worker.read.substr(0, end);
    worker.read.erase(0, end + 1);
    worker.under_way.reset();
    return line;
  }
  const std::optional<std::uint64_t> id = worker.under_way;
  end(worker);
  start(worker);
  if (!id) return std::nullopt;
  return lost_line(*id);
}

std::optional<Workers::Taken> LocalWorkers::take(double seconds) {
  std::vector<pollfd> watched;
  watched.reserve(workers_.size());
  for (const Worker& worker : workers_) watched.push_back({worker.from, POLLIN, 0});
  const int ready = poll(watched.data(), watched.size(), static_cast<int>(seconds * 1000));
  if (ready <= 0) return std::nullopt;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    if (watched[i].revents == 0) continue;
    if (const std::optional<std::string> line = read(workers_[i])) return Taken{i, answer_of(*line)};
  }
  return std::nullopt;
}

std::optional<std::string> LocalWorkers::take_line(double seconds) {
  pollfd watched{workers_.front().from, POLLIN, 0};
  if (poll(&watched, 1, static_cast<int>(seconds * 1000)) <= 0) return std::nullopt;
  return read(workers_.front());
}

}  // namespace weft::study
