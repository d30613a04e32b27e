// SPDX-License-Identifier: Apache-2.0
#include "platforms/cli/output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "platforms/cli/command.h"

namespace weft::platforms {

namespace fs = std::filesystem;

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

std::string to_hex(std::uint64_t value) {
  return fmt::format("{:016x}", value);
}

std::string printable(const std::string& text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  std::string shown;
  shown.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const unsigned first = byte(i);
    if (first < 0x80) {
      const bool acts = (first < ' ' && first != '\n' && first != '\t') || first == 0x7F;
      shown += acts ? '?' : text[i];
      ++i;
      continue;
    }
    // A character of UTF-8, of which those from U+0080 to U+009F act as well.
    const std::size_t length = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
    bool whole = length > 0 && !(first == 0xC2 && byte(i + 1) < 0xA0);
    for (std::size_t k = 1; k < length; ++k) whole = whole && (byte(i + k) & 0xC0U) == 0x80;
    shown += whole ? text.substr(i, length) : "?";
    i += whole ? length : 1;
  }
  return shown;
}

void print(const std::string& text) {
  std::cout << printable(text) << std::flush;
}

void print_warnings(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) fmt::print(stderr, "weft: warning: {}\n", printable(line));
}

void print_json(const nlohmann::ordered_json& json) {
  // What is not UTF-8, as of names in a file, must not end a run that is done.
  const std::string text = json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
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
  std::cout << shown << std::endl;
}

void write_file(const fs::path& file, const std::string& text) {
  fs::path temporary = file;
  temporary += fmt::format(".{}.tmp", getpid());
  {
    std::ofstream stream(temporary, std::ios::binary);
    stream << text;
    stream.close();
    if (!stream) {
      const int error = errno;
      std::error_code ignored;
      fs::remove(temporary, ignored);
      throw std::system_error(error, std::generic_category(), "cannot write " + file.string());
    }
  }
  fs::rename(temporary, file);
}

void write_file(const fs::path& file, const nlohmann::ordered_json& json) {
  write_file(file, json.dump(2) + "\n");
}

OutputFolder::OutputFolder(fs::path path) : path_(std::move(path)) {
  std::error_code error;
  for (fs::path at = path_; !at.empty() && !fs::exists(at, error); at = at.parent_path()) made_.push_back(at);
  fs::create_directories(path_, error);
  if (error || !fs::is_directory(path_)) {
    throw UsageError("--out: expected a folder that can be written, got \"" + path_.string() + "\"");
  }
}

OutputFolder::~OutputFolder() {
  std::error_code ignored;
  for (const fs::path& folder : made_) fs::remove(folder, ignored);
}

Progress::Progress(Dispatcher& dispatcher, std::function<double()> done)
    : dispatcher_(dispatcher), done_(std::move(done)), on_(isatty(STDERR_FILENO) != 0) {
  constexpr std::uint64_t kEvents = 1 << 18;
  if (on_) dispatcher.on_progress(kEvents, [this] { show(); });
}

Progress::~Progress() {
  if (on_) dispatcher_.on_progress(UINT64_MAX, {});
  if (shown_) std::fputs("\r\033[K", stderr);
}

void Progress::show() {
  constexpr double kInterval = 0.5;
  const double seconds = watch_.seconds();
  if (seconds - shown_at_ < kInterval) return;
  shown_at_ = seconds;
  shown_ = true;
  std::string text = fmt::format("simulated {}, {:.1f} M events/s", short_time(dispatcher_.now()),
                                 static_cast<double>(dispatcher_.handled()) / seconds * 1e-6);
  const double done = done_ ? done_() : -1;
  if (done > 0) text += fmt::format(", {:.0f} s left", seconds / done * (1 - done));
  fmt::print(stderr, "\r\033[K{}", text);
  std::fflush(stderr);
}

}  // namespace weft::platforms
