// SPDX-License-Identifier: Apache-2.0
#include "traces/files/data_path.h"

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <system_error>

namespace weft::traces {

std::vector<std::filesystem::path> data_directories() {
  std::vector<std::filesystem::path> directories;
  if (const char* user = std::getenv("WEFT_DATA"); user != nullptr && *user != '\0') directories.emplace_back(user);
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) directories.push_back(program.parent_path().parent_path() / "share" / "weft");
#ifdef WEFT_SOURCE_DIR
  // An installed tree gathers the data of all layers in one directory; the sources keep each with its layer.
  for (const char* layer : {"sw", "traces", "platforms"}) {
    directories.push_back(std::filesystem::path(WEFT_SOURCE_DIR) / layer);
  }
#endif
  return directories;
}

std::filesystem::path find_data(std::string_view relative) {
  std::string looked;
  for (const std::filesystem::path& directory : data_directories()) {
    std::filesystem::path candidate = directory / relative;
    std::error_code error;
    if (std::filesystem::exists(candidate, error)) return candidate;
    looked += (looked.empty() ? "" : ", ") + directory.string();
  }
  throw std::runtime_error("cannot find " + std::string(relative) + ", looked in " + looked +
                           "; set WEFT_DATA to the directory that holds it");
}

}  // namespace weft::traces
