// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "platforms/cli/arguments.h"
#include "platforms/cli/result_files.h"
#include "platforms/machine/machine.h"
#include "platforms/machine/wave_file.h"

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

/// A waveform in the making. A file that ends in .fst is written as VCD first and then converted by vcd2fst.
class WaveRecording {
 public:
  /// Lets `machine` record what the options choose. Throws UsageError.
  WaveRecording(const WaveOptions& options, Machine& machine, ResultFiles& files);

  /// Completes the file, which is then one of the result files. Throws std::runtime_error if it cannot be converted.
  void close();
  [[nodiscard]] const std::filesystem::path& file() const { return file_; }

 private:
  std::filesystem::path file_;
  std::filesystem::path staged_;  ///< where it is written
  std::filesystem::path vcd_;     ///< the same, or what is to be converted
  std::unique_ptr<WaveFile> waves_;
};

/// Null where the options ask for none.
std::unique_ptr<WaveRecording> open_waves(const WaveOptions& options, Machine& machine, ResultFiles& files);

}  // namespace weft::platforms
