// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zlib.h>

#include <filesystem>
#include <string_view>
#include <vector>

#include "traces/files/whole_file.h"

namespace weft::traces {

/// A gzip file that is written once from start to end. Equal content gives equal bytes: the header has no time and no
/// name. It appears when it is complete (WholeFile). Throws std::system_error.
class GzipFile {
 public:
  explicit GzipFile(std::filesystem::path file);
  ~GzipFile();
  GzipFile(const GzipFile&) = delete;
  GzipFile& operator=(const GzipFile&) = delete;

  void write(std::string_view text);
  void close();

 private:
  void compress(std::string_view text, int flush);

  WholeFile file_;
  z_stream zlib_{};
  gz_header header_{};
  std::vector<unsigned char> compressed_;
};

}  // namespace weft::traces
