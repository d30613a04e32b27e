// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace weft::study {

/// The database can no longer be read or written: a full disk, a lock that another program keeps. What was stored
/// before is stored.
class DatabaseError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A point as it is stored.
struct Row {
  std::string key;
  std::string run;         ///< what is simulated: points of one run have equal results
  bool is_current = true;  ///< of the study as the last sweep has read it
  bool is_done = false;
  bool is_fit = true;  ///< it meets what the study requires; not stored: tables are made of what About says
  nlohmann::ordered_json values = nlohmann::ordered_json::object();  ///< of axes and what is derived
  nlohmann::ordered_json task;                                       ///< to do it again
  nlohmann::ordered_json configuration;                              ///< config.json; null of one that failed
  nlohmann::ordered_json result;                                     ///< null of one that failed
  nlohmann::ordered_json metrics = nlohmann::ordered_json::object();
  std::string error;
  std::string digest;
  std::string version;
  double wall_s = 0;
  double user_s = 0;
  std::int64_t peak_bytes = 0;
};

/// One study in an SQLite file: a row for each point in the table `points`, which other programs may read at any time.
/// `current` is 1 of the points that the study had at the last sweep; those that have left it since stay, with 0.
/// Columns parameters, task, result and metrics are JSON. `configuration` is a JSON Patch (RFC 6902) of the one in
/// the table `bases` that `base` names, since points of a study are alike: whole ones would be most of the file.
class Database {
 public:
  enum class Access { kRead, kWrite };

  /// Opens it, or makes one of that study for kWrite. Throws UsageError if there is none to read, if it is another
  /// program's, another study's or of another Weft, or if another dealer writes it, which the message names.
  Database(std::string file, Access access, const std::string& study = "");
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] const std::string& study() const { return study_; }
  /// Whether there is such a point: done, or failed.
  [[nodiscard]] bool has(const std::string& key, bool done_alone = false);
  [[nodiscard]] std::optional<Row> find(const std::string& key);
  /// Any point of that run.
  [[nodiscard]] std::optional<Row> find_run(const std::string& run, bool done_alone = false);
  /// That point without its configuration and result, which are most of it.
  [[nodiscard]] std::optional<Row> find_short(const std::string& key);
  /// All of them so, by key.
  [[nodiscard]] std::vector<Row> rows();
  /// Those of the study that failed.
  [[nodiscard]] std::vector<Row> failed();
  void each_short(const std::function<void(Row row)>& work, const std::string& where = "");
  /// Keys that begin so, to find what a user has shortened.
  [[nodiscard]] std::vector<std::string> keys_like(const std::string& beginning);

  /// What `configuration` of the rows that follow is a patch of.
  void set_base(const nlohmann::ordered_json& configuration);
  /// A transaction of its own. It takes the place of a row of that key.
  void store(const Row& row);
  void store_metrics(const std::string& key, const nlohmann::ordered_json& metrics);
  /// The same of a row whose configuration, result and digest are those of another one, which they are copied from.
  void store_like(const Row& row, const std::string& other);
  /// The study has no other points than these any more until it takes or stores others.
  void leave_but(const std::set<std::string>& keys);
  /// A point that is stored, as the study has it now: what it varies, how it is made, and its metrics.
  void take(const Row& row);
  /// Of `work` all is stored, or nothing.
  void in_one(const std::function<void()>& work);

  /// What the tables of a study are made by, beside its points (tables/about.h); null in a new database.
  void set_about(const nlohmann::ordered_json& about);
  [[nodiscard]] nlohmann::ordered_json about();
  /// How far the sweep has come (progress.h); null until it is set after set_about(), with which the last one ends.
  void set_progress(const nlohmann::ordered_json& progress);
  [[nodiscard]] nlohmann::ordered_json progress();

 private:
  class Statement;
  [[noreturn]] void fail() const;
  void execute(const char* text) const;
  void make(const std::string& study);
  void check(const std::string& study);
  [[nodiscard]] Row short_row_of(Statement& statement);
  [[nodiscard]] Row row_of(Statement& statement);
  [[nodiscard]] const nlohmann::ordered_json& base(const std::string& id);

  std::string file_;
  std::string study_;
  int lock_ = -1;
  bool writes_ = false;
  sqlite3* handle_ = nullptr;
  std::string base_id_;
  std::map<std::string, nlohmann::ordered_json> bases_;
};

}  // namespace weft::study
