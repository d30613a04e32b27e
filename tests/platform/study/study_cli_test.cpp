// SPDX-License-Identifier: Apache-2.0
// weft study and weft evaluate: what points say, and points that other programs ask for.
#include <gtest/gtest.h>

#include <sstream>

#include "tests/platform/study/study_cli.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using test::Ran;

/// Six points, one of which fails. The price falls where the time grows, but at 4KiB.
class StudyTables : public test::StudyCli {
 protected:
  void SetUp() override {
    write_study(
        R"j({"axes": {"fabric.link.rate": ["100Gbps", "200Gbps", "400Gbps"], "collective.bytes": ["64KiB", "1MiB"]},
        "constraints": ["fabric.link.rate < 300e9 || collective.bytes > 100000"],
        "zip": {"nic": ["connectx-7"]},
        "metrics": {"us": "rows.0.time_us", "price": "fabric.link.rate / 1e9 * 10 + (collective.bytes < 100000 ? 5000 : 0)",
                    "by": "rows.0.algorithm"}})j");
    ASSERT_EQ(weft_json("sweep ../s.json --db s.db")["done"], 5);
  }
};

TEST_F(StudyTables, ShowsAllPointsAndWhatMatters) {
  const Ran ran = weft("study s.db");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(ran.out.starts_with("s: 5 points, 0 of them failed\n\nkey")) << ran.out;
  EXPECT_NE(ran.out.find("fabric.link.rate"), std::string::npos);
  EXPECT_EQ(ran.out.find("  nic"), std::string::npos) << "which does not differ";
  EXPECT_NE(ran.out.find("\nthe same at all of them: nic connectx-7\n"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("us changes by %"), std::string::npos);
  EXPECT_NE(weft("study s.db --top 2").out.find("and 3 more\n"), std::string::npos);
  EXPECT_EQ(weft("study s.db --failed").out, "no point failed\n");
}

/// A program gets all rows, or as many as it asks for.
TEST_F(StudyTables, TopHoldsForJsonToo) {
  for (const char* const table :
       {"", "--best us", "--pareto us,price", "--group-by fabric.link.rate", "--sensitivity us"}) {
    SCOPED_TRACE(table);
    const std::size_t all = weft_json(std::string("study s.db ") + table)["rows"].size();
    ASSERT_GE(all, 2U);
    const json told = weft_json(std::string("study s.db --top 1 ") + table);
    EXPECT_EQ(told["rows"].size(), 1U);
    EXPECT_EQ(told["rows_left_out"], all - 1);
  }
}

/// What the study minimises and maximises says which end of a metric is best, unless the command line does.
TEST_F(StudyTables, FollowsTheSearchOfTheStudy) {
  write_study(
      R"j({"axes": {"collective.bytes": ["64KiB", "1MiB"], "seed": [1]}, "metrics": {"tps": "rows.0.time_us", "busbw": "rows.0.busbw"},
      "search": {"maximise": ["tps"], "minimise": ["busbw"], "method": "grid"}})j",
      "f.json");
  ASSERT_EQ(weft("sweep ../f.json --db f.db").code, 0);
  const auto first = [this](const std::string& goal) {
    return weft_json("study f.db " + goal)["rows"][0]["collective.bytes"].get<std::string>();
  };
  EXPECT_EQ(first("--best tps"), "1MiB");
  EXPECT_EQ(first("--best tps:min"), "64KiB");
  EXPECT_EQ(first("--best busbw"), "64KiB");
  EXPECT_EQ(first("--best busbw:max"), "1MiB");
  EXPECT_EQ(weft_json("study f.db --pareto tps,busbw")["rows"].size(), 2U);
  EXPECT_EQ(weft_json("study f.db --pareto tps:min,busbw")["rows"].size(), 1U);
  ASSERT_EQ(weft("study f.db --html f.html").code, 0);
  const std::string page = test::read_file(folder_ / "work" / "f.html");
  EXPECT_NE(page.find(R"("largest":["tps"])"), std::string::npos);
  EXPECT_NE(page.find(R"("same":"seed 1")"), std::string::npos);
  // A database of an earlier Weft does not say what is sought.
  query("f.db", "UPDATE study SET about=json_remove(about, '$.minimise', '$.maximise', '$.constants')");
  EXPECT_EQ(first("--best tps"), "64KiB");
  ASSERT_EQ(weft("sweep ../f.json --db f.db").code, 0);
  EXPECT_EQ(first("--best tps"), "1MiB");
}

