// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zlib.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

namespace weft::traces {

/// A gzip file that is written once from start to end. Equal content gives equal bytes: the header has no time and no
/// name. The content goes to `FILE.part`, which close() renames and the destructor otherwise removes. Throws
/// std::system_error.
class GzipFile {
 public:
  explicit GzipFile(std::filesystem::path file);
  ~GzipFile();
  GzipFile(const GzipFile&) = delete;
  GzipFile& operator=(const GzipFile&) = delete;

  void write(std::string_view text);
  void close();

 private:
  struct CloseFile {
    void operator()(std::FILE* stream) const { std::fclose(stream); }
  };

  void compress(std::string_view text, int flush);
  [[noreturn]] void fail() const;

  std::filesystem::path file_;
  std::filesystem::path part_;
  std::unique_ptr<std::FILE, CloseFile> stream_;
  z_stream zlib_{};
  gz_header header_{};
  std::vector<unsigned char> compressed_;
};

}  // namespace weft::traces
