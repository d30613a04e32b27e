// SPDX-License-Identifier: Apache-2.0
#include "traces/files/piped_input.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace weft::traces {
std::shared_ptr<PipedInput> PipedInput::of(const std::filesystem::path& file, const struct stat& status) {
  // To the end of the program: who comes later reads what was given by then.
  static std::mutex mutex;
  static std::map<std::pair<dev_t, ino_t>, std::shared_ptr<PipedInput>> all;
  const std::lock_guard lock(mutex);
  std::shared_ptr<PipedInput>& known = all[{status.st_dev, status.st_ino}];
  if (known != nullptr) return known;
  const int descriptor = file == "-" ? STDIN_FILENO : ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (descriptor >= 0) known = std::make_shared<PipedInput>(descriptor);
  return known;
}

void PipedInput::keep(const char* bytes, std::size_t count) {
  if (!keeps_) return;
  if (given_ + count > kMostKept) {
    keeps_ = false;
    kept_ = {};
    return;
  }
  while (count > 0) {
    if (kept_.empty() || kept_.back().size() == kBlock) kept_.emplace_back();
    std::vector<char>& last = kept_.back();
    const std::size_t part = std::min(count, kBlock - last.size());
    last.insert(last.end(), bytes, bytes + part);
    bytes += part;
    count -= part;
  }
}

std::size_t PipedInput::read(std::uint64_t from, char* to, std::size_t most) {
  const std::lock_guard lock(mutex_);
  if (from < given_) {
    if (!keeps_) throw std::length_error("what is read is not kept");
    const std::vector<char>& block = kept_[from / kBlock];
    const std::size_t at = from % kBlock;
    const std::size_t count = std::min(most, block.size() - at);
    std::memcpy(to, block.data() + at, count);
    return count;
  }
  while (!at_end_) {
    const ssize_t got = ::read(descriptor_, to, most);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw std::system_error(errno, std::generic_category());
    at_end_ = got == 0;
    const auto count = static_cast<std::size_t>(got);
    keep(to, count);
    given_ += count;
    return count;
  }
  return 0;
}

}  // namespace weft::traces
