// SPDX-License-Identifier: Apache-2.0
#include "traces/whole_file.h"

#include <fcntl.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace weft::traces {

WholeFile::WholeFile(std::filesystem::path file) : file_(std::move(file)), part_(file_) {
  part_ += ".part";
  stream_.reset(std::fopen(part_.c_str(), "wb"));
  if (stream_ == nullptr) fail();
}

WholeFile::~WholeFile() {
  if (stream_ == nullptr) return;
  stream_.reset();
  std::remove(part_.c_str());
}

void WholeFile::write(std::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), stream_.get()) != bytes.size()) fail();
  written_ += static_cast<std::int64_t>(bytes.size());
  if (written_ >= reserved_) reserve();
}

/// A file system that cannot do it, or is full, lets writes tell.
void WholeFile::reserve() {
  reserved_ = written_ + kPiece;
#ifdef FALLOC_FL_KEEP_SIZE
  fallocate(fileno(stream_.get()), FALLOC_FL_KEEP_SIZE, written_, kPiece);
#endif
}

void WholeFile::close() {
  // Closing writes what the stream still buffers, and may fail as any write may.
  if (std::fclose(stream_.release()) != 0) {
    const int error = errno;
    std::remove(part_.c_str());
    errno = error;
    fail();
  }
  std::error_code error;
  // What was asked for beyond the end goes back; where that fails, the file is as long all the same.
  if (reserved_ > kPiece) std::filesystem::resize_file(part_, static_cast<std::uintmax_t>(written_), error);
  std::filesystem::rename(part_, file_, error);
  if (error) {
    std::remove(part_.c_str());
    throw std::system_error(error, "cannot write " + file_.string());
  }
}

void WholeFile::fail() const {
  throw std::system_error(errno, std::generic_category(), "cannot write " + file_.string());
}

}  // namespace weft::traces
