// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

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

  /// Runs a program in the background and without output; its processes are a group.
  pid_t start(const std::vector<std::string>& words) {
    const pid_t pid = fork();
    if (pid != 0) return pid;
    setpgid(0, 0);
    if (chdir((folder_ / "work").c_str()) != 0) _exit(127);
    const int nothing = open("/dev/null", O_RDWR);
    dup2(nothing, STDOUT_FILENO);
    dup2(nothing, STDERR_FILENO);
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    execvp(arguments.front(), arguments.data());
    _exit(127);
  }

  static std::vector<pid_t> children_of(pid_t parent) {
    std::ifstream list("/proc/" + std::to_string(parent) + "/task/" + std::to_string(parent) + "/children");
    std::vector<pid_t> children;
    for (pid_t child = 0; list >> child;) children.push_back(child);
    return children;
  }

  /// How often a test kills: `few`, or what WEFT_KILLS says.
  static int kills(int few) {
    const char* const rounds = std::getenv("WEFT_KILLS");
    return rounds == nullptr ? few : std::atoi(rounds);
  }
};

}  // namespace weft::test