/// A study whose sweep was ended says what it has not, in each form that it is shown in.
TEST_F(StudyTables, AnUnfinishedStudySaysSo) {
  EXPECT_EQ(weft("study s.db").out.find("unfinished"), std::string::npos);
  EXPECT_FALSE(weft_json("study s.db --best us").contains("unfinished"));
  // As a sweep leaves it that is killed after two of five points.
  query("s.db", "DELETE FROM points WHERE json_extract(parameters, '$.\"collective.bytes\"')='1MiB'");
  query("s.db", "UPDATE study SET about=json_set(about, '$.progress.is_done', json('false'), '$.progress.points', 5)");
  const std::string missing = "unfinished: 2 of 5 points; 3 not simulated yet\n";
  const Ran all = weft("study s.db");
  EXPECT_TRUE(all.out.starts_with("s: 2 points, 0 of them failed\n" + missing + "\nkey")) << all.out;
  for (const char* const table : {"--best us", "--pareto us,price", "--group-by collective.bytes", "--sensitivity us",
                                  "--failed", "--csv s.csv", "--html s.html"}) {
    SCOPED_TRACE(table);
    EXPECT_NE(weft(std::string("study s.db ") + table).out.find(missing), std::string::npos);
  }
  EXPECT_EQ(weft_json("study s.db --best us")["unfinished"], (json{{"points", 2}, {"of", 5}, {"missing", 3}}));
  EXPECT_NE(test::read_file(folder_ / "work" / "s.html").find("Unfinished: 2 of 5 points; 3 not simulated yet."),
            std::string::npos);
  ASSERT_EQ(weft("sweep ../s.json --db s.db").code, 0);
  EXPECT_EQ(weft("study s.db").out.find("unfinished"), std::string::npos);
}

TEST_F(StudyTables, BestAndPareto) {
  const json best = weft_json("study s.db --best us")["rows"];
  ASSERT_EQ(best.size(), 5U);
  for (std::size_t i = 1; i < best.size(); ++i) EXPECT_LE(best[i - 1]["us"], best[i]["us"]);
  const json dearest = weft_json("study s.db --best price:max")["rows"];
  EXPECT_EQ(dearest[0]["price"], 7000.0);
  const json front = weft_json("study s.db --pareto us,price")["rows"];
  // Small ones are faster and dearer; of the large ones none is both faster and cheaper.
  ASSERT_EQ(front.size(), 5U);
  EXPECT_EQ(weft_json("study s.db --pareto us:max,price")["rows"].size(), 1U);
}

TEST_F(StudyTables, GroupsAndSensitivity) {
  const json groups = weft_json("study s.db --group-by collective.bytes")["rows"];
  ASSERT_EQ(groups.size(), 2U);
  EXPECT_EQ(groups[0]["collective.bytes"], "64KiB");
  EXPECT_EQ(groups[0]["points"], 2);
  EXPECT_EQ(groups[0]["price min"], 6000.0);
  EXPECT_EQ(groups[0]["price mean"], 6500.0);
  EXPECT_EQ(groups[0]["price max"], 7000.0);
  EXPECT_EQ(groups[1]["points"], 3);
  const json lines = weft_json("study s.db --sensitivity us")["rows"];
  ASSERT_EQ(lines.size(), 2U);
  // From 100 to 400 Gb/s, at 1MiB, it changes more than from 64KiB to 1MiB at 100 and 200.
  EXPECT_EQ(lines[0]["parameter"], "fabric.link.rate");
  EXPECT_EQ(lines[0]["least at"], "400Gbps");
  EXPECT_EQ(lines[1]["least at"], "64KiB");
  EXPECT_GT(lines[0]["us changes by %"], lines[1]["us changes by %"]);
}

