// SPDX-License-Identifier: Apache-2.0
#include "traces/files/program.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

extern char** environ;

namespace weft::traces {
namespace {

void check_started(int error, const std::string& name) {
  if (error != 0) throw std::system_error(error, std::generic_category(), "cannot start " + name);
}

}  // namespace

Program::Program(std::vector<std::string> words, Way way) {
  const std::string name = words.front();
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  // A socket, since a write to one whose other end is closed can be told not to raise a signal.
  std::array<int, 2> ends{-1, -1};
  check_started(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) == 0 ? 0 : errno, name);
  end_ = ends[0];
  said_ = memfd_create("weft", MFD_CLOEXEC);

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  if (way == Way::kFrom) {
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  } else {
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, said_, STDOUT_FILENO);
  }
  posix_spawn_file_actions_adddup2(&actions, said_, STDERR_FILENO);
  // It has to end when nobody reads what it writes.
  sigset_t broken;
  sigemptyset(&broken);
  sigaddset(&broken, SIGPIPE);
  posix_spawnattr_setsigdefault(&attributes, &broken);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  const int error =
      said_ < 0 ? errno : posix_spawnp(&process_, name.c_str(), &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (error == 0) return;
  process_ = -1;
  close_end();
  if (said_ >= 0) close(said_);
  check_started(error, name);
}

Program::~Program() {
  close_end();
  if (process_ > 0) {
    kill(process_, SIGKILL);
    wait();
  }
  close(said_);
}

void Program::close_end() {
  if (end_ >= 0) close(std::exchange(end_, -1));
}

std::size_t Program::read(char* to, std::size_t size) {
  for (;;) {
    const ssize_t got = ::read(end_, to, size);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno == ECONNRESET) return 0;
    if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "cannot read what a program writes");
  }
}

bool Program::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(end_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

int Program::wait() {
  constexpr int kSignalled = 128;
  close_end();
  if (process_ < 0) return code_;
  int status = 0;
  while (waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
  code_ = WIFEXITED(status) ? WEXITSTATUS(status) : kSignalled + WTERMSIG(status);
  return code_;
}

std::string Program::said() const {
  constexpr std::size_t kMost = 300;
  std::array<char, kMost> buffer;
  const ssize_t got = pread(said_, buffer.data(), buffer.size(), 0);
  std::string text(buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  while (!text.empty() && static_cast<unsigned char>(text.back()) <= ' ') text.pop_back();
  for (char& c : text) c = c >= ' ' && c <= '~' ? c : ' ';
  return text;
}

bool Program::is_installed(const std::string& name) {
  const char* const path = std::getenv("PATH");
  const std::string folders = path == nullptr ? "" : path;
  for (std::size_t from = 0; from <= folders.size();) {
    const std::size_t colon = std::min(folders.find(':', from), folders.size());
    std::error_code error;
    if (std::filesystem::is_regular_file(std::filesystem::path(folders.substr(from, colon - from)) / name, error)) {
      return true;
    }
    from = colon + 1;
  }
  return false;
}

}  // namespace weft::traces
