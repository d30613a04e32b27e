// SPDX-License-Identifier: Apache-2.0
// weft sweep: points into a database, whatever happens meanwhile.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "tests/platform/study/study_cli.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::Ran;

class SweepCli : public test::StudyCli {
 protected:
  json sweep(const std::string& options = "") { return weft_json("sweep ../s.json --db s.db --jobs 2 " + options); }

  pid_t start_sweep() { return start({WEFT_BINARY, "sweep", "../s.json", "--db", "s.db", "--jobs", "2"}); }
};

TEST_F(SweepCli, PointsAreSimulatedOnce) {
  write_study(R"({"axes": {"collective.bytes": ["4KiB", "64KiB"], "seed": [1, 2]},
      "metrics": {"us": "rows.0.time_us", "twice": "2 * us", "price": "accelerators * 30000"}})");
  json told = sweep();
  EXPECT_EQ(told["done"], 4);
  EXPECT_EQ(told["failed"], 0);
  const json of_weft = weft_json("collective ../small.json --op all_reduce --bytes 64KiB --seed 2");
  const double us = of_weft["rows"][0]["time_us"];
  const std::string found =
      query("s.db", "SELECT digest, json_extract(metrics, '$.us')=" + json(us).dump() +
                        ", json_extract(metrics, '$.twice')=" + json(2 * us).dump() +
                        ", "
                        "json_extract(metrics, '$.price'), json_extract(result, '$.events') FROM points WHERE "
                        "json_extract(parameters, '$.\"collective.bytes\"')='64KiB' AND "
                        "json_extract(parameters, '$.seed')=2");
  EXPECT_EQ(found, of_weft["digest"].get<std::string>() + "|1|1|120000.0|" + of_weft["events"].dump() + "\n");
  const std::string before = stored("s.db");
  told = sweep();
  EXPECT_EQ(told["before"], 4);
  EXPECT_EQ(told["done"], 0);
  EXPECT_EQ(stored("s.db"), before);
  // A study that grows has its points, and metrics that change need no simulation.
  write_study(R"({"axes": {"collective.bytes": ["4KiB", "64KiB"], "seed": [1, 2, 3]},
      "metrics": {"ns": "rows.0.time_us * 1000"}})");
  told = sweep();
  EXPECT_EQ(told["before"], 4);
  EXPECT_EQ(told["done"], 2);
  EXPECT_EQ(query("s.db", "SELECT count(*) FROM points WHERE json_extract(metrics, '$.ns') > 0"), "6\n");
}

TEST_F(SweepCli, AWorkloadIsAPointToo) {
  write_study(R"({"collective": null, "options": {"why": true}, "axes": {"workload.layers": [1, 2]},
      "metrics": {"us": "simulated_us", "energy": "energy.total_j"}})");
  EXPECT_EQ(sweep()["done"], 2);
  const json run = run_json("../small.json --set workload.layers=2");
  EXPECT_EQ(query("s.db", "SELECT digest FROM points WHERE json_extract(parameters, '$.\"workload.layers\"')=2"),
            run["simulator"]["digest"].get<std::string>() + "\n");
  const json point = weft_json("study s.db --point " + query("s.db", "SELECT key FROM points LIMIT 1").substr(0, 16));
  EXPECT_TRUE(point["result"]["why"].is_object());
  // It runs again as it stands there.
  write("again.json", point["configuration"].dump());
  EXPECT_EQ(run_json("../again.json")["simulator"]["digest"], point["digest"]);
}

TEST_F(SweepCli, APointThatFailsHasItsMessageAndStopsNothing) {
  write_study(R"({"axes": {"fabric.hosts_per_leaf": [2, 3], "accelerators": [4, 5]}})");
  json told = sweep();
  EXPECT_EQ(told["done"], 1) << told;
  EXPECT_EQ(told["failed"], 3);
  const std::string errors = query("s.db", "SELECT error FROM points WHERE status='failed'");
  EXPECT_NE(errors.find("hosts_per_leaf"), std::string::npos) << errors;
  EXPECT_EQ(sweep()["before"], 4);
  told = sweep("--retry-failed");
  EXPECT_EQ(told["before"], 1);
  EXPECT_EQ(told["failed"], 3);
  const Ran ran = weft("sweep ../s.json --db s.db");
  EXPECT_EQ(ran.code, 0);
  EXPECT_NE(ran.out.find("failed "), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("\"accelerators\":5"), std::string::npos) << ran.out;
}