/// Points that a constraint leaves out do not confound what a parameter does: only points are compared that differ in
/// it alone.
TEST_F(StudyTables, SensitivityIsOfMatchedPairs) {
  const json table = weft_json("study s.db --sensitivity price");
  const json lines = table["rows"];
  ASSERT_EQ(lines.size(), 2U);
  for (const json& line : lines) {
    const bool is_rate = line["parameter"] == "fabric.link.rate";
    // At 64KiB there are 100 and 200 Gb/s; at 1MiB all three. The farthest are 100 and 400, which meet once.
    EXPECT_EQ(line["pairs"], is_rate ? 1 : 2) << line;
    EXPECT_EQ(line["mean at most"].get<double>() - line["mean there"].get<double>(), is_rate ? 3000.0 : 5000.0) << line;
    EXPECT_EQ(line["least at"], is_rate ? "100Gbps" : "1MiB");
  }
  EXPECT_EQ(table["notes"], json::array());
  // Diagonal points have no pair.
  write_study(
      R"j({"axes": {"seed": [1, 2], "collective.bytes": ["4KiB", "8KiB"]}, "zip": {"fabric.link.rate": ["100Gbps", "200Gbps"],
      "fabric.link.propagation": ["1us", "2us"]}, "constraints": ["(seed == 1) == (collective.bytes == 4096)"]})j",
      "d.json");
  ASSERT_EQ(weft("sweep ../d.json --db d.db").code, 0);
  const json told = weft_json("study d.db --sensitivity us");
  ASSERT_EQ(told["rows"].size(), 3U);
  EXPECT_EQ(told["rows"][0]["parameter"], "fabric.link.rate, fabric.link.propagation") << "a zip is one";
  EXPECT_EQ(told["rows"][0]["pairs"], 2);
  EXPECT_EQ(told["rows"][1]["pairs"], 0);
  EXPECT_EQ(told["rows"][1]["us changes by %"], nullptr);
  EXPECT_EQ(told["notes"][0],
            "no two points differ in this parameter alone, so only its rank correlation is known: seed; "
            "collective.bytes");
  EXPECT_EQ(told["columns"].back(), "rank correlation");
}

/// Of samples no two differ in one parameter alone: how the metric goes with each is told by ranks.
TEST_F(StudyTables, SamplesHaveRankCorrelations) {
  write_study(
      R"j({"latin_hypercube": {"points": 24, "ranges": {"fabric.link.rate": {"from": "100Gbps", "to": "400Gbps"},
      "seed": {"from": 1, "to": 1000}}}, "metrics": {"us": "rows.0.time_us", "rate": "fabric.link.rate * 2",
      "falls": "10 - fabric.link.rate / 1e11", "same": "3"}})j",
      "l.json");
  ASSERT_EQ(weft("sweep ../l.json --db l.db").code, 0);
  const auto of_rate = [this](const std::string& metric) {
    const json table = weft_json("study l.db --sensitivity " + metric);
    for (const json& line : table["rows"]) {
      EXPECT_EQ(line["pairs"], 0);
      if (line["parameter"] == "fabric.link.rate") return line["rank correlation"];
    }
    return json("no line");
  };
  EXPECT_EQ(of_rate("rate"), 1.0);
  EXPECT_EQ(of_rate("falls"), -1.0);
  EXPECT_EQ(of_rate("same"), nullptr) << "it does not vary";
  EXPECT_LT(of_rate("us"), -0.9);
  const json lines = weft_json("study l.db --sensitivity rate")["rows"];
  EXPECT_EQ(lines[0]["parameter"], "fabric.link.rate") << "the strongest first";
  EXPECT_LT(std::abs(lines[1]["rank correlation"].get<double>()), 0.7);
}

