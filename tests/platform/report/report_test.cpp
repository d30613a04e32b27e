// SPDX-License-Identifier: Apache-2.0
// weft report and weft run --report: one page with all that a run has left, which fetches nothing and takes names for
// text. Runs the binary.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>

#include "tests/support/cli.h"
#include "tests/support/files.h"

namespace weft {
namespace {

using nlohmann::json;
using test::Ran;

class ReportCli : public test::CliTest {
 protected:
  std::string run_page(const std::string& arguments) {
    const Ran ran = weft("run --out out --set workload.model=nano " + arguments);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return page();
  }
  std::string page() { return test::read_file(folder_ / "work" / "out" / "report.html"); }
  void overwrite(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / "work" / "out" / name) << text;
  }
  static json results_of(const std::string& page) {
    const std::string begins = "<script type=\"application/json\" id=\"results\" nonce=\"weft-report\">";
    const std::size_t from = page.find(begins);
    if (from == std::string::npos) {
      ADD_FAILURE() << "no results in the page";
      return {};
    }
    const std::size_t at = from + begins.size();
    return json::parse(page.substr(at, page.find("</script>", at) - at));
  }
  static std::size_t count(const std::string& text, const std::string& what) {
    std::size_t times = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++times;
    return times;
  }
  /// Three scripts and a style, whatever the results are.
  static void expect_three_scripts(const std::string& page) {
    EXPECT_EQ(count(page, "<script"), 3U);
    EXPECT_EQ(count(page, "</script"), 3U);
    EXPECT_EQ(count(page, "<style"), 1U);
    EXPECT_EQ(count(page, "<img"), 0U);
  }
};

TEST_F(ReportCli, HasAllOfARunInIt) {
  const std::string page = run_page("../small.json --why --report");
  const json results = results_of(page);
  const auto file = [this](const char* name) { return test::read_file(folder_ / "work" / "out" / name); };
  EXPECT_EQ(results["summary"], json::parse(file("summary.json")));
  EXPECT_EQ(results["why"], json::parse(file("why.json")));
  EXPECT_EQ(results["config"], json::parse(file("config.json")));
  EXPECT_EQ(results["pictures"]["network.svg"], file("network.svg"));
  EXPECT_EQ(results["pictures"]["timeline.svg"], file("timeline.svg"));
  EXPECT_EQ(results["links"]["rows"].size() + 1, count(file("links.csv"), "\n"));
  EXPECT_EQ(results["links"]["left_out"], 0);
  EXPECT_TRUE(results["why_words"].get<std::string>().starts_with("The critical path is "));
  EXPECT_EQ(results["why_words"].get<std::string>().find('\n'), std::string::npos);
  expect_three_scripts(page);
}

/// Links of the path bear the names of the table's, and pieces the words of weft why.
TEST_F(ReportCli, HasThePathAsWeftWhyTellsIt) {
  const json results = results_of(run_page("../small.json --set per_node=1 --why --report"));
  std::map<std::string, std::int64_t> on_links;
  for (const json& piece : results["why"]["pieces"]) {
    if (piece["on_link"] == true) on_links[piece["place"]] += piece["ps"].get<std::int64_t>();
  }
  ASSERT_FALSE(on_links.empty());
  EXPECT_EQ(results["on_path"], json(on_links));
  std::set<std::string> rows;
  for (const json& row : results["links"]["rows"]) rows.insert(row[0]);
  for (const auto& [link, ps] : on_links) EXPECT_TRUE(rows.contains(link)) << link;
  const std::string told = weft("why out --all").out;
  for (const json& piece : results["why"]["pieces"]) {
    const std::string words = results["words"][piece["network"].get<std::string>()][piece["kind"].get<std::string>()];
    EXPECT_NE(told.find("  " + words + " "), std::string::npos) << words;
  }
}

/// However little a link is used: of so many rows that a page has not all.
TEST_F(ReportCli, KeepsLinksOfThePath) {
  const json whole = results_of(run_page("../small.json --set per_node=1 --why --report"));
  std::string table = "link,utilisation\n";
  for (int i = 0; i < 6000; ++i) table += "other" + std::to_string(i) + ",0.9\n";
  for (const auto& [link, ps] : whole["on_path"].items()) table += link + ",0.0\n";
  overwrite("links.csv", table);
  EXPECT_EQ(weft("report out").code, 0);
  const json links = results_of(page())["links"];
  EXPECT_EQ(links["rows"].size(), 5000U);
  for (std::size_t i = 0; i < whole["on_path"].size(); ++i) {
    EXPECT_TRUE(whole["on_path"].contains(links["rows"][i][0].get<std::string>())) << links["rows"][i];
  }
}

TEST_F(ReportCli, TellsWhatHappenedWhen) {
  const json results = results_of(run_page("llama3-8b-fsdp-8xh100 --set workload.layers=1 --report"));
  const json& columns = results["over_time"]["columns"];
  const auto column = [&columns](const char* name) {
    return static_cast<std::size_t>(std::find(columns.begin(), columns.end(), name) - columns.begin());
  };
  double joules = 0;
  double computed_us = 0;
  double of_first_us = 0;
  double memory_gb = 0;
  double before_us = 0;
  for (const json& row : results["over_time"]["rows"]) {
    const auto cell = [&](const char* name) { return std::stod(row.at(column(name)).get<std::string>()); };
    const double span_us = cell("until_us") - before_us;
    EXPECT_GT(span_us, 0);
    joules += cell("power_w") * span_us * 1e-6;
    computed_us += cell("computing") * span_us;
    of_first_us += cell("computing_0") * span_us;
    memory_gb += cell("hbm_gb_per_s") * span_us * 1e-6;
    before_us = cell("until_us");
  }
  const json& summary = results["summary"];
  EXPECT_GT(results["over_time"]["rows"].size(), 5U);
  EXPECT_DOUBLE_EQ(before_us, summary["simulated_us"].get<double>());
  const double joules_known = summary["energy"]["total_j"].get<double>();
  EXPECT_NEAR(joules, joules_known, 1e-4 * joules_known);
  const double compute_us = summary["breakdown_us"]["compute"].get<double>();
  EXPECT_NEAR(computed_us, compute_us, 1e-3 * compute_us);
  EXPECT_NEAR(of_first_us, compute_us, 0.05 * compute_us);
  const double moved_gb = summary["memory"]["all"]["bytes"].get<double>() * 1e-9;
  EXPECT_NEAR(memory_gb, moved_gb, 1e-4 * moved_gb);
}

TEST_F(ReportCli, NeedsNothingButItself) {
  std::string page = run_page("../small.json --report");
  EXPECT_NE(page.find("default-src 'none'; style-src 'unsafe-inline'; script-src 'nonce-weft-report'; img-src data:"),
            std::string::npos);
  // D3 has names of XML as addresses, which nobody opens; the page itself has none.
  const std::size_t library = page.find("!function(){var d3=");
  ASSERT_NE(library, std::string::npos);
  page.erase(library, page.find("</script>", library) - library);
  const std::size_t results = page.find("id=\"results\"");
  page.erase(results, page.find("</script>", results) - results);
  for (const char* fetched :
       {"<link", "<iframe", "@import", "url(", "src=\"", "http-equiv=\"refresh\"", "<base", "fetch(", "XMLHttp"}) {
    EXPECT_EQ(count(page, fetched), 0U) << fetched;
  }
  EXPECT_FALSE(std::regex_search(page, std::regex("https?://"))) << "an address";
  for (const char* landmark : {"<html lang=\"en\">", "<header>", "<nav aria-label=", "<main id=", "<footer", "<h1>"}) {
    EXPECT_EQ(count(page, landmark), 1U) << landmark;
  }
}

TEST_F(ReportCli, IsTheSameAfterTheRun) {
  const std::string with = run_page("../small.json --why --report");
  std::filesystem::remove(folder_ / "work" / "out" / "report.html");
  const Ran ran = weft("report out");
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.out, "wrote out/report.html\n");
  EXPECT_EQ(page(), with);
  // It is of one run: the next one without it takes it away.
  weft("run ../small.json --out out --set workload.model=nano");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "work" / "out" / "report.html"));
}