TEST_F(SweepCli, WhereNonePointIsDoneTheSweepHasFailed) {
  write_study(R"({"axes": {"collective.bytes": ["64GiB"]}, "limits": {"time": "300ms"}})");
  EXPECT_EQ(weft("sweep ../s.json --db s.db").code, 1);
}

TEST_F(SweepCli, LimitsHold) {
  write_study(R"({"axes": {"collective.bytes": ["4KiB", "64GiB"]}, "limits": {"time": "1500ms"}})");
  json told = sweep();
  EXPECT_EQ(told["done"], 1);
  EXPECT_EQ(query("s.db", "SELECT error FROM points WHERE status='failed'"),
            "it takes longer than limits.time, 1500ms, allows\n");
  write_study(
      R"({"axes": {"collective.bytes": ["4KiB", "256MiB"]}, "options": {"data": true}, "limits": {"memory": "128MiB"}})",
      "m.json");
  told = weft_json("sweep ../m.json --db m.db --jobs 1");
  EXPECT_EQ(told["done"], 1);
  const std::string error = query("m.db", "SELECT error FROM points WHERE status='failed'");
  EXPECT_NE(error.find("limits.memory"), std::string::npos) << error;
}

/// A point that failed by a limit has not failed where more is allowed.
TEST_F(SweepCli, MoreIsTriedWhereMoreIsAllowed) {
  const auto with_time = [this](const std::string& time, const std::string& more = "") {
    write_study(R"({"axes": {"collective.bytes": ["4KiB", "16MiB"], "fabric.hosts_per_leaf": [2, 3]},
        "limits": {"time": ")" +
                time + "\"" + more + "}}");
    return json::parse(weft("sweep ../s.json --db s.db --jobs 2 --json").out);
  };
  EXPECT_EQ(with_time("1ms")["failed"], 4);
  EXPECT_EQ(with_time("1ms")["before"], 4) << "which would fail as before";
  EXPECT_EQ(with_time("1us")["before"], 4);
  const Ran told = weft("sweep ../s.json --db s.db");
  EXPECT_NE(told.out.find("\npoints that failed by a limit are simulated again when the study allows more; "
                          "--retry-failed does so for all that failed\n"),
            std::string::npos)
      << told.out;
  json now = with_time("100s");
  EXPECT_EQ(now["done"], 2) << now;
  EXPECT_EQ(now["failed"], 2) << now;
  now = with_time("0s");
  EXPECT_EQ(now["before"], 4) << "what is wrong itself stays so";
}

/// A million combinations are no study, and are refused before any is made.
TEST_F(SweepCli, AStudyHasAMostOfPoints) {
  const Ran ran = [this] {
    write_study(R"({"axes": {"seed": {"from": 1, "to": 10000, "steps": 10000}, "collective.bytes": {"from": "4KiB",
        "to": "4MiB", "steps": 101}}})");
    return weft("sweep ../s.json --db s.db --dry-run");
  }();
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(
      ran.err.find("s.json: expected a study of at most 1000000 points, before constraints, got 1010000; give its "
                   "axes fewer values, or take samples of them (latin_hypercube) or a search"),
      std::string::npos)
      << ran.err;
}

