// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/write_file.h"

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "traces/files/whole_file.h"

namespace weft::platforms {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

std::string to_text(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', /*ensure_ascii=*/false, ordered_json::error_handler_t::replace) + "\n";
}

void write_file(const fs::path& file, const std::string& text) {
  traces::WholeFile whole(file);
  whole.write(text);
  whole.close();
}

void write_file(const fs::path& file, const nlohmann::ordered_json& json) {
  write_file(file, to_text(json));
}

int write_new_file(const fs::path& file, const std::string& text) {
  constexpr mode_t kAnyone = 0666;  // but for the umask
  const int descriptor = open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kAnyone);
  if (descriptor < 0) return errno;
  int error = 0;
  for (std::size_t at = 0; at < text.size() && error == 0;) {
    const ssize_t written = ::write(descriptor, text.data() + at, text.size() - at);
    if (written >= 0) at += static_cast<std::size_t>(written);
    if (written < 0 && errno != EINTR) error = errno;
  }
  if (close(descriptor) != 0 && error == 0) error = errno;
  if (error != 0) unlink(file.c_str());
  return error;
}

}  // namespace weft::platforms
