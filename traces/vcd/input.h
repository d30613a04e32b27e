// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "traces/files/temporary.h"

namespace weft::traces {
class InputFile;
class Program;
}  // namespace weft::traces

namespace weft::vcd {

/// The text of a waveform as it is consumed, whatever its size. What the file is, its first bytes say: of gzip it is
/// what was packed, and FST goes through fst2vcd, of Debian's package gtkwave. FST that comes through a pipe or in gzip
/// is in a temporary file meanwhile, since fst2vcd goes back and forth in it.
///
/// Throws traces::FormatError where that cannot be done, and of a file that is something else, with what helps.
class Input {
 public:
  /// "-" is standard input.
  explicit Input(std::string file);
  ~Input();
  Input(Input&&) noexcept;
  Input& operator=(Input&&) noexcept;

  /// At least one byte and up to `most`; 0 at the end.
  std::size_t read(char* to, std::size_t most);

 private:
  void open_fst();

  std::string file_;
  std::unique_ptr<traces::InputFile> stored_;  ///< null of FST
  traces::Temporary copy_;                     ///< of nothing where fst2vcd can open the file itself
  std::unique_ptr<traces::Program> unpacked_;
};

}  // namespace weft::vcd
