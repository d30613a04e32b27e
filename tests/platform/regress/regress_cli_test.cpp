// SPDX-License-Identifier: Apache-2.0
// weft regress: cases in a folder, their golden values, and what CI reads.
#include <gtest/gtest.h>

#include <boost/property_tree/xml_parser.hpp>
#include <sstream>

#include "platforms/regress/case_file.h"
#include "tests/support/cli.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using nlohmann::ordered_json;
using test::Ran;

/// Cases of small.json, which lies beside them. One is a collective of four ranks.
class RegressCli : public test::CliTest {
 protected:
  RegressCli() {
    fs::create_directories(folder_ / "cases");
    write("cases/small.json", test::kSmall);
  }

  /// A case with these members, beside the platform and a collective.
  void write_case(const std::string& name, const std::string& members) {
    ordered_json text = {{"platform", "small.json"}, {"collective", {{"op", "all_reduce"}, {"bytes", "4KiB"}}}};
    text.update(ordered_json::parse(members));
    write("cases/" + name + ".regress.json", text.dump(1));
  }

  std::string read(const std::string& file) { return test::read_file(folder_ / file); }

  /// What it prints with --json, whatever its exit code.
  json regress(const std::string& arguments, int code) {
    const Ran ran = weft("regress " + arguments + " --json");
    EXPECT_EQ(ran.code, code) << ran.err << ran.out;
    return json::parse(ran.out);
  }
};

TEST_F(RegressCli, UpdateKeepsAMarkOfByteOrder) {
  write("cases/a.regress.json",
        "\xef\xbb\xbf{\"platform\": \"small.json\", \"collective\": {\"op\": \"all_reduce\", \"bytes\": \"4KiB\"}, "
        "\"metrics\": {\"more\": \"rows.0.time_us - 1\"}}");
  const Ran update = weft("regress ../cases --update");
  EXPECT_EQ(update.code, 0) << update.err;
  EXPECT_TRUE(read("cases/a.regress.json").starts_with("\xef\xbb\xbf{\"platform\""));
  EXPECT_EQ(weft("regress ../cases").code, 0);
}

TEST_F(RegressCli, UpdateWritesGoldenValuesAndKeepsTheRest) {
  const std::string text =
      "{ // One AllReduce: {\n"
      "  \"platform\": \"small.json\", \"collective\": {\"op\": \"all_reduce\", \"bytes\": \"4KiB\"},\n"
      "  \"metrics\": {\"us\": \"rows.0.time_us\", \"by\": \"rows.0.algorithm\"},\n"
      "  \"digest\": true // of all events\n"
      "}\n";
  write("cases/a.regress.json", text);
  const Ran before = weft("regress ../cases");
  EXPECT_EQ(before.code, 1);
  EXPECT_NE(before.out.find("a: us: no golden value yet: weft regress --update writes it\n"), std::string::npos);
  EXPECT_NE(before.out.find("\n1 case: 0 pass, 1 fail\n"), std::string::npos) << before.out;
  EXPECT_EQ(read("cases/a.regress.json"), text);

  const Ran update = weft("regress ../cases --update");
  EXPECT_EQ(update.code, 0) << update.err;
  EXPECT_TRUE(update.out.starts_with("updated ../cases/a.regress.json\n  us: ")) << update.out;
  EXPECT_NE(update.out.find("  by: \"ring\", which is new\n"), std::string::npos);
  const std::string updated = read("cases/a.regress.json");
  const std::string kept = text.substr(0, text.find(" // of all events"));
  EXPECT_TRUE(updated.starts_with(kept + ", // of all events\n  \"golden\": {\n    \"us\": ")) << updated;
  EXPECT_TRUE(updated.ends_with("\"\n  }\n}\n")) << updated;

  const Ran after = weft("regress ../cases");
  EXPECT_EQ(after.code, 0) << after.out;
  EXPECT_NE(after.out.find("1 case: 1 pass, 0 fail\n"), std::string::npos);
  EXPECT_EQ(weft("regress ../cases --update").out, "no golden value has changed\n");
  EXPECT_EQ(read("cases/a.regress.json"), updated);

  std::string other = updated;
  other.replace(other.find("\"us\": ", other.find("golden")), 6, "\"us\": 1");
  write("cases/a.regress.json", other);
  const Ran changed = weft("regress ../cases/a.regress.json --update");
  EXPECT_NE(changed.out.find(" in place of 1"), std::string::npos) << changed.out;
  EXPECT_EQ(read("cases/a.regress.json"), updated);
}

