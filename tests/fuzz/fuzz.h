// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "hw/core/fields.h"
#include "hw/core/quantity.h"
#include "platforms/config/input_error.h"
#include "traces/files/format_error.h"

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

/// What is in a file, as it lies there.
inline std::string contents(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
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
  } catch (const QuantityOverflow&) {
    return false;
  }
}

inline void expect(bool holds, int line = __builtin_LINE()) {
  if (holds) return;
  std::fprintf(stderr, "the expectation of line %d does not hold\n", line);
  std::abort();
}

/// Nothing may be wrong with what Weft has written.
template <typename Action>
void expect_accepted(const Action& action, int line = __builtin_LINE()) {
  expect(accepted(action), line);
}

}  // namespace weft::fuzz

/// For libsystemc, which has a main() that calls it; libFuzzer's comes first.
extern "C" int sc_main(int, char**);
