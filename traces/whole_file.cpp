// SPDX-License-Identifier: Apache-2.0
#include "traces/whole_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

namespace weft::traces {

WholeFile::WholeFile(std::filesystem::path file) : file_(std::move(file)), part_(file_) {
  part_ += ".part";
  descriptor_ = open(part_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail();
}

WholeFile::~WholeFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (descriptor_ >= 0 || finished_) std::remove(part_.c_str());
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
  if (bytes.size() == kBlock && stored_ >= reserved_) reserve();
  while (!bytes.empty()) {
    const ssize_t stored = ::write(descriptor_, bytes.data(), bytes.size());
    if (stored < 0 && errno == EINTR) continue;
    if (stored < 0) fail();
    bytes.remove_prefix(static_cast<std::size_t>(stored));
    stored_ += stored;
  }
}

/// A file system that cannot do it, or is full, lets writes tell.
void WholeFile::reserve() {
  reserved_ = stored_ + kRoom;
#ifdef FALLOC_FL_KEEP_SIZE
  fallocate(descriptor_, FALLOC_FL_KEEP_SIZE, stored_, kRoom);
#endif
}

void WholeFile::finish() {
  store({begun_.data(), begun_.size()});
  // What was asked for beyond the end goes back; where that fails, the file is as long all the same.
  if (reserved_ > stored_) static_cast<void>(ftruncate(descriptor_, stored_) == 0);
  if (::close(std::exchange(descriptor_, -1)) != 0) {
    const int error = errno;
    std::remove(part_.c_str());
    errno = error;
    fail();
  }
  finished_ = true;
  begun_ = std::vector<char>();
}

void WholeFile::appear() {
  std::error_code error;
  std::filesystem::rename(part_, file_, error);
  if (error) throw std::system_error(error, "cannot write " + file_.string());
  finished_ = false;
}

void WholeFile::fail() const {
  throw std::system_error(errno, std::generic_category(), "cannot write " + file_.string());
}

}  // namespace weft::traces
