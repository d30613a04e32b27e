// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "platforms/cli/result_files.h"
#include "platforms/commands/command.h"
#include "traces/chakra/check.h"
#include "traces/chakra/process_groups.h"
#include "traces/chakra/ranks.h"

/// Commands under `weft trace` that are files of their own, and what they and others that write traces share.
namespace weft::platforms {

inline constexpr const char* kTraceArgument =
    "FILE, or the PREFIX of files PREFIX.0.et, PREFIX.1.et, ...; protobuf or JSON, plain or in gzip";

Command trace_info_command(const Arguments& parent);
Command trace_check_command(const Arguments& parent);
Command trace_repair_command(const Arguments& parent);
Command trace_convert_command(const Arguments& parent);

/// Whether a file is called so, packed or not: ".json" and ".json.gz".
bool has_ending(const std::string& name, const std::string& ending);
/// Says on stderr which ranks have no file.
void warn_of_missing(const chakra::TraceFiles& files);
/// Of the groups file, or of the one beside the prefix that `weft run --traces` would take; empty if there is none.
std::filesystem::path groups_beside(const chakra::TraceFiles& files, const std::string& prefix,
                                    const std::string& groups);
/// What is in it. Without `ranks`, there are as many as the highest has below it.
chakra::GroupTable::Named read_groups_beside(const chakra::TraceFiles& files, const std::string& prefix,
                                             const std::string& groups, std::optional<std::uint32_t> ranks);

/// What a run knows of a trace beside its files: options of the commands that check it.
struct TraceContext {
  std::string groups;
  std::uint32_t ranks = 0;  ///< 0: as many as there are files
  std::string system;       ///< of ASTRA-sim, as is the network
  std::string network;
  bool roofline = false;

  void add_to(const Arguments& app, const char* ranks_doc, const char* roofline_doc);
  /// Throws InputError, and UsageError where options say different numbers of ranks.
  [[nodiscard]] chakra::CheckOptions check_options(const chakra::TraceFiles& files, const std::string& trace) const;
};

/// The files of a trace that is written: PREFIX.RANK.et for each rank, or another ending, and maybe PREFIX.groups.json.
std::vector<std::filesystem::path> files_of_ranks(const std::filesystem::path& prefix, std::uint64_t ranks,
                                                  bool has_groups);
/// Throws UsageError, which names the option, where there is another file of the prefix: who reads it would take that
/// for one of this trace, which is `written`.
void expect_no_other_trace(const std::string& option, const std::filesystem::path& prefix,
                           const std::vector<std::filesystem::path>& written);

/// Where commands write traces: all of it appears in keep(), and nothing takes the place of what is read, or of another
/// program's input.
class TraceResult {
 public:
  /// `inputs` are read; `option` names the place to write to.
  explicit TraceResult(const std::vector<std::filesystem::path>& inputs, std::string option = "TO")
      : option_(std::move(option)) {
    files_.spare(inputs);
  }

  /// Where to write what will be the file; "-" is standard output. Throws UsageError where it is of a rank that has
  /// another file of its prefix, and where its name is that of the groups of a prefix.
  std::filesystem::path file(const std::filesystem::path& to);
  /// With which prefix to write what will be `written`, files of the prefix `to`. Throws UsageError, also of standard
  /// output and of places among devices.
  std::filesystem::path prefix(const std::filesystem::path& to, std::vector<std::filesystem::path> written);

  /// Throws std::system_error.
  void keep();
  [[nodiscard]] const std::vector<std::filesystem::path>& written() const { return written_; }

 private:
  std::string option_;
  ResultFiles files_;
  std::vector<std::filesystem::path> written_;
};

/// "wrote 8 files, w.0.et to w.7.et"
void print_wrote(const std::vector<std::filesystem::path>& files);

}  // namespace weft::platforms