TEST_F(ReportCli, TakesNamesForText) {
  const std::string hostile = "</script><script>alert('1')</script><img src=x onerror=alert(2)><!--{{library}}";
  json platform = json::parse(test::kSmall);
  platform["description"] = hostile;
  write("hostile.json", platform.dump());
  std::string page = run_page("../hostile.json --report");
  EXPECT_EQ(results_of(page)["summary"]["description"], hostile);
  EXPECT_NE(page.find("&lt;/script&gt;&lt;script&gt;alert('1')"), std::string::npos);
  expect_three_scripts(page);

  // Files may come from elsewhere.
  json summary = json::parse(test::read_file(folder_ / "work" / "out" / "summary.json"));
  summary["platform"] = hostile;
  summary["warnings"] = {hostile};
  overwrite("summary.json", summary.dump());
  overwrite("links.csv", "link,utilisation\n" + hostile + ",1\n");
  overwrite("network.svg", "<svg xmlns=\"x\">" + hostile);
  EXPECT_EQ(weft("report out").code, 0);
  page = this->page();
  EXPECT_EQ(results_of(page)["summary"]["platform"], hostile);
  EXPECT_EQ(results_of(page)["links"]["rows"][0][0], hostile);
  expect_three_scripts(page);
}

TEST_F(ReportCli, HasKernelsForARoofline) {
  const json summary = results_of(run_page("../small.json --report"))["summary"];
  const json& roofline = summary["roofline"];
  EXPECT_DOUBLE_EQ(roofline["tensor_16bit_flops"].get<double>(), 989.4e12);
  double flops = 0;
  double time_us = 0;
  for (const json& kernel : roofline["kernels"]) {
    SCOPED_TRACE(kernel["name"].get<std::string>());
    EXPECT_GT(kernel["count"], 0);
    EXPECT_GT(kernel["hbm_bytes"], 0);
    const double rate = kernel["flops"].is_null() ? 0 : kernel["flops"].get<double>() / kernel["time_us"].get<double>();
    EXPECT_LT(rate * 1e6, 989.4e12);
    const double moved = kernel["hbm_bytes"].get<double>() / (kernel["time_us"].get<double>() * 1e-6);
    EXPECT_LE(moved, roofline["hbm_bytes_per_s"].get<double>());
    time_us += kernel["time_us"].get<double>();
    flops += kernel["flops"].is_null() ? 0 : kernel["flops"].get<double>();
  }
  EXPECT_GT(flops, 0);
  // All of these kernels move something.
  EXPECT_NEAR(time_us / 4, summary["kernels"]["time_us"].get<double>(), 0.001);
}

