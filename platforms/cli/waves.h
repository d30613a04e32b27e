// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "platforms/cli/arguments.h"
#include "platforms/cli/result_files.h"
#include "platforms/machine/machine.h"
#include "platforms/machine/waves/wave_file.h"

/// --vcd of the commands that run models.
namespace weft::platforms {

struct WaveOptions {
  std::string file;
  std::vector<std::string> scopes;
  bool free_clocks = false;

  void add_to(const Arguments& app);
  /// For an analytical network, which has none that could be recorded: throws UsageError for any of these options.
  void refuse_without_modules() const;
};

/// Throws UsageError where the file's name asks for a format whose program is not installed.
void check_wave_file(const std::string& file);

/// A waveform in the making, in the format that the file's name ends in (vcd::Output).
class WaveRecording {
 public:
  /// Lets `machine` record what the options choose. Throws UsageError.
  WaveRecording(const WaveOptions& options, Machine& machine, ResultFiles& files);

  /// Completes the file, which is then one of the result files; without it, there is none. Throws what vcd::Output
  /// does.
  void close();
  [[nodiscard]] const std::filesystem::path& file() const { return file_; }

 private:
  std::filesystem::path file_;
  std::unique_ptr<WaveFile> waves_;
};

/// Null where the options ask for none.
std::unique_ptr<WaveRecording> open_waves(const WaveOptions& options, Machine& machine, ResultFiles& files);

}  // namespace weft::platforms
