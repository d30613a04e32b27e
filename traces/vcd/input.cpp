// SPDX-License-Identifier: Apache-2.0
#include "traces/vcd/input.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "traces/files/format_error.h"
#include "traces/files/input_file.h"
#include "traces/files/kind/file_kind.h"
#include "traces/files/program.h"
#include "traces/files/whole_file.h"

namespace weft::vcd {
namespace {

using traces::FileKind;

constexpr const char* kFstReader = "fst2vcd";

/// Keywords begin with a dollar sign; comments may have bytes of any character set.
bool begins_as_vcd(std::string_view text) {
  return traces::without_blanks(text).starts_with('$');
}

}  // namespace

Input::Input(std::string file) : file_(std::move(file)) {
  const auto refuse = [&](const std::string& got) { throw traces::FormatError(file_, 0, "expected a VCD file" + got); };
  if (file_ != "-" && access(file_.c_str(), R_OK) != 0) refuse(": " + std::string(std::strerror(errno)));
  stored_ = std::make_unique<traces::InputFile>(file_);
  const traces::FileGuess guess = traces::guess(*stored_);
  if (guess.kind == FileKind::kFst) {
    if (!traces::Program::is_installed(kFstReader)) {
      refuse(", got FST, which fst2vcd of Debian's package gtkwave reads: install it, or convert the file where it is");
    }
    open_fst();
    return;
  }
  // Of text that is nothing else the reader says the line.
  const bool reads = guess.kind == FileKind::kVcd || guess.kind == FileKind::kText || guess.kind == FileKind::kEmpty;
  if (!reads && !begins_as_vcd(stored_->peek(traces::kGuessed))) traces::refuse(file_, "a VCD file", guess);
}

void Input::open_fst() {
  std::string path = file_.starts_with('-') ? "./" + file_ : file_;
  if (stored_->is_piped() || stored_->is_gzip()) {
    copy_ = traces::Temporary::make_folder(std::filesystem::temp_directory_path());
    path = copy_.path() / "waves.fst";
    traces::WholeFile copy(path);
    std::vector<char> block(traces::WholeFile::kBlock);
    for (std::size_t got = 0; (got = stored_->read(block.data(), block.size())) > 0;) copy.write({block.data(), got});
    copy.close();
  }
  stored_.reset();
  unpacked_ =
      std::make_unique<traces::Program>(std::vector<std::string>{kFstReader, path}, traces::Program::Way::kFrom);
}

Input::~Input() = default;
Input::Input(Input&&) noexcept = default;
Input& Input::operator=(Input&&) noexcept = default;

std::size_t Input::read(char* to, std::size_t most) {
  if (stored_) return stored_->read(to, most);
  if (!unpacked_) return 0;
  const std::size_t got = unpacked_->read(to, most);
  if (got > 0) return got;
  const int code = unpacked_->wait();
  const std::string said = unpacked_->said();
  unpacked_.reset();
  if (code != 0)
    throw traces::FormatError(file_, 0,
                              "expected FST that fst2vcd reads; it " +
                                  (said.empty() ? "ended with exit code " + std::to_string(code) : "says: " + said));
  return 0;
}

}  // namespace weft::vcd
