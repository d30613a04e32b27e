// SPDX-License-Identifier: Apache-2.0
#include "platforms/cli/result_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "platforms/cli/arguments.h"
#include "platforms/cli/output.h"
#include "platforms/cli/signals.h"
#include "platforms/config/text.h"
#include "traces/chakra/groups.h"
#include "traces/chakra/ranks.h"
#include "traces/files/format_error.h"
#include "traces/files/kind/file_kind.h"
#include "traces/files/read_files.h"
#include "traces/files/whole_file.h"

namespace weft::platforms {
namespace {

namespace fs = std::filesystem;
using traces::Temporary;

[[noreturn]] void refuse(const std::string& option, const char* expected, const fs::path& got, const std::string& why) {
  throw UsageError(fmt::format("{}: expected {}, got {}: {}", option, expected, in_quotes(got.string()), why));
}

constexpr const char* kFolder = "a folder that can be written";
constexpr const char* kFile = "a file that can be written";

/// Nothing but for us: other commands that put files there wait, for a moment. Where a file system has no locks, files
/// are whole all the same.
class FolderLock {
 public:
  explicit FolderLock(const fs::path& folder) : descriptor_(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    while (descriptor_ >= 0 && flock(descriptor_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  ~FolderLock() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_;
};

[[noreturn]] void fail(const fs::path& file, int error) {
  throw std::system_error(error, std::generic_category(), "cannot write " + file.string());
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) files.push_back(entry.path());
  // Somebody has removed it.
  if (error) fail(folder.parent_path(), error.value());
  std::sort(files.begin(), files.end());
  return files;
}

std::optional<std::pair<dev_t, ino_t>> identity_of(const fs::path& file) {
  struct stat status {};
  if (stat(file.c_str(), &status) != 0) return std::nullopt;
  return std::pair(status.st_dev, status.st_ino);
}

bool is_trace(const fs::path& file) {
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored) || access(file.c_str(), R_OK) != 0) return false;
  try {
    const traces::FileKind kind = traces::guess(file).kind;
    traces::forget_read(file);  // to be looked at is not to be read
    return kind == traces::FileKind::kChakra || traces::is_trace_json(kind);
  } catch (const traces::FormatError&) {
    return false;  // a damaged one
  }
}

/// Where systems keep devices and descriptors, but for memory that takes files.
bool is_of_devices(const fs::path& folder) {
  std::error_code ignored;
  const fs::path place = fs::weakly_canonical(folder.empty() ? "." : folder, ignored);
  const auto is_in = [&place](const fs::path& above) {
    return std::mismatch(above.begin(), above.end(), place.begin(), place.end()).first == above.end();
  };
  return (is_in("/dev") && !is_in("/dev/shm")) || is_in("/proc");
}

bool is_stream(const fs::path& file) {
  try {
    return file == "-" || traces::find_target(file).is_stream;
  } catch (const std::system_error&) {
    return false;
  }
}

/// Throws UsageError where readers of a trace that is there would take the file for one of its own.
void expect_no_file_of_trace(const std::string& option, const fs::path& place) {
  const auto refuse_as = [&](const std::string& what, const fs::path& prefix, const std::string& has) {
    throw UsageError(fmt::format("{}: expected a name that no reader takes for {} of the trace {}{}, got {}", option,
                                 what, in_quotes(prefix.string()), has, in_quotes(place.string())));
  };
  if (const auto prefix = chakra::prefix_of_groups(place)) refuse_as("the groups", *prefix, "");
  const auto name = chakra::rank_name(place);
  if (!name) return;
  for (const fs::path& other : chakra::files_of_prefix(name->prefix)) {
    if (!chakra::rank_name(other)) continue;
    if (!is_trace(other)) continue;
    refuse_as(fmt::format("rank {}", name->rank), name->prefix, ", which has " + other.string());
  }
}

}  // namespace

bool is_full(const std::system_error& error) {
  const int value = error.code().value();
  return value == ENOSPC || value == EDQUOT || value == EFBIG;
}

ResultFiles::~ResultFiles() {
  staged_.clear();
  locks_.clear();
  while (!made_.empty()) made_.pop_back();  // from the inside out
}

void ResultFiles::make_folder(const std::string& option, const fs::path& folder) {
  std::vector<fs::path> missing;
  std::error_code error;
  for (fs::path at = folder; !at.empty() && !fs::exists(at, error) && !error; at = at.parent_path())
    missing.push_back(at);
  if (error) refuse(option, kFolder, folder, error.message());
  for (auto at = missing.rbegin(); at != missing.rend(); ++at) {
    made_.emplace_back(*at, Temporary::Kind::kFolderIfEmpty);
    if (fs::create_directory(*at, error)) continue;
    made_.back().keep();  // another command may have made it since
    made_.pop_back();
    if (error) refuse(option, kFolder, folder, error.message());
  }
  if (!folder.empty() && !fs::is_directory(folder, error)) refuse(option, kFolder, folder, "it is a file");
}

bool ResultFiles::is_no_prefix(const fs::path& prefix) {
  return is_stream(prefix) || is_of_devices(prefix.parent_path());
}

fs::path ResultFiles::folder(const std::string& option, const fs::path& folder, std::span<const NamedResult> results) {
  const fs::path path = folder.has_filename() ? folder : folder.parent_path();  // "out/"
  if (is_stream(path) || is_of_devices(path)) {
    refuse(option, kFolder, folder, "several files do not go to standard output, a pipe or a device");
  }
  make_folder(option, path);
  try {
    const fs::path& staged = stage(path);
    std::vector<std::string>& names = staged_.at(fs::canonical(path)).names;
    for (const NamedResult& result : results) {
      if (traces::find_target(path / result.name).is_stream) refuse(option, kFile, path / result.name, "it is no file");
      take(option, path / result.name, result.kind);
      names.emplace_back(result.name);
    }
    lock(option, path, PlaceLock::Kind::kFolder);
    return staged;
  } catch (const std::system_error& failed) {
    if (is_full(failed)) fail(folder, failed.code().value());
    refuse(option, kFolder, folder, failed.what());
  }
}

void ResultFiles::lock(const std::string& option, const fs::path& place, PlaceLock::Kind kind) {
  PlaceLock lock(place, kind);
  if (lock.other()) {
    throw UsageError(fmt::format(
        "{}: expected a {} that no other command writes to, got {}, which {} has; wait for it, or {}", option,
        kind == PlaceLock::Kind::kFolder ? "folder" : "file", in_quotes(place.string()), *lock.other(),
        kind == PlaceLock::Kind::kFolder ? "give each its own --out" : "give each its own file"));
  }
  locks_.push_back(std::move(lock));
}

void ResultFiles::spare(const fs::path& input) {
  if (const auto identity = identity_of(input)) inputs_.emplace(*identity, input);
}

fs::path ResultFiles::file(const std::string& option, const fs::path& file, ResultKind kind) {
  try {
    if (!file.has_filename()) refuse(option, kFile, file, "it is a folder");
    if (file == "-") return this->file(option, "/dev/stdout", kind);
    const traces::WriteTarget target = traces::find_target(file);
    if (target.descriptor == STDOUT_FILENO) keep_standard_output();
    if (target.is_stream) return file;
    if (is_of_devices(target.path.parent_path())) refuse(option, kFile, file, "no files are made among devices");
    make_folder(option, target.path.parent_path());
    take(option, target.path, kind);
    lock(option, target.path, PlaceLock::Kind::kFile);
    if (kind != ResultKind::kTrace) expect_no_file_of_trace(option, file);
    return stage(target.path.parent_path()) / target.path.filename();
  } catch (const std::system_error& error) {
    if (is_full(error)) fail(file, error.code().value());
    refuse(option, kFile, file, error.code().message());
  }
}

const fs::path& ResultFiles::stage(const fs::path& folder) {
  const fs::path place = fs::canonical(folder.empty() ? "." : folder);
  Staged& staged = staged_[place];
  if (staged.folder.path().empty()) {
    staged.folder = Temporary::make_folder(folder);
    // Is there room?
    static_cast<void>(traces::WholeFile(staged.folder.path() / "room"));
  }
  return staged.folder.path();
}

void ResultFiles::expect_not_read(const std::string& option, const fs::path& place) const {
  std::optional<fs::path> read = traces::read_as(place);
  const auto identity = identity_of(place);
  if (const auto input = identity ? inputs_.find(*identity) : inputs_.end(); input != inputs_.end())
    read = input->second;
  if (!read) return;
  throw UsageError(fmt::format("{}: expected another file than {}, which is read, got {}", option, read->string(),
                               in_quotes(place.string())));
}

void ResultFiles::take(const std::string& option, const fs::path& place, ResultKind kind) {
  const fs::path path = fs::weakly_canonical(fs::absolute(place));  // that of a file that is not there yet, too
  expect_not_read(option, place);
  if (const std::optional<std::string> other = other_than(kind, path)) {
    throw UsageError(
        fmt::format("{}: expected a place for a new file, or one of the same kind to replace, got {}, which is {}, not "
                    "{}: remove it first, or take another name",
                    option, in_quotes(place.string()), *other, describe(kind)));
  }
  const auto [taken, is_new] = taken_.try_emplace(path, option);
  if (!is_new) {
    throw UsageError(fmt::format("{}: expected another file than {} writes, got {}", option,
                                 taken->second == option ? "it already" : taken->second, in_quotes(place.string())));
  }
}

void ResultFiles::keep() {
  const SignalsHeld whole;
  std::vector<std::unique_ptr<FolderLock>> locks;  // in the order of the folders, which is everybody's
  for (const auto& [folder, staged] : staged_) locks.push_back(std::make_unique<FolderLock>(folder));
  std::vector<std::pair<fs::path, fs::path>> moves;
  for (const auto& [folder, staged] : staged_) {
    for (const fs::path& file : files_in(staged.folder.path())) moves.emplace_back(file, folder / file.filename());
  }
  for (const auto& [from, to] : moves) {
    const traces::WriteTarget target = traces::find_target(to);
    if (target.is_stream) fail(to, EEXIST);
    const auto taken = taken_.find(fs::weakly_canonical(fs::absolute(to)));
    expect_not_read(taken != taken_.end() ? taken->second : "--out", to);
    std::error_code ignored;
    if (target.permissions) fs::permissions(from, fs::perms(*target.permissions), ignored);
  }
  for (const auto& [from, to] : moves) {
    if (std::rename(from.c_str(), to.c_str()) != 0) fail(to, errno);
  }
  std::set<fs::path> placed;
  for (const auto& [from, to] : moves) placed.insert(to);
  for (auto& [folder, staged] : staged_) {
    for (const std::string& name : staged.names) {
      const fs::path old = folder / name;
      std::error_code ignored;
      if (!placed.contains(old)) fs::remove(old, ignored);
    }
  }
  staged_.clear();
  for (Temporary& folder : made_) folder.keep();
}

}  // namespace weft::platforms
