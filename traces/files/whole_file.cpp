// SPDX-License-Identifier: Apache-2.0
#include "traces/files/whole_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

namespace weft::traces {
namespace {

namespace fs = std::filesystem;

/// The number of a file of /proc/self/fd, which /dev/stdout and /dev/fd lead to.
std::optional<int> descriptor_of(const fs::path& file) {
  std::error_code error;
  const fs::path folder = fs::canonical(file.parent_path(), error);
  if (error || folder != fs::canonical("/proc/self/fd", error) || error) return std::nullopt;
  const std::string name = file.filename().string();
  int descriptor = 0;
  const auto [end, wrong] = std::from_chars(name.data(), name.data() + name.size(), descriptor);
  if (wrong != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return descriptor;
}

/// Empty if they go round.
fs::path follow_links(const fs::path& file) {
  constexpr int kMost = 40;  // as many as Linux follows
  fs::path at = file;
  for (int i = 0; i < kMost; ++i) {
    std::error_code error;
    const fs::path next = descriptor_of(at) ? fs::path() : fs::read_symlink(at, error);
    if (error || next.empty()) return at;
    at = at.parent_path() / next;
  }
  return {};
}

}  // namespace

WriteTarget find_target(const fs::path& file) {
  const auto fail = [&file](int error) {
    throw std::system_error(error, std::generic_category(), "cannot write " + file.string());
  };
  WriteTarget target;
  target.path = follow_links(file);
  if (target.path.empty()) fail(ELOOP);
  target.descriptor = descriptor_of(target.path);
  target.is_stream = target.descriptor.has_value();
  if (target.is_stream) return target;
  struct stat status {};
  if (stat(target.path.c_str(), &status) != 0) {
    if (errno != ENOENT) fail(errno);
    return target;
  }
  if (S_ISDIR(status.st_mode)) fail(EISDIR);
  if (S_ISBLK(status.st_mode)) fail(EPERM);  // a whole disk
  if (access(target.path.c_str(), W_OK) != 0) fail(errno);
  target.is_stream = !S_ISREG(status.st_mode);
  target.is_fifo = S_ISFIFO(status.st_mode);
  if (!target.is_stream) target.permissions = status.st_mode & 0777U;
  return target;
}

WholeFile::WholeFile(fs::path file) : file_(std::move(file)), target_(find_target(file_)) {
  if (target_.is_stream) {
    open_stream();
  } else {
    open_part();
  }
}

WholeFile::~WholeFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void WholeFile::open_part() {
  constexpr mode_t kEverybody = 0666;  // less what the user's mask takes away
  int error = 0;
  do {
    const fs::path path = target_.path.parent_path() / (unique_name() + ".part");
    part_ = Temporary(path, Temporary::Kind::kFile);
    descriptor_ = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kEverybody);
    if (descriptor_ >= 0) break;
    error = errno;
    part_.keep();  // not ours
  } while (error == EEXIST);
  if (descriptor_ < 0) fail(error);
  // Where that is not allowed, it has the permissions of a new file.
  if (target_.permissions) static_cast<void>(fchmod(descriptor_, *target_.permissions) == 0);
  if (reserve(kFirstRoom)) return;
  error = errno;
  ::close(std::exchange(descriptor_, -1));
  fail(error);
}

void WholeFile::open_stream() {
  if (target_.descriptor) {
    // To open it again would begin at its start, under what else is written to it.
    descriptor_ = fcntl(*target_.descriptor, F_DUPFD_CLOEXEC, 0);
    if (descriptor_ < 0) fail(errno);
    return;
  }
  using std::chrono::steady_clock;
  constexpr auto kPatience = std::chrono::seconds(1);
  constexpr auto kPause = std::chrono::milliseconds(10);
  const auto until = steady_clock::now() + kPatience;
  for (;;) {
    descriptor_ = open(target_.path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | (target_.is_fifo ? O_NONBLOCK : 0));
    // A FIFO may not have its reader yet.
    if (descriptor_ >= 0 || errno != ENXIO || !target_.is_fifo || steady_clock::now() > until) break;
    std::this_thread::sleep_for(kPause);
  }
  if (descriptor_ < 0 && errno == ENXIO && target_.is_fifo) {
    throw std::system_error(ENXIO, std::generic_category(), "cannot write " + file_.string() + ", which nobody reads");
  }
  if (descriptor_ < 0) fail(errno);
  if (target_.is_fifo) fcntl(descriptor_, F_SETFL, fcntl(descriptor_, F_GETFL) & ~O_NONBLOCK);
}

void WholeFile::write(std::string_view bytes) {
  if (!begun_.empty()) {
    const std::size_t rest = std::min(bytes.size(), kBlock - begun_.size());
    begun_.insert(begun_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(rest));
    bytes.remove_prefix(rest);
    if (begun_.size() < kBlock) return;
    store({begun_.data(), begun_.size()});
    begun_.clear();
  }
  for (; bytes.size() >= kBlock; bytes.remove_prefix(kBlock)) store(bytes.substr(0, kBlock));
  begun_.insert(begun_.end(), bytes.begin(), bytes.end());
}

void WholeFile::store(std::string_view bytes) {
  // If there is no room, the write says so.
  if (bytes.size() == kBlock && stored_ >= reserved_) static_cast<void>(reserve(kRoom));
  while (!bytes.empty()) {
    const ssize_t stored = ::write(descriptor_, bytes.data(), bytes.size());
    if (stored < 0 && errno == EINTR) continue;
    if (stored < 0) fail(errno);
    bytes.remove_prefix(static_cast<std::size_t>(stored));
    stored_ += stored;
  }
}

/// False if the disk is full, or what the user may have of it. A file system that cannot do it lets writes tell.
bool WholeFile::reserve(std::int64_t room) {
  reserved_ = stored_ + room;
#ifdef FALLOC_FL_KEEP_SIZE
  if (part_.path().empty()) return true;
  return fallocate(descriptor_, FALLOC_FL_KEEP_SIZE, stored_, room) == 0 || (errno != ENOSPC && errno != EDQUOT);
#else
  return true;
#endif
}

void WholeFile::close() {
  store({begun_.data(), begun_.size()});
  begun_ = std::vector<char>();
  // What was asked for beyond the end goes back; where that fails, the file is as long all the same.
  if (!part_.path().empty() && reserved_ > stored_) static_cast<void>(ftruncate(descriptor_, stored_) == 0);
  if (::close(std::exchange(descriptor_, -1)) != 0) fail(errno);
  if (part_.path().empty()) return;
  if (std::rename(part_.path().c_str(), target_.path.c_str()) != 0) fail(errno);
  part_.keep();
}

void WholeFile::fail(int error) const {
  throw std::system_error(error, std::generic_category(), "cannot write " + without_hidden(file_));
}

}  // namespace weft::traces