/// A million points of one machine are read once: what a point costs is its own values.
TEST_F(SweepCli, ManyValuesOfOneMachineAreCheap) {
  write_study(R"({"values": {"price": {"from": 1, "to": 20000, "steps": 20000}}, "axes": {"seed": [1, 2]},
      "metrics": {"us": "rows.0.time_us", "cost": "us * price"}})");
  const Ran listed = run("ulimit -v 2000000; " WEFT_BINARY " sweep ../s.json --db s.db --jobs 1 --dry-run | tail -1");
  EXPECT_EQ(listed.out, "40000 points; constraints leave out 0\n") << listed.err;
  rusage before{};
  rusage after{};
  getrusage(RUSAGE_CHILDREN, &before);
  const json told = sweep();
  getrusage(RUSAGE_CHILDREN, &after);
  EXPECT_EQ(told["done"], 2);
  EXPECT_EQ(told["equal"], 39998);
  EXPECT_EQ(query("s.db",
                  "SELECT count(*), count(DISTINCT run), max(json_extract(metrics, '$.cost')) / "
                  "min(json_extract(metrics, '$.cost')) > 19999 FROM points"),
            "40000|2|1\n");
  EXPECT_LT(after.ru_maxrss, 400'000) << "kilobytes of the largest";
  // With nothing to do nothing is written.
  const std::string stored_before = stored("s.db");
  EXPECT_EQ(sweep()["before"], 40000);
  EXPECT_EQ(stored("s.db"), stored_before);
  getrusage(RUSAGE_CHILDREN, &after);
  EXPECT_LT(after.ru_maxrss, 400'000) << "kilobytes of the largest";
}

/// A metric that only the result can tell of is missed when all is done; that none has it is no success.
TEST_F(SweepCli, AMetricThatIsNothingIsReported) {
  write_study(R"({"collective": null, "metrics": {"us": "energy.total", "sum": "us + 1", "known": "simulated_us"}})");
  const Ran ran = weft("sweep ../s.json --db s.db");
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.err.find("s.json: metrics.us: expected an axis, a value, a metric or a field of the platform, got"),
            std::string::npos)
      << ran.err;
  EXPECT_TRUE(query("s.db", "SELECT metrics FROM points").starts_with("{\"us\":null,\"sum\":null,\"known\":"));
}

/// What is infinite or no number is no value.
TEST_F(SweepCli, AnInfiniteMetricIsNoValue) {
  write_study(R"j({"axes": {"seed": [1, 2]}, "metrics": {"us": "rows.0.time_us", "some": "1 / (seed - 1)",
      "none": "1 / 0", "wrong": "0 / (seed - seed)"}})j");
  const Ran ran = weft("sweep ../s.json --db s.db");
  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(ran.err,
            "weft: warning: ../s.json: metrics.some: expected a finite number, got inf of \"1 / (seed - 1)\"\n"
            "weft: warning: ../s.json: metrics.none: expected a finite number, got inf of \"1 / 0\"\n"
            "weft: warning: ../s.json: metrics.wrong: expected a finite number, got nan of \"0 / (seed - seed)\"\n");
  EXPECT_EQ(
      query("s.db", "SELECT json_extract(metrics, '$.some') FROM points ORDER BY json_extract(parameters, '$.seed')"),
      "\n1.0\n");
  EXPECT_EQ(json::parse(weft("sweep ../s.json --db s.db --json").out)["without_value"], json({"none", "wrong"}));
}

