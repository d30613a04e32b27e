// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>

namespace weft::study {

/// What of MPI a study needs, as the module weft_mpi has it: texts between processes.
struct MpiApi {
  void (*begin)();
  void (*end)();
  int (*rank)();
  int (*size)();
  void (*send)(int to, const std::string& text);
  /// From whom, and what; none if nothing has come. It does not wait.
  std::optional<std::pair<int, std::string>> (*receive)();
  /// Ends all processes at once.
  void (*abort)();
};

extern "C" const MpiApi* weft_mpi();
using MpiFunction = const MpiApi* (*)();

}  // namespace weft::study
