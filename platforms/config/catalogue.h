// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::platforms {

/// Where the values of some fields of a part come from.
struct FieldSource {
  std::string grade;  ///< one of kSourceGrades
  std::string text;
  std::vector<std::string> fields;  ///< paths in the part's fields: of values, or of objects for all that is in them
};

/// A part: a kind of unit ("accelerator") with the field values of a real product, and where the
/// figures come from.
struct Part {
  std::string name;
  std::string kind;
  std::string source;  ///< of the part as a whole
  std::vector<FieldSource> sources;
  std::string file;
  std::string hidden;  ///< the catalogue's file of that name, if the part is a user's own
  std::unique_ptr<const nlohmann::json> fields;
  std::vector<int> lines;  ///< a list from a table: of the file, by element

  Part();
  ~Part();
  /// The file, with the line of the element that a path within it begins with, if that is known.
  [[nodiscard]] std::string place(std::string_view path) const;
};

/// Parts, one `NAME.json` each (platforms/parts/README.md describes the format): those of the catalogue, and a user's
/// own in other folders, which are searched first. A part is read when it is first named.
class Catalogue {
 public:
  /// The folders that WEFT_PATH lists, with a colon between, and the catalogue: `parts` in traces::data_directories().
  /// Throws InputError for one that is none.
  Catalogue();
  /// A catalogue in another folder, without own parts.
  explicit Catalogue(std::filesystem::path folder) : folders_{std::move(folder)} {}

  /// Own parts lie there, too: it is searched before all other folders. Files that are no parts are passed over.
  void search_first(const std::filesystem::path& folder);

  /// Folders with what is a user's own, in the order in which they are searched.
  [[nodiscard]] const std::vector<std::filesystem::path>& own_folders() const { return own_; }

  /// Null if there is none of that name. Throws InputError if its file is malformed.
  const Part* find(std::string_view name);
  /// Of a name for which there is no part: why the file of that name that lies in one of the folders is none. Empty if
  /// there is no such file.
  [[nodiscard]] std::string why_not(std::string_view name) const;
  /// Names of all parts of a kind, sorted; of every kind if it is empty. Throws UsageError that says where it looked if
  /// the catalogue has no parts at all.
  std::vector<std::string> names(std::string_view kind);

 private:
  std::vector<std::filesystem::path> folders_;  ///< the catalogue's
  std::vector<std::filesystem::path> own_;
  std::map<std::string, std::unique_ptr<const Part>, std::less<>> parts_;
};

}  // namespace weft::platforms