/// A field that changes nothing is reported, as a run does.
TEST_F(SweepCli, SaysWhatIsWithoutEffect) {
  write_study(R"({"axes": {"workload.layers": [1, 2]}, "set": {"nic.dcqcn.g": 0.5}})");
  const json told = sweep();
  EXPECT_EQ(told["points"], 2);
  const std::string idle = told["without_effect"].dump();
  EXPECT_NE(idle.find(R"({"because":"nic.congestion is none","field":"nic.dcqcn.g","points":2})"), std::string::npos)
      << idle;
  EXPECT_NE(idle.find(R"("field":"workload)"), std::string::npos) << idle;
  EXPECT_NE(
      weft("sweep ../s.json --db s.db").out.find("without effect at 2 points: nic.dcqcn.g (nic.congestion is none)\n"),
      std::string::npos);
}

/// What a study no longer has stays in the database, and out of all that shows the study.
TEST_F(SweepCli, PointsThatLeaveAStudyAreNotShown) {
  write_study(R"({"axes": {"seed": [1, 2, 3]}, "values": {"x": 1}, "metrics": {"us": "rows.0.time_us"}})");
  sweep();
  write_study(R"({"axes": {"seed": [1, 2, 3, 4]}, "values": {"x": 1}, "constraints": ["seed != 2"],
      "metrics": {"us": "rows.0.time_us"}})");
  EXPECT_EQ(sweep()["before"], 2);
  const auto seeds = [this](const std::string& options) {
    std::string all;
    const json table = weft_json("study s.db " + options);
    for (const json& row : table["rows"]) all += row["seed"].dump();
    return all;
  };
  EXPECT_EQ(seeds(""), "134");
  EXPECT_EQ(seeds("--all"), "1234");
  EXPECT_EQ(seeds("--best us").size(), 3U);
  EXPECT_EQ(weft_json("study s.db --all")["rows"][1]["current"], "no");
  EXPECT_NE(
      weft("study s.db")
          .out.find(
              "s: 3 points, 0 of them failed; 1 point that the study no longer has is left out (--all shows it)\n"),
      std::string::npos);
  weft("study s.db --csv t.csv --html p.html");
  const std::string csv = test::read_file(folder_ / "work" / "t.csv");
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 4) << csv;
  EXPECT_NE(test::read_file(folder_ / "work" / "p.html").find("A study of 3 points, 0 of which failed."),
            std::string::npos);
  // What comes back needs no simulation, and its row says what the study varies now.
  write_study(R"({"axes": {"seed": [2], "nic": ["connectx-7"]}, "metrics": {"us": "rows.0.time_us"}})");
  const json told = sweep();
  EXPECT_EQ(told["before"].get<int>() + told["equal"].get<int>(), 1) << told;
  EXPECT_EQ(told["done"], 0);
  EXPECT_EQ(query("s.db", "SELECT parameters FROM points WHERE current"), "{\"seed\":2,\"nic\":\"connectx-7\"}\n");
}

/// Values that only expressions use, and sizes that are written otherwise, do not simulate anew.
TEST_F(SweepCli, EqualMachinesAreSimulatedOnce) {
  write_study(R"({"values": {"price": [1, 2, 3]}, "axes": {"seed": [1, 2]},
      "metrics": {"us": "rows.0.time_us", "cost": "us * price"}})");
  json told = sweep();
  EXPECT_EQ(told["done"], 2);
  EXPECT_EQ(told["equal"], 4);
  EXPECT_EQ(query("s.db", "SELECT count(*), count(DISTINCT run), sum(json_extract(metrics, '$.cost') > 0) FROM points"),
            "6|2|6\n");
  write_study(R"({"values": {"price": [4]}, "axes": {"seed": [1], "collective.bytes": ["4KiB", "4096B"]},
      "metrics": {"us": "rows.0.time_us", "cost": "us * price"}})");
  told = sweep();
  EXPECT_EQ(told["done"], 0) << told;
  EXPECT_EQ(told["equal"], 2) << told;
}

TEST_F(SweepCli, MetricsOverAllRows) {
  write_study(R"j({"collective": {"op": "all_reduce", "bytes": "4KiB,64KiB"},
      "metrics": {"longest": "max(rows.*.time_us)", "last": "rows.1.time_us", "sum": "sum(rows.*.time_us)", "first": "rows.0.time_us",
      "more": "rows.1.time_us - rows.0.time_us", "is_longer": "rows.1.time_us ? 2 : 3"}})j");
  EXPECT_EQ(sweep()["done"], 1);
  const json row = weft_json("study s.db")["rows"][0];
  EXPECT_EQ(row["longest"], row["last"]);
  EXPECT_DOUBLE_EQ(row["sum"].get<double>(), row["last"].get<double>() + row["first"].get<double>());
  EXPECT_DOUBLE_EQ(row["more"].get<double>(), row["last"].get<double>() - row["first"].get<double>());
  EXPECT_EQ(row["is_longer"], 2.0);
}