/// A golden value of a metric that the case no longer has is no silence.
TEST_F(RegressCli, AGoldenValueOfNoMetricFails) {
  const double us = weft_json("collective ../small.json --op all_reduce --bytes 4KiB")["rows"][0]["time_us"];
  write_case("a", ordered_json{{"metrics", {{"us", "rows.0.time_us"}}},
                               {"golden", {{"us", us}, {"uss", 3}, {"digest", "0123"}}}}
                      .dump());
  const Ran ran = weft("regress ../cases");
  EXPECT_EQ(ran.code, 1);
  for (const char* const name : {"uss", "digest"}) {
    EXPECT_NE(
        ran.out.find(std::string(name) + ": a golden value of no metric of the case: weft regress --update removes it"),
        std::string::npos)
        << ran.out;
  }
  const Ran update = weft("regress ../cases --update");
  EXPECT_EQ(update.code, 0) << update.out;
  EXPECT_NE(update.out.find("  uss: removed, it was 3\n"), std::string::npos) << update.out;
  EXPECT_EQ(weft("regress ../cases").code, 0);
}

TEST_F(RegressCli, TolerancesDecide) {
  const double us = weft_json("collective ../small.json --op all_reduce --bytes 4KiB")["rows"][0]["time_us"];
  const struct {
    const char* tolerance;
    double share;  ///< of what comes out, which is the golden value
    bool passes;
  } kCases[] = {{"0%", 1, true},     {"0%", 1.001, false}, {"1%", 1.005, true},     {"1%", 1.02, false},
                {"1%", 0.98, false}, {"3us", 1.02, true},  {"3000 ns", 1.02, true}, {"1us", 1.02, false},
                {"3", 1.02, true},   {"-", 2, true}};
  ordered_json metrics;
  ordered_json golden;
  for (std::size_t i = 0; i < std::size(kCases); ++i) {
    const std::string name = "m" + std::to_string(i);
    metrics[name] = {{"path", "rows.0.time_us"}, {"tolerance", kCases[i].tolerance}};
    golden[name] = us * kCases[i].share;
  }
  metrics["by"] = "rows.0.algorithm";
  golden["by"] = "tree";
  golden["digest"] = "0123";
  write_case("a", ordered_json{{"metrics", metrics}, {"digest", true}, {"golden", golden}}.dump());
  const json told = regress("../cases", 1)["cases"][0];
  for (std::size_t i = 0; i < std::size(kCases); ++i) {
    EXPECT_EQ(told["metrics"][i]["pass"], kCases[i].passes) << kCases[i].tolerance << " of " << kCases[i].share;
  }
  const json& by = told["metrics"][std::size(kCases)];
  EXPECT_EQ(by["message"], "expected \"tree\", got \"ring\"");
  EXPECT_EQ(told["metrics"].back()["metric"], "digest");
  EXPECT_EQ(told["metrics"].back()["pass"], false);
}