TEST_F(StudyTables, WhereLeavesPointsOut) {
  EXPECT_EQ(weft_json("study s.db --where 'collective.bytes < 100000'")["rows"].size(), 2U);
  EXPECT_EQ(weft_json("study s.db --where '!(collective.bytes < 100000)' --best us")["rows"].size(), 3U);
  EXPECT_EQ(weft_json("study s.db --where 'nic == \"connectx-7\" && price == 7000'")["rows"].size(), 1U);
  EXPECT_NE(weft("study s.db --where 'price == 7000'").out.find("s: 1 point, 0 of them failed"), std::string::npos);
  const auto refused = [this](const std::string& where, const std::string& message) {
    const Ran ran = weft("study s.db --where '" + where + "'");
    EXPECT_EQ(ran.code, 2);
    EXPECT_NE(ran.err.find("weft: --where: expected " + message), std::string::npos) << ran.err;
  };
  refused("prise > 1", "one of fabric.link.rate, collective.bytes, nic, us, price, by, got \"prise\"");
  refused("price >", "an expression, got \"price >\"");
  refused("price > 1e9", "an expression that some point meets, got \"price > 1e9\"");
  refused("by > 1", "a number or a quantity at by");
}

/// Rates are best when largest, times and prices when least, in tables and on the page.
TEST_F(StudyTables, KnowsWhichEndIsBest) {
  write_study(
      R"j({"axes": {"collective.bytes": ["64KiB", "1MiB"]}, "metrics": {"us": "rows.0.time_us", "speed_of_it": "rows.0.busbw",
      "mine": "rows.0.algbw * 2", "bytes_per_s": "collective.bytes / us * 1e6", "j_per_token": "1 / us",
      "tokens_per_s_per_gpu": "us * 1", "tflops_per_gpu": "us * 1", "mfu_percent": "us * 1",
      "us_per_gpu": "us * 1", "j_per_s_per_token": "us * 1"}})j",
      "b.json");
  ASSERT_EQ(weft("sweep ../b.json --db b.db").code, 0);
  const auto first = [this](const std::string& goal) {
    return weft_json("study b.db --best " + goal)["rows"][0]["collective.bytes"].get<std::string>();
  };
  EXPECT_EQ(first("us"), "64KiB");
  EXPECT_EQ(first("us:max"), "1MiB");
  EXPECT_EQ(first("speed_of_it"), "1MiB");
  EXPECT_EQ(first("speed_of_it:min"), "64KiB");
  EXPECT_EQ(first("bytes_per_s"), "1MiB");
  EXPECT_EQ(first("j_per_token"), "1MiB") << "least";
  for (const char* rate : {"tokens_per_s_per_gpu", "tflops_per_gpu", "mfu_percent"})
    EXPECT_EQ(first(rate), "1MiB") << rate;
  for (const char* cost : {"us_per_gpu", "j_per_s_per_token"}) EXPECT_EQ(first(cost), "64KiB") << cost;
  EXPECT_EQ(first("mine"), "64KiB") << "nothing says that it is a rate";
  EXPECT_NE(weft("study b.db --best speed_of_it").out.find("\nbest: largest speed_of_it\n"), std::string::npos);
  EXPECT_NE(weft("study b.db --pareto us,speed_of_it").out.find("\nbest: least us, largest speed_of_it\n"),
            std::string::npos);
  ASSERT_EQ(weft("study b.db --html b.html").code, 0);
  const std::string page = test::read_file(folder_ / "work" / "b.html");
  EXPECT_NE(
      page.find(R"("largest":["speed_of_it","bytes_per_s","tokens_per_s_per_gpu","tflops_per_gpu","mfu_percent"])"),
      std::string::npos);
  if (run("command -v chromium").code != 0) GTEST_SKIP() << test::kWithoutBrowser;
  // The end of each axis that is chosen at first: the time's least, the rate's largest.
  const Ran ran =
      run("timeout 120 chromium --headless --no-sandbox --disable-gpu --virtual-time-budget=2000 --dump-dom "
          "--user-data-dir=" +
          (folder_ / "profile").string() + " file://" + (folder_ / "work" / "b.html").string());
  EXPECT_NE(ran.out.find(R"(aria-label="which end"><option value="least" selected="">)"), std::string::npos) << ran.err;
  EXPECT_NE(
      ran.out.find(
          R"(aria-label="which end "><option value="least">least is best</option><option value="most" selected="">)"),
      std::string::npos)
      << ran.err;
}

