// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "traces/files/format_error.h"
#include "traces/vcd/reader.h"

namespace weft::test {

/// The first of a full name; null if there is none.
inline const vcd::Signal* find_signal(const vcd::Header& header, const std::string& name) {
  for (const vcd::Signal& signal : header.signals) {
    if (signal.name == name) return &signal;
  }
  return nullptr;
}
/// The same, which must be there.
inline vcd::Signal signal_of(const vcd::Header& header, const std::string& name) {
  const vcd::Signal* const found = find_signal(header, name);
  EXPECT_NE(found, nullptr) << name;
  return found != nullptr ? *found : vcd::Signal();
}

/// A folder of its own for each test, and what a reader makes of a text.
class VcdTest : public testing::Test {
 protected:
  VcdTest() : folder_(std::filesystem::temp_directory_path() / ("weft-vcd-test-" + std::to_string(getpid()))) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~VcdTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }

  /// A line for each change: "time name value", with all bits, and the section where there is one.
  static std::vector<std::string> changes_of(const std::string& file) {
    vcd::Reader reader(file);
    std::vector<std::string> lines;
    std::string bits;
    for (vcd::Change change; reader.next(change);) {
      const vcd::Net& net = reader.header().all_nets[change.net];
      bits = change.value;
      const bool has_bits = change.kind == vcd::SignalKind::kBits && net.kind == vcd::SignalKind::kBits;
      if (has_bits) vcd::extend_bits(change.value, net.width, bits);
      static constexpr const char* kSections[] = {"", " dumpvars", " dumpall", " dumpoff", " dumpon"};
      lines.push_back(std::to_string(change.time) + " " + reader.header().name_of(change.net) + " " + bits +
                      kSections[static_cast<int>(change.section)]);
    }
    return lines;
  }

  /// The message, with the file's name and that of its folder left out; nothing if it was read.
  std::string error_of(const std::string& text) const {
    const std::string file = write("bad.vcd", text);
    try {
      changes_of(file);
    } catch (const traces::FormatError& error) {
      const std::string what = error.what();
      return what.starts_with(file) ? what.substr(file.size()) : what;
    }
    return "";
  }

  std::filesystem::path folder_;
};

}  // namespace weft::test
