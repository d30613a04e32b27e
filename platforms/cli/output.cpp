// SPDX-License-Identifier: Apache-2.0
#include "platforms/cli/output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <system_error>

#include "platforms/results/version.h"
#include "platforms/results/write_file.h"
#include "traces/files/text_file.h"

namespace weft::platforms {
namespace {

bool is_kept = false;  // standard output

void write_out(std::string_view text) {
  std::FILE* const out = is_kept ? stderr : stdout;
  if (std::fwrite(text.data(), 1, text.size(), out) == text.size() && std::fflush(out) == 0) return;
  if (errno == EPIPE && !is_kept) throw OutputClosed(errno, std::generic_category(), "cannot write standard output");
  throw std::system_error(errno, std::generic_category(), "cannot write standard output");
}

}  // namespace

void keep_standard_output() {
  is_kept = true;
}

void print(const std::string& text) {
  write_out(traces::printable(text));
}

void print_json(const nlohmann::ordered_json& json) {
  nlohmann::ordered_json result = json;
  if (json.is_object() && !json.contains("weft")) {
    result = {{"weft", version_json()}};
    result.update(json);
  }
  const std::string text = to_text(result);
  std::string shown;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0U;
    // Control characters that JSON may have as they are.
    if (byte == 0x7F) {
      shown += "\\u007f";
    } else if (byte == 0xC2 && next < 0xA0) {
      shown += fmt::format("\\u{:04x}", next);
      ++i;
    } else {
      shown += text[i];
    }
  }
  write_out(shown);
}

void print_warnings(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) fmt::print(stderr, "weft: warning: {}\n", traces::printable(line));
}

void print_error(const std::string& text) {
  // A key of a megabyte would hide what was expected of it.
  constexpr std::size_t kLongest = 2000;
  constexpr std::size_t kEnd = 300;
  std::string shown;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    std::string line = traces::printable(text.substr(from, end - from));
    if (line.size() > kLongest) line = line.substr(0, kLongest - kEnd) + " ... " + line.substr(line.size() - kEnd);
    shown += line + "\n";
    from = end + 1;
  }
  // Where it cannot be written, the exit code says it.
  std::fputs(("weft: " + shown).c_str(), stderr);
}

}  // namespace weft::platforms