/// Mistakes that all points would meet are found before one is simulated.
TEST_F(SweepCli, MistakesAreFoundBeforeAnythingIsSimulated) {
  const struct {
    const char* members;
    const char* message;
  } kBad[] = {
      {R"({"axes": {"fabric.link.ratee": ["100Gbps", "200Gbps"]}})",
       "s.json: axes.fabric.link.ratee: expected a known key, got \"ratee\""},
      {R"({"set": {"fabric.lnk.rate": "1Gbps"}})", "s.json: set.fabric.lnk.rate: expected a known key, got \"lnk\""},
      {R"({"zip": {"sed": [1, 2]}})", "s.json: zip.sed: expected a known key"},
      {R"({"random": {"points": 2, "ranges": {"sed": {"from": 1, "to": 9}}}})",
       "s.json: random.ranges.sed: expected a"},
      {R"({"derived": {"acclerators": "2"}})", "s.json: derived.acclerators: expected a known key"},
      {R"({"axes": {"collective.byte": ["4KiB"]}})", "s.json: axes.collective.byte: expected a known key"},
      {R"({"axes": {"collective.bytes": ["4KiB", "4097B"]}})",
       "s.json: collective.bytes: expected a multiple of the element's 4 bytes"},
      {R"({"axes": {"collective.bytes": {"from": "100B", "to": "1KiB", "factor": 1.5}}, "collective": {"op": "all_reduce", "type": "fp32"}})",
       "s.json: collective.bytes: expected a multiple of the element's 4 bytes"},
      {R"({"search": {"minimise": ["us"], "method": "grid"}, "axes": {"seed": [1]}, "fidelity": [{"set": {"sed": 1}}]})",
       "s.json: fidelity.0.set.sed: expected a known key"},
      {R"({"search": {"minimise": ["us"]}, "axes": {"sed": [1, 2]}})", "s.json: axes.sed: expected a known key"},
      {R"({"axes": {"seed": [1, 2], "nic": ["connectx-7", "connectx-77"]}})",
       "s.json: axes.nic: expected a part of kind nic"},
      {R"({"zip": {"seed": [1, 2], "fabric.link.rate": ["100Gbps", "fast"]}})",
       "s.json: zip.fabric.link.rate: expected a rate"},
      {R"({"search": {"minimise": ["us"]}, "axes": {"nic": ["connectx-7", "connectx-77"]}})",
       "s.json: axes.nic: expected a part of kind nic"},
      {R"({"metrics": {"accelerators": "rows.0.time_us"}})",
       "s.json: metrics.accelerators: expected a name that no field of the platform has, got \"accelerators\""},
      {R"({"values": {"accelerators": 3}, "metrics": {"us": "rows.0.time_us * accelerators"}})",
       "s.json: values.accelerators: expected a name that no field of the platform has, got \"accelerators\""},
      {R"({"metrics": {"us": "rows.0.time"}})", "s.json: metrics.us: expected one of rows.N.algbw,"},
      {R"({"metrics": {"us": "rows.1.time_us"}})", "s.json: metrics.us: expected a row from rows.0 to rows.0"},
      {R"({"metrics": {"us": "row.0.time_us"}})", "s.json: metrics.us: expected an axis, a value, a metric, a field"},
      {R"({"metrics": {"it": "rows"}})", "s.json: metrics.it: expected a path to a number or a text"},
      {R"({"metrics": {"loop": "loop + 1"}})",
       "s.json: metrics.loop: expected an expression that does not need its own"},
      {R"({"metrics": {"x": "1 +"}})", "s.json: metrics.x: expected an expression, got \"1 +\""},
      {R"({"metrics": {"x": "rows.*.time_us"}})", "s.json: metrics.x: expected one value, as of max()"},
      {R"({"collective": null, "metrics": {"x": "enrgy.total_j"}})", "did you mean"},
      {R"({"collective": null, "metrics": {"x": "2 * step_tme_us"}})", "did you mean \"step_time_us\"?"},
  };
  for (const auto& bad : kBad) {
    if (std::string(bad.message) == "did you mean") {
      expect_study_refused(bad.members,
                           "s.json: metrics.x: expected an axis, a value, a metric, a field of the platform");
    } else {
      expect_study_refused(bad.members, bad.message);
    }
  }
}

