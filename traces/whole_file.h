// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string_view>

namespace weft::traces {

/// A file that appears when it is complete: what is written goes to `FILE.part`, which close() renames and the
/// destructor otherwise removes. Throws std::system_error.
class WholeFile {
 public:
  explicit WholeFile(std::filesystem::path file);
  ~WholeFile();
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;

  void write(std::string_view bytes);
  void close();
  [[nodiscard]] const std::filesystem::path& file() const { return file_; }

 private:
  struct CloseFile {
    void operator()(std::FILE* stream) const { std::fclose(stream); }
  };
  [[noreturn]] void fail() const;

  std::filesystem::path file_;
  std::filesystem::path part_;
  std::unique_ptr<std::FILE, CloseFile> stream_;
};

}  // namespace weft::traces
