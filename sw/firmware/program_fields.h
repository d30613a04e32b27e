// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace weft::firmware {

/// Which fields of a platform say how long programs let time pass (Processor::delay): `weft why` names them beside that
/// time. A file that spawns such threads says so once, by what they are about (Processor::spawn), without numbers:
///
///     const firmware::ProgramFields kFieldsOfLinks({"server of rank", "worker"}, {"workload.bandwidth"});
///
/// Threads that a collective spawns are called after its group and after what they do ("world ring: reduce-scatter"):
/// ": reduce-scatter" means those of every group. Names of jobs before a thread's own do not count. Of several fields
/// the one counts that is as long as a piece of the path, else the first that is not 0.
class ProgramFields {
 public:
  /// Throws std::invalid_argument where somebody has said so of the same threads.
  ProgramFields(std::initializer_list<std::string_view> threads, const std::vector<std::string>& fields);

  /// Of threads about this; none: nobody has said so.
  [[nodiscard]] static const std::vector<std::string>& of(std::string_view about);
};

}  // namespace weft::firmware