/// The names that a metric may have are those of real results: none of them may be refused.
TEST_F(SweepCli, EveryNameOfAResultIsKnown) {
  const auto expect_known = [this](const std::string& members, const std::string& table) {
    write_study(members);
    ASSERT_EQ(weft("sweep ../s.json --db n.db --jobs 1").code, 0);
    const json names = json::parse("[" +
                                   query("n.db",
                                         "SELECT group_concat('\"' || key || '\"') FROM (SELECT DISTINCT j.key AS key "
                                         "FROM points p, json_each(p.result" +
                                             table + ") j)") +
                                   "]");
    EXPECT_GT(names.size(), 9U);
    json study = json::parse(members);
    study["metrics"] = json::object();
    const std::string before = table.empty() ? "" : "rows.0.";
    for (const json& name : names) {
      const auto text = name.get<std::string>();
      if (text == "rows") continue;  // which is no value
      study["metrics"]["m_" + text] = before + text;
    }
    write_study(study.dump());
    const Ran ran = weft("sweep ../s.json --db n.db --dry-run");
    EXPECT_EQ(ran.code, 0) << ran.err;
    fs::remove(folder_ / "work" / "n.db");
  };
  const std::string any = R"("metrics": {"us": "simulated_us"})";
  expect_known("{" + any + "}", "");
  expect_known("{" + any + "}", ", '$.rows[0]'");
  expect_known(R"({"collective": null, "options": {"why": true, "steady": true}, )" + any + "}", "");
  expect_known(R"({"collective": null, "platform": "llama3-8b-tp8-fsdp8-64xh100", "set": {"accelerators": 16,
      "workload.parallel": "tp=8,fsdp=2", "workload.batch": 4, "workload.layers": 1}, )" +
                   any + "}",
               "");
  expect_known(R"({"collective": null, "platform": "resnet50-kfac-64xh100", "set": {"accelerators": 8}, )" + any + "}",
               "");
}

/// Sampled quantities are written as people would, and sizes are of whole elements.
TEST_F(SweepCli, SampledValuesAreRound) {
  const json made = points(R"({"random": {"points": 30, "ranges": {"collective.bytes": {"from": 65536, "to": 1048576},
      "fabric.link.rate": {"from": "100Gbps", "to": "400Gbps"}, "fabric.link.propagation": {"from": "1ns", "to": "1us", "log": true}}}})");
  ASSERT_EQ(made.size(), 30U);
  for (const json& point : made) {
    EXPECT_EQ(point["error"], "");
    EXPECT_TRUE(point["parameters"]["collective.bytes"].get<std::string>().ends_with("B")) << point;
    for (const auto& [path, value] : point["parameters"].items()) {
      const auto text = value.get<std::string>();
      EXPECT_LE(text.find_first_not_of("0123456789"), 6U) << path << " " << text;
    }
  }
}

/// Of processes that are killed at any time the points under way are simulated once more, and nothing else is lost.
TEST_F(SweepCli, KilledProcessesLoseNothing) {
  write_study(R"({"axes": {"seed": {"from": 1, "to": 12, "steps": 12}, "fabric.hosts_per_leaf": [2, 3]}})");
  ASSERT_EQ(weft("sweep ../s.json --db whole.db --jobs 2").code, 0);
  const std::string whole = stored("whole.db");
  std::srand(static_cast<unsigned>(getpid()));
  for (int i = 0; i < kills(2); ++i) {
    SCOPED_TRACE(i);
    fs::remove(folder_ / "work" / "s.db");
    const pid_t dealer = start_sweep();
    std::this_thread::sleep_for(std::chrono::milliseconds(50 + std::rand() % 400));
    const bool of_worker = i % 2 == 0;
    if (of_worker) {
      for (const pid_t worker : children_of(dealer)) {
        // One that simulates, or else the worker above it.
        const std::vector<pid_t> under = children_of(worker);
        kill(under.empty() || std::rand() % 2 == 0 ? worker : under.front(), SIGKILL);
      }
    } else {
      kill(dealer, SIGKILL);
    }
    int status = 0;
    waitpid(dealer, &status, 0);
    if (of_worker) {
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    }
    const Ran ran = weft("sweep ../s.json --db s.db --jobs 2");
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(stored("s.db"), whole);
  }
}