/// The tolerance of a case is that of its metrics; a workload and an expression; a wrong case stops no other.
TEST_F(RegressCli, FailuresStopNothingAndAreInJunit) {
  fs::create_directories(folder_ / "cases/sub");
  write_case("good", R"({"tolerance": "50%", "metrics": {"ns": "rows.0.time_us * 1000"}, "golden": {"ns": 1e5}})");
  write_case("no-part", R"({"set": {"nic": "<&>"}, "metrics": {"us": "rows.0.time_us"}})");
  write_case("no-value", R"({"metrics": {"us": "rows.0.dpa_busy_us"}, "golden": {"us": 1}})");
  write_case("slow", R"({"collective": {"op": "all_reduce", "bytes": "64GiB"}, "limits": {"time": "500ms"},
                         "metrics": {"us": "rows.0.time_us"}})");
  write("cases/sub/step.regress.json", R"({"platform": "../small.json", "digest": true, "golden": {"digest": "1"}})");
  const Ran ran = weft("regress ../cases --junit out/j.xml --jobs 2");
  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(ran.err, "");
  for (const char* const line :
       {"no-part: ../cases/no-part.regress.json: nic: expected a part of kind nic", "no-value: us: expected an axis",
        "slow: it takes longer than limits.time, 500ms, allows", "sub/step: digest: expected \"1\", got \"",
        "5 cases: 1 pass, 4 fail"}) {
    EXPECT_NE(ran.out.find(line), std::string::npos) << line << " in " << ran.out;
  }

  std::istringstream xml(read("work/out/j.xml"));
  boost::property_tree::ptree tree;
  boost::property_tree::read_xml(xml, tree);
  const auto& suite = tree.get_child("testsuites.testsuite");
  EXPECT_EQ(suite.get<int>("<xmlattr>.tests"), 5);
  EXPECT_EQ(suite.get<int>("<xmlattr>.failures"), 4);
  std::map<std::string, std::string> failures;
  for (const auto& [kind, each] : suite) {
    if (kind != "testcase") continue;
    EXPECT_EQ(each.get<std::string>("<xmlattr>.classname"), "weft.regress");
    EXPECT_GE(each.get<double>("<xmlattr>.time"), 0);
    failures[each.get<std::string>("<xmlattr>.name")] = each.get("failure.<xmlattr>.message", "");
  }
  ASSERT_EQ(failures.size(), 5U);
  EXPECT_EQ(failures["good"], "");
  EXPECT_NE(failures["no-part"].find("got \"<&>\""), std::string::npos) << failures["no-part"];
  EXPECT_TRUE(failures["sub/step"].starts_with("digest: expected \"1\", got ")) << failures["sub/step"];
  // Its own file is replaced, another one is not.
  EXPECT_EQ(weft("regress ../cases/good.regress.json --junit out/j.xml").code, 0);
  write("work/mine.xml", "<a/>");
  EXPECT_EQ(weft("regress ../cases/good.regress.json --junit mine.xml").code, 2);
}

/// A metric that no result can have is a mistake in the case: nothing is run.
TEST_F(RegressCli, AMetricThatNoResultHasIsFoundFirst) {
  write_case("good", R"({"metrics": {"us": "rows.0.time_us"}})");
  const auto refused = [this](const char* metric, const char* message) {
    write_case("bad", std::string(R"({"metrics": {"us": ")") + metric + "\"}}");
    const std::string whole = "../cases/bad.regress.json: metrics.us: expected " + std::string(message);
    expect_refused({metric, "regress ../cases --junit j.xml", {whole.c_str()}});
  };
  refused("rows.0.time", "one of rows.N.algbw,");
  refused("rows.1.time_us", "a row from rows.0 to rows.0");
  refused("2 * rows.0.tme_us", "one of rows.N.algbw,");
  refused("nothing", "an axis, a value, a metric, a field of the platform or a path of the result, got");
}

TEST_F(RegressCli, AnUpdateFailsForWhatHasNoResult) {
  write_case("good", R"({"metrics": {"us": "rows.0.time_us"}})");
  write_case("no-value", R"({"metrics": {"us": "rows.0.dpa_busy_us"}})");
  const json told = regress("../cases --update", 1);
  EXPECT_EQ(told["pass"], false);
  ASSERT_EQ(told["updated"].size(), 1U);
  EXPECT_EQ(told["updated"][0]["file"], "../cases/good.regress.json");
  EXPECT_TRUE(told["updated"][0]["before"].is_null());
  EXPECT_EQ(told["cases"][0]["pass"], true) << "with its golden value";
  EXPECT_EQ(told["cases"][1]["pass"], false);
}

