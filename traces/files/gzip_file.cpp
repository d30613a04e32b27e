// SPDX-License-Identifier: Apache-2.0
#include "traces/files/gzip_file.h"

#include <new>
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

GzipFile::GzipFile(std::filesystem::path file) : file_(std::move(file)), compressed_(kBuffer) {
  if (deflateInit2(&zlib_, kLevel, Z_DEFLATED, kGzipWindow, kMemoryLevel, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::bad_alloc();
  }
  header_.os = kUnknownSystem;
  deflateSetHeader(&zlib_, &header_);
}

GzipFile::~GzipFile() {
  deflateEnd(&zlib_);
}

void GzipFile::write(std::string_view text) {
  compress(text, Z_NO_FLUSH);
}

void GzipFile::close() {
  compress({}, Z_FINISH);
  file_.close();
}

void GzipFile::compress(std::string_view text, int flush) {
  zlib_.next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(text.data()));
  zlib_.avail_in = static_cast<unsigned>(text.size());
  do {
    zlib_.next_out = compressed_.data();
    zlib_.avail_out = static_cast<unsigned>(compressed_.size());
    deflate(&zlib_, flush);
    file_.write({reinterpret_cast<const char*>(compressed_.data()), compressed_.size() - zlib_.avail_out});
  } while (zlib_.avail_out == 0);
}

}  // namespace weft::traces
