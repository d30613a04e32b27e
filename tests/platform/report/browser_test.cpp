// SPDX-License-Identifier: Apache-2.0
// The page of weft report in a browser without a screen: in light and dark, on a desk and on a phone, page_checks.js
// finds nothing wrong and nothing is logged. Skipped without Chromium (Debian's package chromium). WEFT_SCREENSHOTS
// names a folder to keep the pictures in.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>

#include "tests/support/cli.h"
#include "tests/support/files.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using test::Ran;

constexpr int kPhone = 390;
constexpr int kHalf = 500;  ///< a window beside another
constexpr int kDesk = 1280;

class ReportInBrowser : public test::CliTest {
 protected:
  void SetUp() override {
    if (run("command -v chromium").code != 0) GTEST_SKIP() << test::kWithoutBrowser;
  }

  /// `what` is done with the page, in dark or light.
  Ran browse(const std::string& what, const fs::path& page, bool dark) {
    const Ran ran =
        run("timeout 120 chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --enable-logging=stderr"
            " --virtual-time-budget=2000 --user-data-dir=" +
            (folder_ / "profile").string() + " --blink-settings=preferredColorScheme=" + (dark ? "0 " : "1 ") + what +
            " file://" + page.string());
    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.err.find("CONSOLE"), std::string::npos) << ran.err;
    return ran;
  }

  /// What page_checks.js leaves, with the page in a frame of this width.
  void expect_good(const std::string& name, int width, bool dark, const std::string& sections) {
    SCOPED_TRACE(name + " at " + std::to_string(width) + (dark ? " in the dark" : ""));
    const fs::path report = folder_ / "work" / name / "report.html";
    std::string page = test::read_file(report);
    const std::size_t end = page.rfind("</body>");
    ASSERT_NE(end, std::string::npos);
    page.insert(end, "<script nonce=\"weft-report\">" +
                         test::read_file(fs::path(WEFT_SOURCE_DIR) / "tests/platform/report/page_checks.js") +
                         "</script>");
    write("checked.html", page);
    write("frame.html",
          "<!DOCTYPE html><script>onmessage = (told) => { document.body.innerHTML = told.data; };</script>"
          "<iframe src=\"checked.html\" height=\"900\" style=\"border:0\" width=\"" +
              std::to_string(width) + "\"></iframe>");
    const Ran ran = browse("--window-size=1400,1000 --dump-dom", folder_ / "frame.html", dark);
    std::smatch verdict;
    ASSERT_TRUE(std::regex_search(ran.out, verdict,
                                  std::regex("<pre id=\"verdict\" data-sections=\"([^\"]*)\" "
                                             "data-dark=\"([^\"]*)\" data-width=\"([^\"]*)\">([^<]*)")))
        << ran.out.substr(0, 2000);
    EXPECT_EQ(verdict[1], sections);
    EXPECT_EQ(verdict[2], dark ? "true" : "false");
    EXPECT_EQ(verdict[3], std::to_string(width));
    EXPECT_EQ(verdict[4], "checked");
  }

  void take_picture(const std::string& name, int width, bool dark) {
    const std::string file = name + (dark ? "-dark-" : "-light-") + std::to_string(width) + ".png";
    browse("--window-size=" + std::to_string(width) + ",2400 --screenshot=" + (folder_ / file).string(),
           folder_ / "work" / name / "report.html", dark);
    constexpr std::uintmax_t kBlank = 40'000;  // bytes, which a page of one colour stays well below
    EXPECT_GT(fs::file_size(folder_ / file), kBlank) << file;
    if (const char* kept = std::getenv("WEFT_SCREENSHOTS"))
      fs::copy(folder_ / file, kept, fs::copy_options::overwrite_existing);
  }
};

TEST_F(ReportInBrowser, IsReadByEverybody) {
  nlohmann::json hostile = nlohmann::json::parse(test::kSmall);
  hostile["description"] = "</script><script>throw 1</script><img src=\"x\" onerror=\"throw 2\"><h6>";
  write("hostile.json", hostile.dump());
  for (const char* command : {"run ../hostile.json --why --out step",
                              "run ../small.json --set workload.model=nano --why --out other", "report step other"}) {
    const Ran ran = weft(command);
    ASSERT_EQ(ran.code, 0) << ran.err;
  }
  const std::string sections =
      "headline step collectives time compared path accelerators network memory energy kernels settings";
  for (const int width : {kDesk, kHalf, kPhone}) {
    for (const bool dark : {false, true}) {
      expect_good("step", width, dark, sections);
      take_picture("step", width, dark);
    }
  }
}

}  // namespace
}  // namespace weft