TEST_F(RegressCli, WrongInputIsNamed) {
  const auto expect_wrong = [this](const char* members, const char* message) {
    write_case("bad", members);
    const std::string whole = "../cases/bad.regress.json: " + std::string(message);
    expect_refused({message, "regress ../cases --junit j.xml", {whole.c_str()}});
  };
  expect_wrong(R"({"metric": {}, "digest": true})", "metric: expected");
  expect_wrong(R"({})", "metrics: expected an object with a metric or more");
  expect_wrong(R"({"platform": "none", "digest": true})", "platform: expected a platform's file, or the name");
  expect_wrong(R"({"metrics": {"a b": "x"}})", "metrics.a b: expected a name of letters, digits and _");
  expect_wrong(R"({"metrics": {"digest": "digest"}})", "metrics.digest: expected another name");
  expect_wrong(R"({"metrics": {"us": {"tolerance": "1%"}}})", "metrics.us.path: expected a path in summary.json");
  expect_wrong(R"({"metrics": {"us": {"path": "rows.0.time_us", "tolerance": "some"}}})",
               "metrics.us.tolerance: expected a tolerance such as 10%");
  expect_wrong(R"({"metrics": {"us": {"path": "rows.0.time_us", "tolerance": "1GB/s"}}})",
               "metrics.us.tolerance: expected a unit of rows.0.time_us");
  for (const char* const tolerance : {"1banana", "1min", "1KB", "1.5x"}) {
    const std::string metric = std::string(R"({"path": "rows.0.time_us", "tolerance": ")") + tolerance + "\"}";
    expect_wrong(
        (R"({"metrics": {"us": )" + metric + "}}").c_str(),
        "metrics.us.tolerance: expected a tolerance such as 10%, 0.5 or -, or with a unit that rows.0.time_us");
  }
  expect_wrong(R"({"metrics": {"x": {"path": "a_us / b_us", "tolerance": "1us"}}})",
               "metrics.x.tolerance: expected a tolerance such as 10%, or 0.5 without a unit, for an expression");
  expect_wrong(R"({"digest": true, "golden": 1})", "golden: expected an object with a value for each metric");
  expect_wrong(R"({"validate": {"suite": "gemm-h100"}})", "platform: expected nothing beside validate");
  const auto expect_no_case = [this](const std::string& text, const std::string& message) {
    write("cases/bad.regress.json", text);
    expect_refused({message.c_str(), "regress ../cases/bad.regress.json", {message.c_str()}});
  };
  expect_no_case("[]", "expected a regression case in JSON, an object, got an array");
  expect_no_case(R"({"validate": {}})", "validate: expected a table, a suite, or both");
  expect_no_case(R"({"validate": {"table": "none.csv"}})", "validate.table: expected a table of measurements beside");
  expect_no_case(R"({"validate": {"suite": "gemm-h100", "mean_error": "5"}})",
                 "mean_error: expected a share such as 5%");
  fs::create_directories(folder_ / "empty");
  expect_refused({"no case", "regress ../empty", {"../empty: expected a folder with cases, files NAME.regress.json"}});
  expect_refused({"no file", "regress ../none", {"../none: expected a regression case, got no such file"}});
  write_case("bad", R"({"digest": true})");
  expect_refused({"over a case", "regress ../cases --junit ../cases/bad.regress.json", {"--junit"}});
}

/// A table of measurements beside its case, and a platform beside the table.
TEST_F(RegressCli, MeasurementsAreACase) {
  write("cases/mine.csv",
        "suite,platform,arguments,metric,published,unit,tolerance,source\n"
        "mine,small.json,collective --op all_reduce --bytes 4KiB,rows[0].time_us,100,us,1%,me\n"
        "mine,small.json,collective --op all_reduce --bytes 64KiB,rows[0].time_us,112,us,1%,me\n");
  const auto told = [this](const std::string& bounds, int code) {
    write("cases/m.regress.json", R"({"validate": {"table": "mine.csv")" + bounds + "}}");
    return regress("../cases", code)["cases"][0];
  };
  const json own = told("", 1);
  ASSERT_EQ(own["metrics"].size(), 2U);
  EXPECT_NE(own["metrics"][0]["message"].get<std::string>().find("expected 100.0 within 1%, got 1"), std::string::npos);
  EXPECT_EQ(own["metrics"][1]["message"], "expected 2 rows, got 1");
  const json both = told(R"(, "mean_error": "10%", "row_error": "20%")", 0);
  ASSERT_EQ(both["metrics"].size(), 2U);
  EXPECT_EQ(both["metrics"][0]["metric"], "mine mean |error|");
  const json row = told(R"(, "suite": "mine", "row_error": "5%")", 1);
  EXPECT_TRUE(row["metrics"][0]["message"].get<std::string>().starts_with("expected at most 5%, got 1")) << row;
  const json mean = told(R"(, "row_error": "20%", "mean_error": "2%")", 1);
  EXPECT_TRUE(mean["metrics"][0]["message"].get<std::string>().starts_with("expected at most 2%, got ")) << mean;
  EXPECT_EQ(told(R"(, "suite": "none")", 1)["message"], "--suite: expected one of mine, got \"none\"");
}

