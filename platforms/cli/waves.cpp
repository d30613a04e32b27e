// SPDX-License-Identifier: Apache-2.0
#include "platforms/cli/waves.h"

#include <stdexcept>
#include <system_error>

#include "platforms/cli/arguments.h"
#include "platforms/config/input_error.h"
#include "platforms/config/text.h"
#include "traces/vcd/output.h"

namespace weft::platforms {

namespace fs = std::filesystem;

void check_wave_file(const std::string& file) {
  const std::string_view missing = vcd::Output::missing_program(file);
  if (missing.empty()) return;
  throw UsageError("--vcd: expected " + std::string(missing) + ", of Debian's package gtkwave, to write " +
                   in_quotes(file) + "; a file that ends in .vcd or .vcd.gz needs nothing");
}

void WaveOptions::add_to(const Arguments& app) {
  app.add_option(
         "--vcd", file,
         "File for a waveform of the modules of --vcd-scope; its name chooses the format: .vcd.gz, .fst, else .vcd")
      .type_name("FILE");
  app.add_option("--vcd-scope", scopes, "A module, or a pattern with *, such as 'network.leaf0.*'; can be repeated")
      .one_at_a_time()
      .type_name("PATH");
  app.add_flag("--vcd-clocks", free_clocks, "Clocks run all the time, even when nothing happens");
}

void WaveOptions::refuse_without_modules() const {
  const char* given = !file.empty()     ? "--vcd"
                      : !scopes.empty() ? "--vcd-scope"
                      : free_clocks     ? "--vcd-clocks"
                                        : nullptr;
  if (given == nullptr) return;
  throw UsageError(std::string(given) +
                   ": expected nothing, since an analytical network has no modules; the timeline shows its nodes");
}

WaveRecording::WaveRecording(const WaveOptions& options, Machine& machine, ResultFiles& files) : file_(options.file) {
  check_wave_file(options.file);
  const fs::path staged = files.file("--vcd", file_, ResultKind::kWaves);
  try {
    waves_ = std::make_unique<WaveFile>(staged, options.scopes, machine.dispatcher(), options.free_clocks);
  } catch (const std::system_error& error) {
    if (is_full(error)) throw;
    throw UsageError("--vcd: expected a file that can be written, got " + in_quotes(options.file) + ": " +
                     error.what());
  }
  machine.record(*waves_);
  const std::optional<std::string> unused = waves_->unused();
  if (!unused && !options.scopes.empty()) return;
  std::string text = "--vcd-scope: expected one of " + join(waves_->offered(), ", ") + ", where * is a number";
  if (unused) {
    text += ", got " + in_quotes(*unused) + waves_->nearest(*unused);
  }
  throw UsageError(text);
}

void WaveRecording::close() {
  waves_->close();
}

std::unique_ptr<WaveRecording> open_waves(const WaveOptions& options, Machine& machine, ResultFiles& files) {
  if (!options.file.empty()) return std::make_unique<WaveRecording>(options, machine, files);
  if (!options.scopes.empty() || options.free_clocks) throw UsageError("--vcd-scope: expected --vcd FILE too");
  return nullptr;
}

}  // namespace weft::platforms
