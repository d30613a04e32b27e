// SPDX-License-Identifier: Apache-2.0
#include "platforms/study/database.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

#include "platforms/config/input_error.h"
#include "platforms/config/text.h"
#include "platforms/results/stopwatch.h"
#include "platforms/study/stored_text.h"

namespace weft::study {

using nlohmann::ordered_json;
using platforms::UsageError;

namespace {

namespace fs = std::filesystem;

constexpr int kSchema = 2;
/// "weft" in the header of the file, which other programs show.
constexpr int kApplication = 0x77656674;
constexpr int kBusySeconds = 10;
constexpr double kLockSeconds = 2;

constexpr const char* kTables =
    "CREATE TABLE study(name TEXT NOT NULL, about TEXT);"
    "CREATE TABLE bases(id TEXT PRIMARY KEY, configuration TEXT NOT NULL);"
    "CREATE TABLE points(key TEXT PRIMARY KEY, status TEXT NOT NULL, parameters TEXT NOT NULL, task TEXT NOT NULL,"
    " base TEXT, configuration TEXT, result TEXT, metrics TEXT NOT NULL, error TEXT, digest TEXT, version TEXT NOT "
    "NULL,"
    " wall_s REAL, user_s REAL, peak_bytes INTEGER, run TEXT NOT NULL, current INTEGER NOT NULL);"
    "CREATE INDEX runs ON points(run);";

constexpr const char* kColumns =
    "key, status, parameters, task, base, configuration, result, metrics, error, digest, version, wall_s, user_s, "
    "peak_bytes, run, current";

/// The same columns, without what is long.
constexpr const char* kShortColumns =
    "key, status, parameters, task, NULL, NULL, NULL, metrics, error, digest, version, wall_s, user_s, peak_bytes, "
    "run, current";

/// A member of study.about: what changes while a sweep runs.
constexpr const char* kProgress = "progress";

/// The process that holds the lock, as the kernel lists them: "process 123 (weft sweep s.json)".
std::string holder_of(int file) {
  struct stat status {};
  if (fstat(file, &status) != 0) return "another process";
  const std::string place = fmt::format("{:02x}:{:02x}:{}", major(status.st_dev), minor(status.st_dev), status.st_ino);
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    // "1: FLOCK  ADVISORY  WRITE 123 fe:00:456 0 EOF"
    std::istringstream words(line);
    std::string number, kind, manner, access, pid, of;
    if (!(words >> number >> kind >> manner >> access >> pid >> of) || kind != "FLOCK" || of != place) continue;
    std::ifstream command("/proc/" + pid + "/cmdline", std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(command), std::istreambuf_iterator<char>()};
    while (text.ends_with('\0')) text.pop_back();
    std::replace(text.begin(), text.end(), '\0', ' ');
    return "process " + pid + (text.empty() ? "" : " (" + text + ")");
  }
  return "another process";
}

/// A worker of a dealer that was killed may hold it for some moments more.
bool lock_within(int file, double seconds) {
  const platforms::Stopwatch watch;
  while (flock(file, LOCK_EX | LOCK_NB) != 0) {
    // A file system without such locks has none.
    if (errno != EWOULDBLOCK) return true;
    if (watch.seconds() > seconds) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

}  // namespace

/// One that is finalised with it.
class Database::Statement {
 public:
  Statement(const Database& database, const std::string& text) : database_(database) {
    if (sqlite3_prepare_v2(database.handle_, text.c_str(), -1, &statement_, nullptr) != SQLITE_OK) database.fail();
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  void bind(const std::string& value) {
    sqlite3_bind_text(statement_, ++bound_, value.data(), static_cast<int>(value.size()), SQLITE_TRANSIENT);
  }
  void bind(double value) { sqlite3_bind_double(statement_, ++bound_, value); }
  void bind(std::int64_t value) { sqlite3_bind_int64(statement_, ++bound_, value); }
  void bind_null() { sqlite3_bind_null(statement_, ++bound_); }

  /// Whether there is a row more.
  bool step() {
    const int result = sqlite3_step(statement_);
    if (result != SQLITE_ROW && result != SQLITE_DONE) database_.fail();
    return result == SQLITE_ROW;
  }
  [[nodiscard]] std::string text(int column) const {
    const auto* const text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    return text == nullptr ? "" : std::string(text, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
  }
  [[nodiscard]] ordered_json json(int column) const {
    const std::string value = text(column);
    return value.empty() ? ordered_json() : ordered_json::parse(value);
  }
  [[nodiscard]] double number(int column) const { return sqlite3_column_double(statement_, column); }
  [[nodiscard]] std::int64_t integer(int column) const { return sqlite3_column_int64(statement_, column); }

 private:
  const Database& database_;
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

Database::Database(std::string file, Access access, const std::string& study) : file_(std::move(file)) {
  const bool writes = writes_ = access == Access::kWrite;
  std::error_code ignored;
  if (!writes && !fs::exists(file_, ignored)) {
    throw UsageError(file_ + ": expected a database of weft sweep, got no such file");
  }
  if (fs::is_directory(file_, ignored)) throw UsageError(file_ + ": expected a database of weft sweep, got a folder");
  if (writes) {
    // SQLite's own locks are between transactions alone.
    lock_ = open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (lock_ < 0) throw UsageError(file_ + ": cannot be written: " + std::strerror(errno));
    if (!lock_within(lock_, kLockSeconds)) {
      const std::string holder = holder_of(lock_);
      close(lock_);
      throw UsageError(file_ + ": expected a database that nothing else writes, got one that " + holder +
                       " writes at the moment");
    }
  }
  try {
    const int flags = writes ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
    if (sqlite3_open_v2(file_.c_str(), &handle_, flags, nullptr) != SQLITE_OK) fail();
    sqlite3_busy_timeout(handle_, kBusySeconds * 1000);
    bool is_empty = false;
    {
      Statement tables(*this, "SELECT count(*) FROM sqlite_master");
      tables.step();
      is_empty = tables.integer(0) == 0;
    }
    if (is_empty && writes) make(study);
    if (is_empty && !writes) {
      throw UsageError(file_ + ": expected a database of weft sweep, got " +
                       (fs::file_size(file_, ignored) == 0 ? "an empty file" : "one without a table") +
                       ", which weft sweep would fill");
    }
    check(study);
    // A power failure may undo the last points; a program that is killed undoes none.
    if (writes) execute("PRAGMA synchronous=NORMAL");
  } catch (...) {
    sqlite3_close(handle_);
    if (lock_ >= 0) close(lock_);
    throw;
  }
}

Database::~Database() {
  sqlite3_close(handle_);
  if (lock_ >= 0) close(lock_);
}

void Database::fail() const {
  const std::string stored = writes_ ? "; the points that are done so far are stored" : "";
  const int code = sqlite3_errcode(handle_) & 0xff;
  if (code == SQLITE_NOTADB) {
    throw UsageError(file_ + ": expected a database of weft sweep, got a file of another kind");
  }
  if (code == SQLITE_FULL) {
    throw DatabaseError(file_ + ": the disk is full" + stored);
  }
  if (code == SQLITE_BUSY) {
    throw DatabaseError(file_ + ": another program has it locked for more than " + std::to_string(kBusySeconds) + " s" +
                        stored);
  }
  if (code == SQLITE_IOERR) {
    throw DatabaseError(file_ + ": cannot be " + (writes_ ? "written" : "read") + ": disk I/O error" + stored);
  }
  throw DatabaseError(file_ + ": " + sqlite3_errmsg(handle_));
}

void Database::execute(const char* text) const {
  if (sqlite3_exec(handle_, text, nullptr, nullptr, nullptr) != SQLITE_OK) fail();
}

void Database::make(const std::string& study) {
  execute("BEGIN IMMEDIATE");
  execute(("PRAGMA application_id=" + std::to_string(kApplication)).c_str());
  execute(("PRAGMA user_version=" + std::to_string(kSchema)).c_str());
  execute(kTables);
  Statement name(*this, "INSERT INTO study(name) VALUES(?)");
  name.bind(study);
  name.step();
  execute("COMMIT");
}

void Database::check(const std::string& study) {
  const auto number = [this](const char* pragma) {
    Statement statement(*this, std::string("PRAGMA ") + pragma);
    statement.step();
    return statement.integer(0);
  };
  if (number("application_id") != kApplication) {
    throw UsageError(file_ + ": expected a database of weft sweep, got one of another program");
  }
  if (const std::int64_t schema = number("user_version"); schema != kSchema) {
    throw UsageError(
        fmt::format("{}: expected a database of schema {}, got one of schema {}, which {} Weft made; weft "
                    "sweep STUDY --db FILE makes a new one",
                    file_, kSchema, schema, schema < kSchema ? "an earlier" : "a later"));
  }
  Statement name(*this, "SELECT name FROM study");
  if (name.step()) study_ = name.text(0);
  if (!study.empty() && study_ != study) {
    throw UsageError(file_ + ": expected the database of the study " + platforms::in_quotes(study) + ", got that of " +
                     platforms::in_quotes(study_) + "; give another file by --db");
  }
}

bool Database::has(const std::string& key, bool done_alone) {
  Statement statement(*this,
                      std::string("SELECT 1 FROM points WHERE key=?") + (done_alone ? " AND status='done'" : ""));
  statement.bind(key);
  return statement.step();
}

const ordered_json& Database::base(const std::string& id) {
  if (const auto found = bases_.find(id); found != bases_.end()) return found->second;
  Statement statement(*this, "SELECT configuration FROM bases WHERE id=?");
  statement.bind(id);
  if (!statement.step()) throw DatabaseError(file_ + ": the configuration that others are told by is missing: " + id);
  return bases_.emplace(id, statement.json(0)).first->second;
}

Row Database::short_row_of(Statement& statement) {
  Row row;
  row.key = statement.text(0);
  row.is_done = statement.text(1) == "done";
  row.values = statement.json(2);
  row.task = statement.json(3);
  row.metrics = statement.json(7);
  row.error = statement.text(8);
  row.digest = statement.text(9);
  row.version = statement.text(10);
  row.wall_s = statement.number(11);
  row.user_s = statement.number(12);
  row.peak_bytes = statement.integer(13);
  row.run = statement.text(14);
  row.is_current = statement.integer(15) != 0;
  return row;
}

Row Database::row_of(Statement& statement) {
  Row row = short_row_of(statement);
  if (const std::string id = statement.text(4); !id.empty()) row.configuration = base(id).patch(statement.json(5));
  row.result = statement.json(6);
  return row;
}

std::optional<Row> Database::find(const std::string& key) {
  Statement statement(*this, std::string("SELECT ") + kColumns + " FROM points WHERE key=?");
  statement.bind(key);
  if (!statement.step()) return std::nullopt;
  return row_of(statement);
}

std::optional<Row> Database::find_run(const std::string& run, bool done_alone) {
  Statement statement(*this, std::string("SELECT ") + kColumns + " FROM points WHERE run=?" +
                                 (done_alone ? " AND status='done'" : "") + " ORDER BY key LIMIT 1");
  statement.bind(run);
  if (!statement.step()) return std::nullopt;
  return row_of(statement);
}

std::optional<Row> Database::find_short(const std::string& key) {
  Statement statement(*this, std::string("SELECT ") + kShortColumns + " FROM points WHERE key=?");
  statement.bind(key);
  if (!statement.step()) return std::nullopt;
  return short_row_of(statement);
}

void Database::each_short(const std::function<void(Row row)>& work, const std::string& where) {
  Statement statement(*this, std::string("SELECT ") + kShortColumns + " FROM points" + where + " ORDER BY key");
  while (statement.step()) work(short_row_of(statement));
}

std::vector<Row> Database::rows() {
  std::vector<Row> rows;
  each_short([&rows](Row row) {
    row.task = nullptr;
    rows.push_back(std::move(row));
  });
  return rows;
}

std::vector<Row> Database::failed() {
  std::vector<Row> rows;
  each_short([&rows](Row row) { rows.push_back(std::move(row)); }, " WHERE status='failed' AND current");
  return rows;
}

std::vector<std::string> Database::keys_like(const std::string& beginning) {
  Statement statement(*this, "SELECT key FROM points WHERE substr(key, 1, ?)=? ORDER BY key");
  statement.bind(static_cast<std::int64_t>(beginning.size()));
  statement.bind(beginning);
  std::vector<std::string> keys;
  while (statement.step()) keys.push_back(statement.text(0));
  return keys;
}

void Database::set_base(const ordered_json& configuration) {
  const std::string text = dumped(configuration);
  base_id_ = hash_of(text);
  bases_.insert_or_assign(base_id_, configuration);
  Statement statement(*this, "INSERT OR IGNORE INTO bases VALUES(?,?)");
  statement.bind(base_id_);
  statement.bind(text);
  statement.step();
}

void Database::store(const Row& row) {
  Statement statement(
      *this, std::string("INSERT OR REPLACE INTO points(") + kColumns + ") VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
  const auto bind_or_null = [&statement](bool is_given, const std::string& text) {
    is_given ? statement.bind(text) : statement.bind_null();
  };
  statement.bind(row.key);
  statement.bind(std::string(row.is_done ? "done" : "failed"));
  statement.bind(dumped(row.values));
  statement.bind(dumped(row.task));
  const bool has_configuration = !row.configuration.is_null();
  bind_or_null(has_configuration, base_id_);
  bind_or_null(has_configuration,
               has_configuration ? dumped(ordered_json::diff(bases_.at(base_id_), row.configuration)) : "");
  bind_or_null(!row.result.is_null(), dumped(row.result));
  statement.bind(dumped(row.metrics));
  bind_or_null(!row.error.empty(), row.error);
  bind_or_null(!row.digest.empty(), row.digest);
  statement.bind(row.version);
  statement.bind(row.wall_s);
  statement.bind(row.user_s);
  statement.bind(row.peak_bytes);
  statement.bind(row.run);
  statement.bind(std::int64_t{row.is_current ? 1 : 0});
  statement.step();
}

void Database::store_like(const Row& row, const std::string& other) {
  Statement statement(*this,
                      "INSERT OR REPLACE INTO points SELECT ?, status, ?, ?, base, configuration, result, ?, error, "
                      "digest, version, wall_s, user_s, peak_bytes, run, 1 FROM points WHERE key=?");
  statement.bind(row.key);
  for (const ordered_json* const each : {&row.values, &row.task, &row.metrics}) statement.bind(dumped(*each));
  statement.bind(other);
  statement.step();
}

void Database::store_metrics(const std::string& key, const ordered_json& metrics) {
  Statement statement(*this, "UPDATE points SET metrics=? WHERE key=?");
  statement.bind(dumped(metrics));
  statement.bind(key);
  statement.step();
}

void Database::leave_but(const std::set<std::string>& keys) {
  std::vector<std::string> left;
  {
    Statement statement(*this, "SELECT key FROM points WHERE current");
    while (statement.step()) {
      if (keys.count(statement.text(0)) == 0) left.push_back(statement.text(0));
    }
  }
  for (const std::string& key : left) {
    Statement statement(*this, "UPDATE points SET current=0 WHERE key=?");
    statement.bind(key);
    statement.step();
  }
}

void Database::take(const Row& row) {
  Statement statement(*this, "UPDATE points SET current=1, parameters=?, task=?, metrics=? WHERE key=?");
  for (const ordered_json* const each : {&row.values, &row.task, &row.metrics}) statement.bind(dumped(*each));
  statement.bind(row.key);
  statement.step();
}

void Database::in_one(const std::function<void()>& work) {
  execute("BEGIN IMMEDIATE");
  try {
    work();
    execute("COMMIT");
  } catch (...) {
    sqlite3_exec(handle_, "ROLLBACK", nullptr, nullptr, nullptr);
    throw;
  }
}

void Database::set_about(const ordered_json& about) {
  Statement statement(*this, "UPDATE study SET about=?");
  statement.bind(dumped(about));
  statement.step();
}

ordered_json Database::about() {
  Statement statement(*this, "SELECT about FROM study");
  ordered_json about = statement.step() ? statement.json(0) : ordered_json();
  if (about.is_object()) about.erase(kProgress);
  return about;
}

void Database::set_progress(const ordered_json& progress) {
  ordered_json stored = about();
  stored[kProgress] = progress;
  set_about(stored);
}

ordered_json Database::progress() {
  Statement statement(*this, "SELECT about FROM study");
  const ordered_json about = statement.step() ? statement.json(0) : ordered_json();
  return about.is_object() ? about.value(kProgress, ordered_json()) : ordered_json();
}

}  // namespace weft::study