/// What the points shown have in common is said once, and so is what has no value.
TEST_F(StudyTables, SaysWhatIsConstantAndWhatHasNoValue) {
  const std::string front = weft("study s.db --pareto us:max,price").out;
  EXPECT_NE(front.find("\nthe same at all of them: fabric.link.rate 100Gbps, collective.bytes 1MiB, nic connectx-7\n"),
            std::string::npos)
      << front;
  write_study(R"j({"axes": {"seed": [1, 2]}, "metrics": {"us": "rows.0.time_us", "odd": "1 / (2 - seed)"}})j",
              "n.json");
  ASSERT_EQ(weft("sweep ../n.json --db n.db").code, 0);
  const json best = weft_json("study n.db --best odd");
  EXPECT_EQ(best["rows"].size(), 1U);
  EXPECT_NE(best["notes"].dump().find("left out, without a value of odd: 1 point"), std::string::npos) << best["notes"];
}

TEST_F(StudyTables, OneTableAtATimeAndFilesBesideIt) {
  const Ran both = weft("study s.db --best us --pareto us,price");
  EXPECT_EQ(both.code, 2);
  EXPECT_EQ(both.err, "weft: --best, --pareto: expected one of them at a time\n");
  EXPECT_EQ(weft("study s.db --failed --group-by nic --csv t.csv").code, 2);
  EXPECT_FALSE(fs::exists(folder_ / "work" / "t.csv"));
  const Ran ran = weft("study s.db --best us --csv t.csv --html p.html");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_TRUE(ran.out.starts_with("wrote t.csv\nwrote p.html\nkey")) << ran.out;
  EXPECT_TRUE(fs::exists(folder_ / "work" / "t.csv"));
  EXPECT_TRUE(fs::exists(folder_ / "work" / "p.html"));
}

/// What an earlier Weft has stored is not guessed at.
TEST_F(StudyTables, AnEarlierSchemaIsRefused) {
  query("s.db", "PRAGMA user_version=1");
  const Ran ran = weft("study s.db");
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(
      ran.err,
      "weft: s.db: expected a database of schema 2, got one of schema 1, which an earlier Weft made; weft sweep STUDY "
      "--db FILE makes a new one\n");
}

TEST_F(StudyTables, WritesCsv) {
  EXPECT_EQ(weft("study s.db --csv t.csv").out, "wrote t.csv\n");
  const std::string text = test::read_file(folder_ / "work" / "t.csv");
  EXPECT_TRUE(text.starts_with("key,fabric.link.rate,collective.bytes,nic,us,price,by,status,digest,")) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 6);
  EXPECT_EQ(weft("study s.db --csv t.csv").code, 0) << "one of its own is replaced";
  write("work/own.csv", "a,b\n1,2\n");
  EXPECT_EQ(weft("study s.db --csv own.csv").code, 2);
}

