// SPDX-License-Identifier: Apache-2.0
// Waveforms in gzip and FST, in and out, with programs of the test's own in the place of those of gtkwave.
#include "traces/vcd/input.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <zlib.h>

#include <cstdlib>
#include <thread>

#include "tests/support/vcd.h"
#include "traces/files/program.h"
#include "traces/vcd/output.h"
#include "traces/vcd/writer.h"

namespace weft::vcd {
namespace {

namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

constexpr const char* kText =
    "$timescale 1ns $end $var wire 4 ! a [3:0] $end $enddefinitions $end\n#0\nb1 !\n#5\nb10 !\n";
const std::string kFst(std::string("\0\0\0\0\0\0\0\1\x49", 9) + std::string(321, 'f'));

class VcdInput : public test::VcdTest {
 protected:
  VcdInput() {
    fs::create_directory(folder_ / "programs");
    const char* const path = std::getenv("PATH");
    path_ = path == nullptr ? "" : path;
  }
  ~VcdInput() override { setenv("PATH", path_.c_str(), 1); }

  /// Only what the test installs is there.
  void hide_programs() const { setenv("PATH", (folder_ / "programs").c_str(), 1); }
  void install(const std::string& name, const std::string& script) const {
    const std::string file = write("programs/" + name, "#!/bin/sh\nPATH='" + path_ + "'\n" + script + "\n");
    fs::permissions(file, fs::perms::owner_all);
    setenv("PATH", ((folder_ / "programs").string() + ":" + path_).c_str(), 1);
  }
  std::string gzip(const std::string& name, const std::string& text) const {
    gzFile file = gzopen((folder_ / name).c_str(), "wb");
    gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
    gzclose(file);
    return folder_ / name;
  }
  std::string binary(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return folder_ / name;
  }
  std::string why_not(const std::string& file) const {
    try {
      changes_of(file);
    } catch (const traces::FormatError& error) {
      return std::string(error.what()).substr(folder_.string().size() + 1);
    }
    return "";
  }
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  std::string path_;
};

TEST_F(VcdInput, ReadsGzip) {
  const Lines expected = changes_of(write("a.vcd", kText));
  // What it is, the first bytes say.
  EXPECT_EQ(changes_of(gzip("a.vcd.gz", kText)), expected);
  EXPECT_EQ(changes_of(gzip("named.vcd", kText)), expected);
  // In several pieces.
  const std::string text = kText;
  const std::string first = gzip("1.gz", text.substr(0, 40));
  const std::string second = gzip("2.gz", text.substr(40));
  ASSERT_EQ(std::system(("cat " + first + " " + second + " >" + (folder_ / "both.gz").string()).c_str()), 0);
  EXPECT_EQ(changes_of(folder_ / "both.gz"), expected);
  fs::resize_file(first, fs::file_size(first) - 5);
  EXPECT_NE(why_not(first).find("truncated"), std::string::npos) << why_not(first);
}

TEST_F(VcdInput, ReadsFstByItsProgram) {
  const std::string file = binary("a.fst", kFst);
  hide_programs();
  EXPECT_EQ(
      why_not(file),
      "a.fst: expected a VCD file, got FST, which fst2vcd of Debian's package gtkwave reads: install it, or convert "
      "the file where it is");
  write("text", kText);
  install("fst2vcd", "test $(wc -c <\"$1\") = 330 && cat " + (folder_ / "text").string());
  EXPECT_EQ(changes_of(file), changes_of(folder_ / "text"));
  // Only its beginning, of a program that would write for ever.
  install("fst2vcd", "cat " + (folder_ / "text").string() + "; while :; do echo '#6'; done");
  const Reader beginning(file);
  EXPECT_EQ(beginning.header().signals.size(), 1U);
  install("fst2vcd", "echo 'it cannot' >&2; exit 3");
  EXPECT_EQ(why_not(file), "a.fst: expected FST that fst2vcd reads; it says: it cannot");
  install("fst2vcd", "kill -SEGV $$");
  EXPECT_EQ(why_not(file), "a.fst: expected FST that fst2vcd reads; it ended with exit code 139");
}

/// The program goes back and forth in a file, which a pipe is none of.
TEST_F(VcdInput, ReadsFstFromPipesAndGzip) {
  write("text", kText);
  install("fst2vcd", "test -f \"$1\" && test $(wc -c <\"$1\") = 330 && cat " + (folder_ / "text").string());
  EXPECT_EQ(changes_of(gzip("b.fst.gz", kFst)), changes_of(folder_ / "text"));
  const std::string fifo = folder_ / "fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  const std::string file = binary("a.fst", kFst);
  std::thread writer([&] { std::ofstream(fifo, std::ios::binary) << std::ifstream(file, std::ios::binary).rdbuf(); });
  EXPECT_EQ(changes_of(fifo), changes_of(folder_ / "text"));
  writer.join();
}

TEST_F(VcdInput, NamesWhatIsNoWaveform) {
  EXPECT_EQ(why_not(folder_ / "none.vcd"), "none.vcd: expected a VCD file: No such file or directory");
  EXPECT_NE(why_not(binary("a.ghw", "GHDLwave\n\1\2")).find("a.ghw: expected a VCD file, got a GHW waveform of GHDL"),
            std::string::npos);
  EXPECT_NE(why_not(write("a.json", R"({"nodes": []})")).find("a.json: expected a VCD file, got "), std::string::npos);
  EXPECT_EQ(why_not(write("text.vcd", "hello\n")),
            "text.vcd:1: expected a keyword such as $var or $enddefinitions, got \"hello\"");
  EXPECT_EQ(why_not(write("empty.vcd", "")), "empty.vcd:1: expected $enddefinitions, got the end of the file");
}

void write_some(const fs::path& file, int changes) {
  Writer writer(file);
  const auto id = writer.bits("tb.a", 64);
  for (int i = 0; i < changes; ++i) writer.change(static_cast<std::uint64_t>(i), id, static_cast<std::uint64_t>(i));
  writer.close();
}

TEST_F(VcdInput, ReadsWhatItWrites) {
  constexpr int kMany = 40'000;  // more than the writer's buffer holds
  write_some(folder_ / "a.vcd", kMany);
  write_some(folder_ / "a.vcd.gz", kMany);
  EXPECT_LT(fs::file_size(folder_ / "a.vcd.gz"), fs::file_size(folder_ / "a.vcd") / 2);
  EXPECT_EQ(changes_of(folder_ / "a.vcd.gz"), changes_of(folder_ / "a.vcd"));
  // The text itself in the place of FST: what is written passes a pipe, and no VCD lies on the disk.
  install("vcd2fst", "test $1 = - && exec cat >$2");
  write_some(folder_ / "a.fst", kMany);
  EXPECT_EQ(changes_of(folder_ / "a.fst"), changes_of(folder_ / "a.vcd"));
  EXPECT_EQ(files(), 4U);
  // As other files are: a link is followed, and what is replaced keeps its permissions.
  fs::permissions(folder_ / "a.fst", fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("a.fst", folder_ / "link.fst");
  write_some(folder_ / "link.fst", 3);
  EXPECT_TRUE(fs::is_symlink(folder_ / "link.fst"));
  write_some(folder_ / "a.vcd", 3);
  EXPECT_EQ(changes_of(folder_ / "a.fst"), changes_of(folder_ / "a.vcd"));
  EXPECT_EQ(fs::status(folder_ / "a.fst").permissions(), fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink("/dev/null", folder_ / "null.fst");
  EXPECT_THROW(write_some(folder_ / "null.fst", 3), std::system_error);
}

TEST_F(VcdInput, LeavesNothingOfAFileThatFails) {
  install("vcd2fst", "echo 'it will not do' >&2; exit 3");
  // Seen while it is written, or at the end.
  EXPECT_THROW(write_some(folder_ / "a.fst", 400'000), std::runtime_error);
  try {
    write_some(folder_ / "a.fst", 1);
    ADD_FAILURE();
  } catch (const std::runtime_error& error) {
    EXPECT_EQ(std::string(error.what()), "cannot write " + (folder_ / "a.fst").string() + ": it will not do");
  }
  install("vcd2fst", "exec cat >$2");
  {
    Writer left(folder_ / "b.fst");
    left.change(0, left.bits("a"), 1);
  }
  EXPECT_EQ(files(), 1U);
  hide_programs();
  EXPECT_EQ(Output::missing_program("x.vcd"), "");
}

TEST_F(VcdInput, SaysWhichProgramIsMissing) {
  hide_programs();
  EXPECT_EQ(Output::missing_program("x.fst"), "vcd2fst");
  EXPECT_EQ(Output::missing_program("x.vcd.gz"), "");
  EXPECT_THROW(Writer(folder_ / "x.fst"), std::system_error);
  EXPECT_EQ(files(), 1U);
}

}  // namespace
}  // namespace weft::vcd
