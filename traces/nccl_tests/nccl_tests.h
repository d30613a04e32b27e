// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

/// What nccl-tests and rccl-tests print:
///
///     # Collective test starting: all_reduce_perf
///     #  Rank  0 Group  0 Pid   2321 on     node-1 device  0 [0000:1b:00] NVIDIA H100 80GB HBM3
///     #       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw ...
///         1048576        262144     float     sum      -1    32.10   32.67   57.16       0    31.80   32.97 ...
///
/// Rows are measured out of place first, then in place. Columns are found by their names, or, where no line has names,
/// by their number from the end: older versions have no root, or no redop. Launchers put a label before each line
/// ("0: ", "[1,0]<stdout>:", a time): one that stands before the names of columns, numbers in it apart, is left out.
/// Lines that begin with no number, which NCCL and launchers mix with the rest, say nothing, but for the name of a
/// test. What `-J FILE` writes is read as well.
namespace weft::traces {

struct NcclRow {
  int line = 0;      ///< 0 in JSON
  std::string test;  ///< "all_reduce", of all_reduce_perf; empty where the file does not say
  int ranks = 0;     ///< of the communicator; 0 where the file does not say
  std::uint64_t bytes = 0;
  std::string type;                    ///< "float"
  std::optional<std::uint64_t> count;  ///< elements, as it stands there
  double time_us = 0;
  std::optional<double> algbw;  ///< GB/s
  double busbw = 0;             ///< GB/s
  std::optional<double> in_place_us;
  std::optional<double> in_place_algbw;
  std::optional<double> in_place_busbw;
  std::int64_t wrong = 0;  ///< elements, both ways; 0 where they were not checked
};

/// What of a row contradicts the rest of it: "an algbw of 0.08 GB/s, which is 4096 B in 50 us, got 1".
/// Empty if all agrees within what is printed. A busbw is looked at where the test and the ranks are known.
[[nodiscard]] std::string contradiction(const NcclRow& row);

/// All rows of more than no bytes, in order. Throws FormatError for a file without any, and for a row that is no row.
/// `warnings` gets a line for each test that failed or did not come to its end, with the file and its line.
[[nodiscard]] std::vector<NcclRow> read_nccl_tests(const std::filesystem::path& file,
                                                   std::vector<std::string>* warnings = nullptr);

}  // namespace weft::traces
