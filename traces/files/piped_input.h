// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <vector>

namespace weft::traces {

/// What can be read only once: a pipe, a FIFO, a terminal, standard input. All who read it in this process share one of
/// these, so that it is opened once and each of them reads it from its beginning: what it has given is kept for the
/// others, up to kMostKept bytes. Of what is longer nothing is kept, and one reader goes on where it ends.
class PipedInput {
 public:
  static constexpr std::uint64_t kMostKept = std::uint64_t{64} << 20;

  /// Of what `status` is of, which is opened if it has not been; "-" is standard input. Null if it cannot be opened, as
  /// errno says.
  static std::shared_ptr<PipedInput> of(const std::filesystem::path& file, const struct stat& status);
  explicit PipedInput(int descriptor) : descriptor_(descriptor) {}
  PipedInput(const PipedInput&) = delete;
  PipedInput& operator=(const PipedInput&) = delete;

  /// Up to `most` of the bytes that begin at `from`: at least one but at the end. Throws std::system_error where it
  /// cannot be read, and std::length_error where these bytes have been given and are not kept.
  std::size_t read(std::uint64_t from, char* to, std::size_t most);

 private:
  static constexpr std::size_t kBlock = std::size_t{1} << 20;

  void keep(const char* bytes, std::size_t count);

  std::mutex mutex_;  // traces are read in the background as well
  const int descriptor_;
  bool at_end_ = false;      ///< for good: the next who writes to a FIFO is not waited for
  std::uint64_t given_ = 0;  ///< by the pipe
  bool keeps_ = true;
  std::vector<std::vector<char>> kept_;  ///< in blocks of kBlock, of which the last may have less
};

}  // namespace weft::traces
