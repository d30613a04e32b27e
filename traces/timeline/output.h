// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "traces/files/gzip_file.h"
#include "traces/files/whole_file.h"

/// Part of timelines.
namespace weft::traces {

inline constexpr std::int64_t kPicosecondsPerNanosecond = 1000;

/// A file that appears when it is closed, in gzip if its name ends so. What is written is gathered in `text`.
class TimelineOutput {
 public:
  explicit TimelineOutput(const std::filesystem::path& file) {
    if (file.extension() == ".gz") {
      packed_.emplace(file);
    } else {
      plain_.emplace(file);
    }
    text.reserve(kGathered + kSlack);
  }

  /// After each piece.
  void written() {
    if (text.size() >= kGathered) flush();
  }
  void close() {
    flush();
    packed_ ? packed_->close() : plain_->close();
  }

  std::string text;

 private:
  static constexpr std::size_t kGathered = WholeFile::kBlock;
  static constexpr std::size_t kSlack = 4 << 10;

  void flush() {
    packed_ ? packed_->write(text) : plain_->write(text);
    text.clear();
  }

  std::optional<WholeFile> plain_;
  std::optional<GzipFile> packed_;
};

}  // namespace weft::traces
