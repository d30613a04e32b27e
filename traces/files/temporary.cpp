// SPDX-License-Identifier: Apache-2.0
#include "traces/files/temporary.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace weft::traces {
namespace {

constexpr std::string_view kHidden = ".weft-";

/// What a signal handler can read at any time: paths in static memory, each with a state that says whether it is whole.
struct Note {
  enum State : int { kFree, kChanging, kWritten };
  std::atomic<int> state = kFree;
  Temporary::Kind kind = Temporary::Kind::kFile;
  std::array<char, PATH_MAX> path{};
};
std::array<Note, 128> notes;

/// The index of the note; none where the path is too long or all are taken. Then a signal leaves it behind.
std::size_t take_note(const std::filesystem::path& path, Temporary::Kind kind, std::size_t none) {
  const std::string& text = path.native();
  if (text.size() >= PATH_MAX) return none;
  for (std::size_t i = 0; i < notes.size(); ++i) {
    int state = Note::kFree;
    if (!notes[i].state.compare_exchange_strong(state, Note::kChanging)) continue;
    notes[i].kind = kind;
    std::copy(text.begin(), text.end() + 1, notes[i].path.begin());
    notes[i].state = Note::kWritten;
    return i;
  }
  return none;
}

/// Removes what is in the folder, which is closed. Functions of the library that read folders allocate.
void empty_folder(int folder, int depth) noexcept {
  constexpr int kDeepest = 8;  // in ours nothing lies deeper than three
  if (folder < 0) return;
  std::array<char, 2048> buffer;
  for (bool removed = true; removed;) {
    removed = false;
    lseek(folder, 0, SEEK_SET);
    for (ssize_t got = 0; (got = getdents64(folder, buffer.data(), buffer.size())) > 0;) {
      for (ssize_t at = 0; at < got;) {
        const auto* entry = reinterpret_cast<const dirent64*>(buffer.data() + at);
        at += entry->d_reclen;
        const char* const name = entry->d_name;
        if (std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0) continue;
        bool gone = unlinkat(folder, name, 0) == 0;
        if (!gone && depth < kDeepest) {
          empty_folder(openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), depth + 1);
          gone = unlinkat(folder, name, AT_REMOVEDIR) == 0;
        }
        removed = removed || gone;
      }
    }
  }
  close(folder);
}

}  // namespace

std::string unique_name() {
  std::random_device random;
  return fmt::format("{}{:08x}{:08x}", kHidden, random(), random());
}

std::string without_hidden(const std::filesystem::path& path) {
  std::filesystem::path shown;
  for (const std::filesystem::path& part : path) {
    if (!part.native().starts_with(kHidden)) shown /= part;
  }
  return shown.string();
}

Temporary::Temporary(std::filesystem::path path, Kind kind)
    : path_(std::move(path)), kind_(kind), note_(take_note(path_, kind, kNotNoted)) {}

Temporary Temporary::make_folder(const std::filesystem::path& parent) {
  constexpr mode_t kOwner = 0700;
  for (;;) {
    Temporary folder(parent / unique_name(), Kind::kFolder);
    if (mkdir(folder.path_.c_str(), kOwner) == 0) return folder;
    const int error = errno;
    folder.keep();  // not ours
    if (error != EEXIST) {
      throw std::system_error(error, std::generic_category(), "cannot make a folder in " + parent.string());
    }
  }
}

Temporary::Temporary(Temporary&& other) noexcept
    : path_(std::move(other.path_)), kind_(other.kind_), note_(std::exchange(other.note_, kNotNoted)) {
  other.path_.clear();
}

Temporary& Temporary::operator=(Temporary&& other) noexcept {
  if (this == &other) return *this;
  remove();
  path_ = std::exchange(other.path_, {});
  kind_ = other.kind_;
  note_ = std::exchange(other.note_, kNotNoted);
  return *this;
}

void Temporary::keep() {
  if (note_ != kNotNoted) notes[std::exchange(note_, kNotNoted)].state = Note::kFree;
  path_.clear();
}

void Temporary::remove() {
  if (path_.empty()) return;
  std::error_code ignored;
  if (kind_ == Kind::kFolder) {
    std::filesystem::remove_all(path_, ignored);
  } else {
    std::filesystem::remove(path_, ignored);
  }
  keep();
}

void remove_temporaries() noexcept {
  for (const Note& note : notes) {
    if (note.state != Note::kWritten || note.kind == Temporary::Kind::kFolderIfEmpty) continue;
    if (note.kind == Temporary::Kind::kFile) {
      unlink(note.path.data());
    } else {
      empty_folder(open(note.path.data(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), 0);
      rmdir(note.path.data());
    }
  }
  // One may lie within another, in any order.
  for (bool removed = true; removed;) {
    removed = false;
    for (const Note& note : notes) {
      if (note.state != Note::kWritten || note.kind != Temporary::Kind::kFolderIfEmpty) continue;
      removed = rmdir(note.path.data()) == 0 || removed;
    }
  }
}

}  // namespace weft::traces
