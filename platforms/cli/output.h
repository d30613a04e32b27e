// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "hw/core/quantity.h"

/// What commands print and write.
namespace weft::platforms {

/// Cells in columns, two blanks apart: the first one left-aligned, the others right-aligned.
std::string in_columns(const std::vector<std::vector<std::string>>& lines);

/// Three significant decimals, for people.
std::string short_number(double value);
/// The time with a unit that suits it: "1.24 ms".
std::string short_time(Time time);

/// Exact below a MiB, which all else counts in.
std::string short_bytes(double bytes);

/// Microseconds, for JSON.
inline double to_us(Time time) {
  return static_cast<double>(time.count()) * 1e-6;
}
nlohmann::ordered_json to_us(const std::vector<Time>& times);
inline double to_seconds(Time time) {
  return static_cast<double>(time.count()) * 1e-12;
}
std::string to_hex(std::uint64_t value);

/// On standard output, whatever it is made of (traces::printable). Throws std::system_error if that cannot be written.
void print(const std::string& text);
/// An object begins with what made it, version_json().
void print_json(const nlohmann::ordered_json& json);
/// From now on print() and print_json() write to stderr: standard output is one of the command's results.
void keep_standard_output();
/// On stderr, a line each, made printable as well.
void print_warnings(const std::vector<std::string>& lines);
void print_error(const std::string& text);

/// As people and files have it. What is no UTF-8 is written as U+FFFD.
std::string to_text(const nlohmann::ordered_json& json);

/// Writes the whole file or, when that fails, nothing (traces::WholeFile). Throws std::system_error.
void write_file(const std::filesystem::path& file, const std::string& text);
void write_file(const std::filesystem::path& file, const nlohmann::ordered_json& json);

/// Seconds since it was made: on the wall, and of processors that worked for this process, which does not depend on
/// what else the computer does.
class Stopwatch {
 public:
  Stopwatch();
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
  }
  [[nodiscard]] double cpu_seconds() const;

 private:
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  double cpu_began_;
};

}  // namespace weft::platforms
