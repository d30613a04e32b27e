// SPDX-License-Identifier: Apache-2.0
#include "traces/files/read_files.h"

#include <sys/stat.h>

#include <map>
#include <mutex>
#include <utility>

namespace weft::traces {
namespace {

using Identity = std::pair<dev_t, ino_t>;

struct ReadFiles {
  std::mutex mutex;  // traces are read in the background as well
  std::map<Identity, std::filesystem::path> names;
};

ReadFiles& all() {
  static ReadFiles files;
  return files;
}

std::optional<Identity> identity_of(const std::filesystem::path& file) {
  struct stat status {};
  if (stat(file.c_str(), &status) != 0) return std::nullopt;
  return Identity(status.st_dev, status.st_ino);
}

}  // namespace

void note_read(dev_t device, ino_t inode, const std::filesystem::path& file) {
  ReadFiles& files = all();
  const std::lock_guard lock(files.mutex);
  files.names.try_emplace({device, inode}, file);
}

void forget_read(const std::filesystem::path& file) {
  const auto identity = identity_of(file);
  if (!identity) return;
  ReadFiles& files = all();
  const std::lock_guard lock(files.mutex);
  files.names.erase(*identity);
}

std::optional<std::filesystem::path> read_as(const std::filesystem::path& file) {
  const auto identity = identity_of(file);
  if (!identity) return std::nullopt;
  ReadFiles& files = all();
  const std::lock_guard lock(files.mutex);
  const auto found = files.names.find(*identity);
  if (found == files.names.end()) return std::nullopt;
  return found->second;
}

}  // namespace weft::traces
