// SPDX-License-Identifier: Apache-2.0
#include "traces/vcd/output.h"

#include <cerrno>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include "traces/files/output_file.h"
#include "traces/files/program.h"
#include "traces/files/temporary.h"
#include "traces/files/whole_file.h"

namespace weft::vcd {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFstWriter = "vcd2fst";

/// Of text, in gzip where the name asks for it.
class FileOutput final : public Output {
 public:
  explicit FileOutput(const fs::path& file) : file_(file) {}
  void write(std::string_view text) override { file_.write(text); }
  void close() override { file_.close(); }

 private:
  traces::OutputFile file_;
};

class FstOutput final : public Output {
 public:
  explicit FstOutput(fs::path file)
      : file_(std::move(file)),
        target_(traces::find_target(file_)),
        folder_(traces::Temporary::make_folder(target_.path.has_parent_path() ? target_.path.parent_path() : ".")),
        made_(fs::absolute(folder_.path() / "waves.fst")),
        converter_({kFstWriter, "-", made_.string()}, traces::Program::Way::kTo) {
    // The converter goes back and forth in what it writes.
    if (target_.is_stream) throw std::system_error(ESPIPE, std::generic_category(), "cannot write " + file_.string());
  }

  void write(std::string_view text) override {
    if (!converter_.write(text)) finish("it has ended before the waveform did");
  }

  void close() override {
    finish("");
    std::error_code ignored;
    if (target_.permissions) fs::permissions(made_, fs::perms(*target_.permissions), ignored);
    fs::rename(made_, target_.path);
    folder_ = {};
  }

 private:
  void finish(const std::string& otherwise) {
    const bool done = converter_.wait() == 0;
    const std::string said = converter_.said();
    std::error_code ignored;
    if (done && otherwise.empty() && fs::exists(made_, ignored)) return;
    throw std::runtime_error("cannot write " + traces::without_hidden(file_) + ": " +
                             (!said.empty()        ? said
                              : !otherwise.empty() ? kFstWriter + (": " + otherwise)
                                                   : kFstWriter + std::string(" has failed")));
  }

  fs::path file_;
  traces::WriteTarget target_;
  traces::Temporary folder_;  ///< beside the target
  fs::path made_;
  traces::Program converter_;
};

}  // namespace

std::unique_ptr<Output> Output::open(const fs::path& file) {
  if (file.extension() == ".fst") return std::make_unique<FstOutput>(file);
  return std::make_unique<FileOutput>(file);
}

std::string_view Output::missing_program(const fs::path& file) {
  return file.extension() == ".fst" && !traces::Program::is_installed(kFstWriter) ? kFstWriter : "";
}

}  // namespace weft::vcd
