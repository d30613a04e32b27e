// SPDX-License-Identifier: Apache-2.0
#include "traces/gzip_file.h"

#include <cerrno>
#include <new>
#include <system_error>
#include <utility>

namespace weft::traces {
namespace {

// A third of the time of zlib's default level, for files a fifth larger: a timeline must not dominate the run.
constexpr int kLevel = 2;
constexpr int kGzipWindow = 15 + 16;  // 16 asks zlib for a gzip header and trailer
constexpr int kMemoryLevel = 8;       // zlib's default
constexpr int kUnknownSystem = 255;
constexpr std::size_t kBuffer = 64 << 10;

}  // namespace

GzipFile::GzipFile(std::filesystem::path file) : file_(std::move(file)), part_(file_), compressed_(kBuffer) {
  part_ += ".part";
  stream_.reset(std::fopen(part_.c_str(), "wb"));
  if (stream_ == nullptr) fail();
  if (deflateInit2(&zlib_, kLevel, Z_DEFLATED, kGzipWindow, kMemoryLevel, Z_DEFAULT_STRATEGY) != Z_OK) {
    std::remove(part_.c_str());
    throw std::bad_alloc();
  }
  header_.os = kUnknownSystem;
  deflateSetHeader(&zlib_, &header_);
}

GzipFile::~GzipFile() {
  deflateEnd(&zlib_);
  if (stream_ == nullptr) return;
  stream_.reset();
  std::remove(part_.c_str());
}

void GzipFile::write(std::string_view text) {
  compress(text, Z_NO_FLUSH);
}

void GzipFile::close() {
  compress({}, Z_FINISH);
  // Closing writes what the stream still buffers, and may fail as any write may.
  if (std::fclose(stream_.release()) != 0) {
    const int error = errno;
    std::remove(part_.c_str());
    errno = error;
    fail();
  }
  std::error_code error;
  std::filesystem::rename(part_, file_, error);
  if (error) {
    std::remove(part_.c_str());
    throw std::system_error(error, "cannot write " + file_.string());
  }
}

void GzipFile::compress(std::string_view text, int flush) {
  zlib_.next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(text.data()));
  zlib_.avail_in = static_cast<unsigned>(text.size());
  do {
    zlib_.next_out = compressed_.data();
    zlib_.avail_out = static_cast<unsigned>(compressed_.size());
    deflate(&zlib_, flush);
    const std::size_t size = compressed_.size() - zlib_.avail_out;
    if (std::fwrite(compressed_.data(), 1, size, stream_.get()) != size) fail();
  } while (zlib_.avail_out == 0);
}

void GzipFile::fail() const {
  throw std::system_error(errno, std::generic_category(), "cannot write " + file_.string());
}

}  // namespace weft::traces