TEST_F(ReportCli, IsOfAnalyticalNetworksToo) {
  write("ring.json", R"json({"network": "analytical", "analytical": {"dimensions": [
      {"block": "Ring", "size": 4, "bandwidth_GiBps": 50, "latency_ns": 500}], "end": {"peak_tflops": 100}}})json");
  const Ran ran = weft("run ../ring.json --out out --report --traces " WEFT_SOURCE_DIR "/docs/inputs/ddp");
  EXPECT_EQ(ran.code, 0) << ran.err;
  const json results = results_of(page());
  EXPECT_EQ(results["ends"]["rows"].size(), 4U);
  EXPECT_FALSE(results.contains("why"));
}

TEST_F(ReportCli, CountsCollectives) {
  json collectives = results_of(run_page("../small.json --report"))["summary"]["collectives_of_rank_0"];
  ASSERT_FALSE(collectives.empty());
  for (const json& kind : collectives) {
    EXPECT_TRUE(kind["operation"] == "all_gather" || kind["operation"] == "reduce_scatter") << kind;
    EXPECT_EQ(kind["ranks"], 4);
    EXPECT_GT(kind["count"], 0);
    // Faster than NVLink nothing comes.
    const double least = kind["count"].get<double>() * kind["bytes"].get<double>() * 3 / 4 / 450e9 * 1e6;
    EXPECT_GT(kind["time_us"].get<double>(), least) << kind;
  }
  weft(
      "run llama3-8b-tp8-fsdp8-64xh100 --set workload.layers=1 --set accelerators=8 --set workload.parallel=tp=8 "
      "--set workload.sequence=1024 --out out --report --timeline-ranks 0");
  collectives = results_of(page())["summary"]["collectives_of_rank_0"];
  ASSERT_FALSE(collectives.empty());
  for (const json& kind : collectives) EXPECT_EQ(kind["ranks"], 8) << kind;
}

TEST_F(ReportCli, HasAnotherRunBesideIt) {
  run_page("../small.json");
  weft("run ../small.json --out more --set workload.model=nano --set accelerators=8");
  const Ran ran = weft("report out more");
  EXPECT_EQ(ran.code, 0) << ran.err;
  const json results = results_of(page());
  EXPECT_EQ(results["summary"]["accelerators"], 4);
  EXPECT_EQ(results["other"]["summary"]["accelerators"], 8);
  const json comparison = json::parse(weft("compare out more --json").out)[0];
  for (const char* key : {"warnings", "work", "changed", "parts", "hint"}) {
    EXPECT_EQ(results["comparison"][key], comparison[key]) << key;
  }
  EXPECT_EQ(results["comparison"]["lines"][0], json({"  accelerators", "4", "8"}));
  EXPECT_FALSE(results["other"]["over_time"]["rows"].empty());
  EXPECT_EQ(weft("report out nowhere").err,
            "weft: nowhere: expected a folder of results of weft run, or of weft collective --out, got no such file or "
            "directory\n");
}

TEST_F(ReportCli, RefusesByName) {
  Ran ran = weft("report nowhere");
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.err,
            "weft: nowhere: expected a folder of results of weft run, or of weft collective --out, got no such file or "
            "directory\n");
  run_page("../small.json --why --report");
  overwrite("report.html", "<!DOCTYPE html>\n<p>My own notes.</p>\n");
  ran = weft("report out");
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("not a report of a run of Weft"), std::string::npos) << ran.err;
  std::filesystem::remove(folder_ / "work" / "out" / "report.html");
  overwrite("why.json", "{}");
  ran = weft("report out");
  EXPECT_EQ(ran.code, 2);
  EXPECT_EQ(ran.err, "weft: out/why.json: from_ps: expected a value, got none\n");
  overwrite("why.json", "");
  std::filesystem::remove(folder_ / "work" / "out" / "why.json");
  overwrite("links.csv", "link,utilisation\na,1,2\n");
  EXPECT_EQ(weft("report out").err,
            "weft: out/links.csv: expected as many cells in each row as in the first, got a row that differs\n");
}

}  // namespace
}  // namespace weft