/// In a browser without a screen, on a desk and on a phone: nothing is logged, and page_checks.js finds nothing wrong.
TEST_F(StudyTables, WritesAPage) {
  EXPECT_EQ(weft("study s.db --html p.html").out, "wrote p.html\n");
  std::string page = test::read_file(folder_ / "work" / "p.html");
  EXPECT_TRUE(page.starts_with("<!DOCTYPE html>\n"));
  EXPECT_EQ(page.find("http://"), page.find("http://www.w3.org")) << "it fetches nothing";
  if (run("command -v chromium").code != 0) GTEST_SKIP() << test::kWithoutBrowser;
  std::string checks = test::read_file(WEFT_SOURCE_DIR "/tests/platform/report/page_checks.js");
  for (const char* const of_a_report : {"    checkPath();\n", "    checkTables();\n", "    checkFlame();\n"}) {
    ASSERT_NE(checks.find(of_a_report), std::string::npos);
    checks.erase(checks.find(of_a_report), std::string(of_a_report).size());
  }
  page.insert(page.rfind("</body>"), "<script nonce=\"weft-report\">" + checks + "</script>");
  write("checked.html", page);
  for (const int width : {390, 1280}) {
    write("frame.html",
          "<!DOCTYPE html><script>onmessage = (told) => { document.body.innerHTML = told.data; };</script>"
          "<iframe src=\"checked.html\" height=\"900\" style=\"border:0\" width=\"" +
              std::to_string(width) + "\"></iframe>");
    const Ran ran =
        run("timeout 120 chromium --headless --no-sandbox --disable-gpu --enable-logging=stderr "
            "--virtual-time-budget=2000 --window-size=1400,1000 --dump-dom --user-data-dir=" +
            (folder_ / "profile").string() + " file://" + (folder_ / "frame.html").string());
    EXPECT_EQ(ran.err.find("CONSOLE"), std::string::npos) << ran.err;
    EXPECT_NE(ran.out.find(">checked</pre>"), std::string::npos) << ran.out.substr(ran.out.find("verdict"));
    EXPECT_NE(ran.out.find("data-sections=\"overview front parallel heat sensitivity points\""), std::string::npos);
  }
}

TEST_F(StudyTables, APointIsShownAndRepeated) {
  const json best = weft_json("study s.db --best us")["rows"][0];
  const Ran shown = weft("study s.db --point " + best["key"].get<std::string>());
  EXPECT_EQ(shown.code, 0) << shown.err;
  const std::size_t command = shown.out.find("weft collective ");
  ASSERT_NE(command, std::string::npos) << shown.out;
  const std::string line = shown.out.substr(command + 5, shown.out.find('\n', command) - command - 5);
  EXPECT_NE(line.find("--why --out point-"), std::string::npos) << line;
  EXPECT_EQ(weft_json(line)["rows"][0]["time_us"], best["us"]);
}

TEST_F(StudyTables, WhatIsWrongIsNamed) {
  const struct {
    const char* arguments;
    const char* message;
  } kBad[] = {
      {"study none.db", "none.db: expected a database of weft sweep, got no such file"},
      {"study s.db --best usec", "--best: expected one of us, price, by, got \"usec\""},
      {"study s.db --best us:most", "--best: expected METRIC, METRIC:min or METRIC:max, got \"us:most\""},
      {"study s.db --pareto us,", "--pareto: expected one of us, price, by, got \"\""},
      {"study s.db --group-by rate", "--group-by: expected one of "},
      {"study s.db --sensitivity rate", "--sensitivity: expected one of "},
      {"study s.db --point zz",
       "--point: expected the key of a point, or how one alone begins, got \"zz\", which 0 have"},
      {"study s.db --point ''", "--point"},
  };
  for (const auto& bad : kBad) {
    const Ran ran = weft(bad.arguments);
    EXPECT_EQ(ran.code, 2) << bad.arguments;
    EXPECT_NE(ran.err.find(bad.message), std::string::npos) << ran.err;
  }
}

class EvaluateCli : public test::StudyCli {
 protected:
  std::vector<json> ask(const std::string& lines, const std::string& options) {
    write("lines", lines);
    const Ran ran = run(WEFT_BINARY " evaluate ../small.json " + options + " < ../lines");
    EXPECT_EQ(ran.code, 0) << ran.err;
    told_ = ran.err;
    std::vector<json> answers;
    std::istringstream text(ran.out);
    for (std::string line; std::getline(text, line);) answers.push_back(json::parse(line));
    return answers;
  }
  std::string told_;  ///< on stderr
};

