// SPDX-License-Identifier: Apache-2.0
#include "platforms/cli/place_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>

#include "platforms/cli/signals.h"
#include "traces/files/text_file.h"

namespace weft::platforms {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongest = 4096;  ///< of what is said about another

/// Words of this process, as a shell takes them.
std::string command_text() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  const std::string words((std::istreambuf_iterator<char>(file)), {});
  std::string text = "weft";
  for (std::size_t from = words.find('\0') + 1; from != 0 && from < words.size();) {
    const std::size_t end = std::min(words.find('\0', from), words.size());
    const std::string word = words.substr(from, end - from);
    const bool is_plain = !word.empty() && word.find_first_of(" \t\n'\"\\$&|;<>()*?[]{}#~`!") == std::string::npos;
    text += " " + (is_plain ? word : "'" + word + "'");
    from = end + 1;
  }
  return text.substr(0, kLongest / 2);
}

std::string this_command() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  std::array<char, 32> since{};
  std::strftime(since.data(), since.size(), "%Y-%m-%d %H:%M:%S", &parts);
  return fmt::format("process {} since {}: {}\n", getpid(), since.data(), command_text());
}

/// Whether the file that is open is the one at the path still.
bool is_at(int descriptor, const fs::path& path) {
  struct stat open {};
  struct stat there {};
  return fstat(descriptor, &open) == 0 && stat(path.c_str(), &there) == 0 && open.st_dev == there.st_dev &&
         open.st_ino == there.st_ino;
}

std::string read_other(int descriptor) {
  std::string text(kLongest, '\0');
  const ssize_t got = pread(descriptor, text.data(), text.size(), 0);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  text = text.substr(0, text.find('\n'));
  return text.empty() ? "another command" : traces::printable(text);
}

}  // namespace

PlaceLock::PlaceLock(const fs::path& place, Kind kind) {
  constexpr mode_t kReadable = 0644;
  const fs::path path =
      kind == Kind::kFolder ? place / ".weft-lock" : place.parent_path() / (".weft-lock-" + place.filename().string());
  const SignalsHeld until_noted;
  for (;;) {
    const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kReadable);
    if (descriptor < 0) {
      // Another user's, or else what is to be written here says why it cannot be.
      const int others = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
      if (others >= 0 && flock(others, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK) other_ = read_other(others);
      if (others >= 0) close(others);
      return;
    }
    if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) other_ = read_other(descriptor);
      close(descriptor);
      return;
    }
    // Who had it may have removed it since it was opened here.
    if (!is_at(descriptor, path)) {
      close(descriptor);
      continue;
    }
    descriptor_ = descriptor;
    file_ = traces::Temporary(path, traces::Temporary::Kind::kFile);
    const std::string text = this_command();
    // Without it, others are refused all the same.
    if (ftruncate(descriptor, 0) != 0 || write(descriptor, text.data(), text.size()) < 0) errno = 0;
    return;
  }
}

PlaceLock::PlaceLock(PlaceLock&& other) noexcept
    : other_(std::move(other.other_)),
      file_(std::move(other.file_)),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

PlaceLock::~PlaceLock() {
  if (descriptor_ < 0) return;
  file_ = traces::Temporary();  // before it is unlocked, lest another has it by then
  close(descriptor_);
}

}  // namespace weft::platforms
