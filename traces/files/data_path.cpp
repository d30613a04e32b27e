// SPDX-License-Identifier: Apache-2.0
#include "traces/files/data_path.h"

#include <cstdlib>
#include <stdexcept>
#include <string>
#include <system_error>

#include "traces/files/format_error.h"
#include "traces/files/text_file.h"

namespace weft::traces {

/// Folders, and a null behind them (cmake/package_data.cpp.in).
const char* const* package_data();

std::vector<std::filesystem::path> data_directories() {
  std::vector<std::filesystem::path> directories;
  std::error_code error;
  if (const char* user = std::getenv("WEFT_DATA"); user != nullptr && *user != '\0') {
    directories.emplace_back(user);
    if (!std::filesystem::is_directory(directories.back(), error)) {
      const bool exists = std::filesystem::exists(directories.back(), error);
      throw FormatError("WEFT_DATA", 0,
                        "expected a folder, got \"" + one_line(user) + "\"" +
                            (exists ? ", which is no folder" : ", which is not there"));
    }
  }
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) {
    directories.push_back(program.parent_path().parent_path() / "share" / "weft");
    // An installed weft, wherever it was built.
    if (std::filesystem::is_directory(directories.back() / "parts", error)) return directories;
  }
  for (const char* const* folder = package_data(); *folder != nullptr; ++folder) directories.emplace_back(*folder);
  return directories;
}

std::string data_directories_text() {
  std::string looked;
  for (const std::filesystem::path& directory : data_directories()) {
    looked += (looked.empty() ? "" : ", ") + directory.string();
  }
  return looked;
}

std::filesystem::path find_data(std::string_view relative) {
  for (const std::filesystem::path& directory : data_directories()) {
    std::filesystem::path candidate = directory / relative;
    std::error_code error;
    if (std::filesystem::exists(candidate, error)) return candidate;
  }
  throw std::runtime_error("cannot find " + std::string(relative) + ", looked in " + data_directories_text() +
                           "; set WEFT_DATA to the directory that holds it");
}

}  // namespace weft::traces
