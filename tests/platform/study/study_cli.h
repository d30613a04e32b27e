// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sqlite3.h>

#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/cli.h"

namespace weft::test {

/// Studies of small.json. A point is a collective of four ranks, which takes some hundredths of a second.
class StudyCli : public CliTest {
 protected:
  /// A study with these members beside the platform, a collective and a metric, which they may replace.
  void write_study(const std::string& members, const std::string& name = "s.json") {
    nlohmann::ordered_json study = {{"platform", "small.json"},
                                    {"collective", {{"op", "all_reduce"}, {"bytes", "4KiB"}}},
                                    {"metrics", {{"us", "rows.0.time_us"}}}};
    study.update(nlohmann::ordered_json::parse(members, nullptr, true, true));
    for (auto member = study.begin(); member != study.end();) {
      member = member->is_null() ? study.erase(member) : std::next(member);
    }
    write(name, study.dump(1));
  }

  /// Exit 2, one message, and no database: nothing was simulated.
  void expect_study_refused(const std::string& members, const char* message) {
    write_study(members);
    expect_refused({members.c_str(), "sweep ../s.json --db s.db --jobs 1", {message}});
  }

  nlohmann::json points(const std::string& members) {
    write_study(members);
    return weft_json("sweep ../s.json --db s.db --dry-run")["points"];
  }

  /// All that is stored but for times that were measured, by key, as any program reads it.
  std::string stored(const std::string& database) {
    return query(database,
                 "SELECT key, status, parameters, task, base, configuration, result, metrics, error, digest, version, "
                 "run, current "
                 "FROM points ORDER BY key") +
           query(database, "SELECT * FROM bases");
  }

  std::string query(const std::string& database, const std::string& text) {
    sqlite3* handle = nullptr;
    EXPECT_EQ(sqlite3_open((folder_ / "work" / database).c_str(), &handle), SQLITE_OK);
    sqlite3_busy_timeout(handle, 10'000);
    std::string all;
    const auto add = [](void* to, int count, char** values, char** /*names*/) {
      for (int i = 0; i < count; ++i) {
        *static_cast<std::string*>(to) += std::string(i == 0 ? "" : "|") + (values[i] == nullptr ? "" : values[i]);
      }
      *static_cast<std::string*>(to) += "\n";
      return 0;
    };
    EXPECT_EQ(sqlite3_exec(handle, text.c_str(), add, &all, nullptr), SQLITE_OK) << sqlite3_errmsg(handle);
    sqlite3_close(handle);
    return all;
  }
};

}  // namespace weft::test
