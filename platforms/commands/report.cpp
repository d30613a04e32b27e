// SPDX-License-Identifier: Apache-2.0
// weft report: what a run has left, as one page.
#include "platforms/results/report/report.h"

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "platforms/cli/output.h"
#include "platforms/cli/result_files.h"
#include "platforms/commands/command.h"
#include "platforms/results/write_file.h"

namespace weft::platforms {
namespace {

namespace fs = std::filesystem;

constexpr NamedResult kReport[] = {{"report.html", ResultKind::kReport}};

struct ReportOptions {
  std::string results;
  std::string other;
};

int report(const ReportOptions& options) {
  const fs::path results = options.results;
  nlohmann::ordered_json shown = read_results(results);
  if (!options.other.empty()) {
    put_beside(shown, results, read_results(options.other), options.other);
  }
  const std::string page = report_page(shown);
  ResultFiles files;
  write_file(files.folder("OUT", results, kReport) / "report.html", page);
  files.keep();
  print("wrote " + (results / "report.html").string() + "\n");
  return kDone;
}

}  // namespace

Command report_command(const Arguments& parent) {
  auto options = std::make_shared<ReportOptions>();
  const Arguments app = parent.add_subcommand("report", "Writes report.html, a page of what a run has left");
  app.add_option("OUT", options->results, "Folder of the results of weft run, where the page goes")
      .required()
      .type_name("FOLDER");
  app.add_option("OTHER", options->other, "Results of another run, to be shown beside it").type_name("FOLDER");
  return {app, [options] { return report(*options); }};
}

}  // namespace weft::platforms
