// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>
#include <variant>

#include "traces/files/gzip_file.h"
#include "traces/files/whole_file.h"

namespace weft::traces {

/// A file that appears when it is complete, in gzip where its name ends in .gz. Throws std::system_error.
class OutputFile {
 public:
  explicit OutputFile(const std::filesystem::path& file) {
    if (file.extension() == ".gz") {
      file_.emplace<GzipFile>(file);
    } else {
      file_.emplace<WholeFile>(file);
    }
  }

  void write(std::string_view bytes) {
    if (auto* plain = std::get_if<WholeFile>(&file_)) return plain->write(bytes);
    std::get<GzipFile>(file_).write(bytes);
  }
  void close() {
    if (auto* plain = std::get_if<WholeFile>(&file_)) return plain->close();
    std::get<GzipFile>(file_).close();
  }

 private:
  std::variant<std::monostate, WholeFile, GzipFile> file_;
};

}  // namespace weft::traces