TEST_F(SweepCli, ASignalKeepsWhatIsDone) {
  write_study(R"({"axes": {"seed": {"from": 1, "to": 400, "steps": 400}}})");
  const pid_t dealer = start_sweep();
  const auto count = [this] {
    if (!fs::exists(folder_ / "work" / "s.db")) return 0;
    if (query("s.db", "SELECT name FROM sqlite_master WHERE name='points'").empty()) return 0;
    return std::atoi(query("s.db", "SELECT count(*) FROM points").c_str());
  };
  // However slow the machine is, a point is done before the signal.
  for (int i = 0; i < 1000 && count() == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(60));
  kill(dealer, SIGTERM);
  int status = 0;
  waitpid(dealer, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM) << status;
  EXPECT_GT(count(), 0);
  EXPECT_LT(count(), 400);
}

TEST_F(SweepCli, DatabasesOfOthersAreLeftAlone) {
  write_study(R"({"axes": {"seed": [1]}})");
  sweep();
  const std::string before = test::read_file(folder_ / "work" / "s.db");
  write_study(R"({"axes": {"seed": [1]}, "name": "other"})");
  Ran ran = weft("sweep ../s.json --db s.db");
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.err,
            "weft: s.db: expected the database of the study \"other\", got that of \"s\"; give another file by "
            "--db\n");
  EXPECT_EQ(test::read_file(folder_ / "work" / "s.db"), before);
  const auto refused = [this](const std::string& name, const std::string& message) {
    const Ran other = weft("sweep ../s.json --db " + name);
    EXPECT_EQ(other.code, 2) << other.err;
    EXPECT_NE(other.err.find(name + ": expected a database of weft sweep, got " + message), std::string::npos)
        << other.err;
  };
  write("work/notes", "These are no points, and long enough to be of some kind.\n" + std::string(200, 'x'));
  refused("notes", "a file of another kind");
  refused(".", "a folder");
  query("foreign.db", "CREATE TABLE points(key TEXT)");
  refused("foreign.db", "one of another program");
  query("s.db", "PRAGMA user_version=7");
  ran = weft("sweep ../s.json --db s.db");
  EXPECT_NE(ran.err.find("expected a database of schema 2, got one of schema 7, which a later Weft made"),
            std::string::npos)
      << ran.err;
  ran = weft("sweep ../s.json --db notes/s.db");
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.err, "weft: notes/s.db: cannot be written: Not a directory\n");
  // A folder is made, as other commands do.
  EXPECT_EQ(weft("sweep ../s.json --db none/s.db").code, 0);
}

TEST_F(SweepCli, ADatabaseThatCannotBeWrittenEndsItCleanly) {
  write_study(R"({"axes": {"seed": {"from": 1, "to": 200, "steps": 200}}})");
  Ran ran = run("ulimit -f 400; " WEFT_BINARY " sweep ../s.json --db s.db --jobs 2");
  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(ran.err, "weft: s.db: cannot be written: disk I/O error; the points that are done so far are stored\n");
  EXPECT_GT(std::atoi(query("s.db", "SELECT count(*) FROM points").c_str()), 0);
  const int held = open((folder_ / "work" / "s.db").c_str(), O_RDWR);
  ASSERT_EQ(flock(held, LOCK_EX | LOCK_NB), 0);
  ran = weft("sweep ../s.json --db s.db");
  close(held);
  EXPECT_EQ(ran.code, 2);
  const std::string self =
      "s.db: expected a database that nothing else writes, got one that process " + std::to_string(getpid()) + " (";
  EXPECT_NE(ran.err.find(self), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace weft
