// SPDX-License-Identifier: Apache-2.0
#include "platforms/cli/output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "platforms/cli/version.h"
#include "traces/text_file.h"
#include "traces/whole_file.h"

namespace weft::platforms {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

std::string in_columns(const std::vector<std::vector<std::string>>& lines) {
  std::vector<std::size_t> widths;
  for (const auto& line : lines) {
    widths.resize(std::max(widths.size(), line.size()));
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  std::string text;
  for (const auto& line : lines) {
    std::string row;
    for (std::size_t i = 0; i < line.size(); ++i) {
      row += i == 0 ? fmt::format("{:<{}}", line[i], widths[i]) : fmt::format("  {:>{}}", line[i], widths[i]);
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  }
  return text;
}

std::string short_number(double value) {
  if (value != 0 && std::abs(value) < 0.01) return fmt::format("{:.2e}", value);
  return fmt::format("{:.{}f}", value, std::abs(value) < 10 ? 3 : std::abs(value) < 1000 ? 2 : 0);
}

std::string short_time(Time time) {
  const double ps = static_cast<double>(time.count());
  if (ps < 1e3) return fmt::format("{} ps", time.count());
  if (ps < 1e6) return fmt::format("{:.3g} ns", ps * 1e-3);
  if (ps < 1e9) return fmt::format("{:.4g} us", ps * 1e-6);
  if (ps < 1e12) return fmt::format("{:.4g} ms", ps * 1e-9);
  return fmt::format("{:.4g} s", ps * 1e-12);
}

std::string short_bytes(double bytes) {
  constexpr double kMebi = 1 << 20;
  if (bytes < kMebi) return fmt::format("{:.0f} B", bytes);
  return fmt::format("{:.1f} MiB", bytes / kMebi);
}

ordered_json to_us(const std::vector<Time>& times) {
  ordered_json json = ordered_json::array();
  for (const Time time : times) json.push_back(to_us(time));
  return json;
}

std::string to_hex(std::uint64_t value) {
  return fmt::format("{:016x}", value);
}

namespace {

bool is_kept = false;  // standard output

void write_out(std::string_view text) {
  std::FILE* const out = is_kept ? stderr : stdout;
  if (std::fwrite(text.data(), 1, text.size(), out) == text.size() && std::fflush(out) == 0) return;
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
  ordered_json result = json;
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

namespace {

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace

Stopwatch::Stopwatch() : cpu_began_(platforms::cpu_seconds()) {}

double Stopwatch::cpu_seconds() const {
  return platforms::cpu_seconds() - cpu_began_;
}

}  // namespace weft::platforms
