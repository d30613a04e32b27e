// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "hw/core/fields.h"
#include "platforms/config/input_error.h"
#include "traces/format_error.h"

/// What fuzzers share. Each is a file that defines LLVMFuzzerTestOneInput and aborts where a reader does what it must
/// not: an exception of another kind than a user's error leaves it, and so ends the fuzzer too.
namespace weft::fuzz {

/// A folder of this process's own, in memory.
inline std::filesystem::path folder() {
  static const std::filesystem::path folder = [] {
    std::string name = "/dev/shm/weft_fuzz_XXXXXX";
    if (mkdtemp(name.data()) == nullptr) std::abort();
    return std::filesystem::path(name);
  }();
  return folder;
}

/// A file with these bytes in it.
inline std::filesystem::path file_of(const std::uint8_t* data, std::size_t size, const std::string& name) {
  std::filesystem::path file = folder() / name;
  std::ofstream(file, std::ios::binary | std::ios::trunc)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  return file;
}

/// Whether the input was taken; false if it was refused as a user's error is.
template <typename Action>
bool accepted(const Action& action) {
  try {
    action();
    return true;
  } catch (const traces::FormatError&) {
    return false;
  } catch (const platforms::InputError&) {
    return false;
  } catch (const ConfigError&) {
    return false;
  }
}

inline void expect(bool holds) {
  if (!holds) std::abort();
}

}  // namespace weft::fuzz

/// For libsystemc, which has a main() that calls it; libFuzzer's comes first.
int sc_main(int, char**);
