// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "platforms/cli/place_lock.h"
#include "traces/file_kind.h"
#include "traces/temporary.h"

namespace weft::platforms {

/// What a run leaves in its folder. Not every run has all of them.
inline constexpr std::string_view kRunFiles[] = {"config.json",  "ends.csv",     "links.csv",       "network.svg",
                                                 "summary.json", "timeline.svg", "timeline.json.gz"};

/// Of platforms and patches of them that one of ours may replace.
inline constexpr traces::FileKind kPlatformKinds[] = {traces::FileKind::kPlatform};

/// The files that a command writes. It asks for all places before its work, so that a place that cannot be written is
/// known then, and writes to hidden folders beside them. keep() puts all into their places together. A command that
/// fails, or that a signal ends, leaves nothing, not even a folder that was made for it.
///
///     ResultFiles files;
///     const fs::path folder = files.folder("--out", out, kRunFiles);
///     const fs::path waves = files.file("--vcd", options.vcd);
///     ...
///     write_file(folder / "summary.json", summary);
///     files.keep();
///
/// Two commands do not write to one place at a time: the one that asks for it last is refused, with a message that says
/// who has it.
class ResultFiles {
 public:
  ResultFiles() = default;
  ~ResultFiles();
  ResultFiles(const ResultFiles&) = delete;
  ResultFiles& operator=(const ResultFiles&) = delete;

  using Kinds = std::span<const traces::FileKind>;

  /// A file that the command reads is not replaced, by whatever name: what would be written there is refused. Those
  /// that it has read are known (traces::read_as), those that it will read are named here, so that it is refused before
  /// the work. One that is not there needs no sparing.
  void spare(const std::filesystem::path& input);
  void spare(const std::vector<std::filesystem::path>& inputs) {
    for (const std::filesystem::path& input : inputs) spare(input);
  }
  /// Where to write what will be in `folder`, which is made with those above it. `names` are of files that results
  /// there can have: one that is not written now is of an earlier command, and is removed when this one's take its
  /// place. A file there that is some program's input (traces::is_input), if not of one of the kinds `like`, is not
  /// replaced. Throws UsageError that names the option.
  std::filesystem::path folder(const std::string& option, const std::filesystem::path& folder,
                               std::span<const std::string_view> names = {}, Kinds like = {});
  /// Where to write what will be `file`, whose folder is made with those above it. A device, a pipe and the like are
  /// written to at once: then it is `file` itself, and what else the command prints does not go to standard output if
  /// that is it. What may be replaced is as in folder(). What is no trace gets no name by which readers would take it
  /// for a rank of one that is beside it, or for its groups. Throws UsageError that names the option.
  std::filesystem::path file(const std::string& option, const std::filesystem::path& file, Kinds like = {});

  /// Throws std::system_error, and UsageError where a file has been read meanwhile that this would replace.
  void keep();

 private:
  struct Staged {
    traces::Temporary folder;
    std::vector<std::string_view> names;  ///< that results can have
  };

  /// Makes a folder with those above it.
  void make_folder(const std::string& option, const std::filesystem::path& folder);
  /// The hidden folder for files of this one.
  const std::filesystem::path& stage(const std::filesystem::path& folder);
  void lock(const std::string& option, const std::filesystem::path& place, PlaceLock::Kind kind);
  void take(const std::string& option, const std::filesystem::path& place, Kinds like);
  void expect_not_read(const std::string& option, const std::filesystem::path& place) const;

  std::vector<traces::Temporary> made_;  ///< folders, from the outside in
  std::vector<PlaceLock> locks_;
  std::map<std::filesystem::path, Staged> staged_;      ///< by folder of the results
  std::map<std::filesystem::path, std::string> taken_;  ///< which option each place is for
  std::map<std::pair<dev_t, ino_t>, std::filesystem::path> inputs_;
};

}  // namespace weft::platforms