TEST_F(EvaluateCli, AnswersEachLineInOrder) {
  const std::string lines =
      "{\"collective.bytes\": \"16MiB\"}\n"
      "not json\n"
      "\n"
      "[1]\n"
      "{\"nic\": \"connectx-77\"}\n"
      "{\"collective.bytes\": \"64KiB\", \"fabric.link.rate\": \"100Gbps\"}\n"
      "{\"seed\": 1, \"seed\": 2}\n"
      "{}";
  for (const char* const jobs : {"1", "3"}) {
    SCOPED_TRACE(jobs);
    const std::vector<json> answers =
        ask(lines, std::string("--op all_reduce --metric us=rows.0.time_us --metric ns='us * 1000' --jobs ") + jobs);
    EXPECT_EQ(told_, "");
    ASSERT_EQ(answers.size(), 8U) << "one for each line";
    EXPECT_EQ(answers[0]["ns"].get<double>(), answers[0]["us"].get<double>() * 1000);
    EXPECT_NE(answers[1]["error"].get<std::string>().find("line 2"), std::string::npos) << answers[1];
    EXPECT_EQ(answers[2]["error"], "line 3: expected an object of overrides, PATH: VALUE, got nothing");
    EXPECT_EQ(answers[3]["error"], "line 4: expected an object of overrides, PATH: VALUE, got an array");
    EXPECT_NE(answers[4]["error"].get<std::string>().find("line 5: nic: expected a part of kind nic"),
              std::string::npos)
        << answers[4];
    EXPECT_LT(answers[5]["us"], answers[0]["us"]);
    EXPECT_NE(answers[6]["error"].get<std::string>().find("line 7"), std::string::npos) << answers[6];
    EXPECT_EQ(answers[7]["us"],
              weft_json("collective ../small.json --op all_reduce --bytes 1MiB")["rows"][0]["time_us"]);
  }
}

TEST_F(EvaluateCli, WithoutMetricsALineIsTheSummary) {
  const std::vector<json> answers = ask("{\"workload.layers\": 2}\n", "--steady");
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0]["simulator"]["digest"],
            run_json("../small.json --set workload.layers=2 --steady")["simulator"]["digest"]);
  const std::vector<json> wrong = ask("{}\n", "--metric x=energy.total");
  EXPECT_NE(wrong[0]["error"].get<std::string>().find("--metric: x: expected an axis, a value"), std::string::npos);
}

TEST_F(EvaluateCli, AnInfiniteMetricIsAnError) {
  const std::vector<json> answers =
      ask("{\"seed\": 1}\n{\"seed\": 2}\n", "--op all_reduce --metric 'x=1 / (seed - 1)'");
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_EQ(answers[0],
            json({{"x", nullptr},
                  {"error", "line 1: --metric: x: expected a finite number, got inf of \"1 / (seed - 1)\""}}));
  EXPECT_EQ(answers[1], json({{"x", 1}}));
  // The others stand.
  const json beside = ask("{\"seed\": 1}\n", "--op all_reduce --metric 'x=1 / (seed - 1)' --metric y=seed").at(0);
  EXPECT_EQ(beside["y"], 1);
  EXPECT_EQ(beside["x"], nullptr);
  EXPECT_EQ(beside["error"], answers[0]["error"]);
}

/// An object is merged, as a patch is; what is wrong has its line.
TEST_F(EvaluateCli, AnObjectIsMerged) {
  const std::vector<json> answers =
      ask("{\"fabric\": {\"link\": {\"rate\": \"100Gbps\"}}, \"collective\": {\"bytes\": \"1MiB\"}}\n"
          "{\"fabric.link.rate\": \"100Gbps\", \"collective.bytes\": \"1MiB\"}\n{\"platform\": \"nope\"}\n",
          "--op all_reduce --metric us=rows.0.time_us");
  ASSERT_EQ(answers.size(), 3U);
  EXPECT_GT(answers[0]["us"], 0) << answers[0];
  EXPECT_EQ(answers[0], answers[1]);
  EXPECT_TRUE(answers[2]["error"].get<std::string>().starts_with("line 3: ")) << answers[2];
}

