// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string_view>

namespace weft::traces {

/// A file that appears when it is complete: what is written goes to `FILE.part`, which close() renames and the
/// destructor otherwise removes. Room for a long one is asked of the file system piece by piece ahead of what is
/// written, which halves the time that it takes for each page. Throws std::system_error.
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
  static constexpr std::int64_t kPiece = 64 << 20;

  struct CloseFile {
    void operator()(std::FILE* stream) const { std::fclose(stream); }
  };
  void reserve();
  [[noreturn]] void fail() const;

  std::filesystem::path file_;
  std::filesystem::path part_;
  std::unique_ptr<std::FILE, CloseFile> stream_;
  std::int64_t written_ = 0;
  std::int64_t reserved_ = kPiece;  ///< up to here it has room, or need not ask for it
};

}  // namespace weft::traces
