// SPDX-License-Identifier: Apache-2.0
#include "platforms/cli/waves.h"

#include <cstdlib>
#include <stdexcept>
#include <system_error>

#include "platforms/cli/command.h"
#include "platforms/cli/process.h"
#include "platforms/config/text.h"

namespace weft::platforms {
namespace {

namespace fs = std::filesystem;

constexpr const char* kConverter = "vcd2fst";

bool is_installed(const std::string& program) {
  const char* const path = std::getenv("PATH");
  const std::string folders = path == nullptr ? "" : path;
  for (std::size_t from = 0; from <= folders.size();) {
    const std::size_t colon = std::min(folders.find(':', from), folders.size());
    std::error_code error;
    if (fs::is_regular_file(fs::path(folders.substr(from, colon - from)) / program, error)) return true;
    from = colon + 1;
  }
  return false;
}

}  // namespace

void WaveOptions::add_to(const Arguments& app) {
  app.add_option("--vcd", file, "Where to write a waveform of what the modules of --vcd-scope do; .fst: in that format")
      .type_name("FILE");
  app.add_option("--vcd-scope", scopes, "A module, or a pattern with *, such as 'network.leaf0.*'; can be repeated")
      .one_at_a_time()
      .type_name("PATH");
  app.add_flag("--vcd-clocks", free_clocks, "Clocks run all the time, also where nothing happens");
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

WaveRecording::WaveRecording(const WaveOptions& options, Machine& machine, ResultFiles& files)
    : file_(options.file), staged_(files.file("--vcd", file_)), vcd_(staged_) {
  if (file_.extension() == ".fst") {
    if (!is_installed(kConverter)) {
      throw UsageError("--vcd: expected vcd2fst, of Debian's package gtkwave, to write " + in_quotes(options.file) +
                       "; a file that ends in .vcd needs nothing");
    }
    vcd_ += ".vcd";
  }
  try {
    waves_ = std::make_unique<WaveFile>(vcd_, options.scopes, machine.dispatcher(), options.free_clocks);
  } catch (const std::system_error& error) {
    throw UsageError("--vcd: expected a file that can be written, got " + in_quotes(options.file) + ": " +
                     error.what());
  }
  machine.record(*waves_);
  const std::string unused = waves_->unused();
  if (unused.empty() && !options.scopes.empty()) return;
  throw UsageError("--vcd-scope: expected one of " + join(waves_->offered(), ", ") + ", where * is a number" +
                   (unused.empty() ? "" : ", got " + in_quotes(unused)));
}

void WaveRecording::close() {
  waves_->close();
  if (vcd_ == staged_) return;
  const ChildResult result = run_program({kConverter, vcd_.string(), staged_.string()});
  std::error_code ignored;
  fs::remove(vcd_, ignored);
  if (result.exit_code != 0) throw std::runtime_error("cannot write " + file_.string() + ": " + result.err);
}

std::unique_ptr<WaveRecording> open_waves(const WaveOptions& options, Machine& machine, ResultFiles& files) {
  if (!options.file.empty()) return std::make_unique<WaveRecording>(options, machine, files);
  if (!options.scopes.empty() || options.free_clocks) throw UsageError("--vcd-scope: expected --vcd FILE too");
  return nullptr;
}

}  // namespace weft::platforms
