// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace weft::traces {

/// A file or a folder that exists only as long as its owner: the destructor removes it, and so does
/// remove_temporaries(), which a program calls when a signal ends it.
///
///     const Temporary folder = Temporary::make_folder(std::filesystem::temp_directory_path());
class Temporary {
 public:
  enum class Kind {
    kFile,
    kFolder,         ///< with all that is in it; links are removed, not followed
    kFolderIfEmpty,  ///< stays where somebody put something into it
  };

  Temporary() = default;  ///< of nothing
  /// Of what its owner is about to make at `path`: a signal that comes between the making and this would leave it.
  /// Where it is not made after all, keep() forgets it.
  Temporary(std::filesystem::path path, Kind kind);
  /// A new folder in `parent`, with a name that cannot be guessed and no access for others. Throws std::system_error.
  static Temporary make_folder(const std::filesystem::path& parent);
  ~Temporary() { remove(); }
  Temporary(Temporary&& other) noexcept;
  Temporary& operator=(Temporary&& other) noexcept;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// It stays, or has another name by now.
  void keep();

 private:
  static constexpr std::size_t kNotNoted = SIZE_MAX;

  void remove();

  std::filesystem::path path_;
  Kind kind_ = Kind::kFile;
  std::size_t note_ = kNotNoted;  ///< where remove_temporaries() finds it
};

/// Removes what every Temporary of this process stands for, up to some hundred at a time. Safe in a signal handler: it
/// allocates nothing and locks nothing. The process should end after it.
void remove_temporaries() noexcept;

/// A name for a hidden file or folder that nobody else has or can guess: ".weft-" and 64 random bits.
std::string unique_name();

/// The path for messages, in which a folder of such a name is left out: the file is to be beside it in the end.
std::string without_hidden(const std::filesystem::path& path);

}  // namespace weft::traces