TEST_F(RegressCli, ASignalEndsIt) {
  write_case("slow", R"({"collective": {"op": "all_reduce", "bytes": "64GiB"}, "metrics": {"us": "rows.0.time_us"}})");
  write_case("quick", R"({"metrics": {"us": "rows.0.time_us"}})");
  // When the quick one is done, as the line says that tells how far it is.
  const Ran ran = run("sh -c 'WEFT_HEARTBEAT=0.1 " WEFT_BINARY
                      " regress ../cases --jobs 1 --update --junit j.xml --json 2>../told & "
                      "for i in $(seq 600); do grep -q \"1 of 2 cases\" ../told && break; sleep 0.1; done; "
                      "kill -TERM $!; wait $!; echo $? >&2'");
  EXPECT_TRUE(ran.err.ends_with("143\n")) << ran.err;
  EXPECT_TRUE(read("told").ends_with("weft: ended by SIGTERM: 1 of 2 cases are done\n")) << read("told");
  const json told = json::parse(ran.out);
  EXPECT_EQ(told["partial"]["done"], "1 of 2 cases are done");
  EXPECT_TRUE(told["pass"].is_null());
  EXPECT_TRUE(nothing_written());
  EXPECT_EQ(read("cases/quick.regress.json").find("golden"), std::string::npos);
}

/// Text of a user's, whose comments, strings and other members named golden are no golden values.
TEST(GoldenText, ReplacesTheirValueAlone) {
  const ordered_json golden = {{"us", 1.5}};
  const std::string written = "{\n    \"us\": 1.5\n  }";
  EXPECT_EQ(regress::with_golden("{\"digest\": true}", golden), "{\"digest\": true,\n  \"golden\": " + written + "\n}");
  EXPECT_EQ(regress::with_golden("{\"a\": \"}\\\"golden\", \"golden\": {\"us\": {}}, \"b\": [1] }", golden),
            "{\"a\": \"}\\\"golden\", \"golden\": " + written + ", \"b\": [1] }");
  EXPECT_EQ(regress::with_golden("// golden\n{\"a\": {\"golden\": 1} /* , */,\n \"golden\" : null // }\n}\n", golden),
            "// golden\n{\"a\": {\"golden\": 1} /* , */,\n \"golden\" : " + written + " // }\n}\n");
  EXPECT_EQ(regress::with_golden("{\"a\": 12 // last\n}", golden),
            "{\"a\": 12, // last\n  \"golden\": " + written + "\n}");
  EXPECT_EQ(regress::with_golden("{\"gold\\u0065n\": 1}", golden), "{\"gold\\u0065n\": " + written + "}");
  const std::string lines = "{\r\n    \"us\": 1.5\r\n  }";
  EXPECT_EQ(regress::with_golden("{\"a\": 12 // last\r\n}\r\n", golden),
            "{\"a\": 12, // last\r\n  \"golden\": " + lines + "\r\n}\r\n");
  EXPECT_EQ(regress::with_golden("{\"a\": 12\r\n}", golden), "{\"a\": 12,\r\n  \"golden\": " + lines + "\r\n}");
  EXPECT_EQ(regress::with_golden("{\r\n\"golden\": 12}", golden), "{\r\n\"golden\": " + lines + "}");
}

}  // namespace
}  // namespace weft