/// In a line keys have no order, so that no value of two could be the last.
TEST_F(EvaluateCli, AFieldHasOneValueInALine) {
  const std::vector<json> answers =
      ask("{\"fabric.link.rate\": \"1Gbps\", \"fabric\": {\"link\": {\"rate\": \"2Gbps\"}}}\n{}\n",
          "--op all_reduce --metric us=rows.0.time_us --metric 'low=log2(0 * rows.0.time_us)'");
  EXPECT_EQ(answers[0]["error"], "line 1: fabric.link.rate: expected one value, got a second one in the same line");
  EXPECT_TRUE(answers[1]["low"].is_null());
  EXPECT_NE(answers[1]["error"].get<std::string>().find("low: expected a finite number, got -inf"), std::string::npos)
      << answers[1];
}

TEST_F(EvaluateCli, LimitsAreOfALine) {
  const std::vector<json> answers =
      ask("{\"collective.bytes\": \"64GiB\"}\n{}\n", "--op all_reduce --metric us=rows.0.time_us --time 1s");
  EXPECT_EQ(answers[0]["error"], "line 1: it takes longer than limits.time, 1s, allows");
  EXPECT_GT(answers[1]["us"], 0);
}

/// As a run does, and once.
TEST_F(EvaluateCli, SaysWhatIsWithoutEffect) {
  const std::vector<json> answers =
      ask("{\"nic.dcqcn.g\": 0.5}\n{\"nic.dcqcn.g\": 0.25}\n", "--op all_reduce --metric us=rows.0.time_us");
  EXPECT_EQ(answers.size(), 2U);
  EXPECT_EQ(told_, "weft: warning: line 1: nic.dcqcn.g: without effect: nic.congestion is none\n");
}

TEST_F(EvaluateCli, RefusesWrongOptions) {
  expect_refused({"no such path",
                  "evaluate ../small.json --set fabric.link.ratee=1 < /dev/null",
                  {"--set: fabric.link.ratee: expected a known key, got \"ratee\""}});
  expect_refused({"no such metric",
                  "evaluate ../small.json --op all_reduce --metric us=rows.0.time < /dev/null",
                  {"--metric: us: expected one of rows.N.algbw,"}});
  expect_refused({"a name of the answer",
                  "evaluate ../small.json --metric error=simulated_us < /dev/null",
                  {"--metric: expected another name than key, status, error"}});
  expect_refused({"no such size",
                  "evaluate ../small.json --op all_reduce --bytes 3B < /dev/null",
                  {"weft: --bytes: expected a multiple of the element's 4 bytes"}});
  expect_refused({"no metric", "evaluate ../small.json --metric x", {"--metric: expected NAME=TEXT, got \"x\""}});
  expect_refused({"a name twice",
                  "evaluate ../small.json --op all_reduce --metric us=1 --metric us=2 < /dev/null",
                  {"--metric: expected each name once, got \"us\" again"}});
  expect_refused({"a folder", "evaluate ../small.json < ..", {"standard input: expected lines, got Is a directory"}});
  expect_refused({"no path", "evaluate ../small.json --set =1", {"--set: expected NAME=TEXT"}});
  expect_refused({"no time", "evaluate ../small.json --time 1", {"--time: expected a quantity, got \"1\""}});
  expect_refused({"no platform", "evaluate smal", {"smal: expected a platform's file"}});
}

/// The page's example, in Python's standard library.
TEST_F(EvaluateCli, TheExampleFindsTheBest) {
  const Ran ran = run("WEFT=" WEFT_BINARY " python3 " WEFT_SOURCE_DIR "/docs/example/evaluate/search.py ../small.json");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.out.find("best: "), std::string::npos) << ran.out;
}

}  // namespace
}  // namespace weft
