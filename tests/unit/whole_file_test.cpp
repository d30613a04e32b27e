// SPDX-License-Identifier: Apache-2.0
#include "traces/whole_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "tests/support/vcd.h"

namespace weft::traces {
namespace {

class WholeFiles : public test::VcdTest {};

TEST_F(WholeFiles, AppearWhenTheyAreClosed) {
  const auto file = folder_ / "a.txt";
  {
    WholeFile left(file);
    left.write("half");
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
  WholeFile whole(file);
  whole.write("all ");
  whole.write("of it");
  EXPECT_FALSE(std::filesystem::exists(file));
  whole.close();
  std::string text;
  std::getline(std::ifstream(file), text);
  EXPECT_EQ(text, "all of it");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "a.txt.part"));
}

/// Whatever room was asked for on the way.
TEST_F(WholeFiles, TakeNoMoreThanWasWritten) {
  const auto file = folder_ / "long.bin";
  const std::string block((1 << 20) + 1, 'x');
  constexpr int kBlocks = 70;
  WholeFile whole(file);
  for (int i = 0; i < kBlocks; ++i) whole.write(block);
  whole.close();
  const std::uintmax_t size = kBlocks * block.size();
  EXPECT_EQ(std::filesystem::file_size(file), size);
  struct stat status = {};
  ASSERT_EQ(stat(file.c_str(), &status), 0);
  constexpr std::uintmax_t kSector = 512;
  EXPECT_LT(static_cast<std::uintmax_t>(status.st_blocks) * kSector, size + (1 << 20));
}

TEST_F(WholeFiles, SayWhatTheyCannotWrite) {
  try {
    const WholeFile file(folder_ / "nowhere" / "a.txt");
    FAIL() << "no error";
  } catch (const std::system_error& error) {
    EXPECT_EQ(std::string(error.what()),
              "cannot write " + (folder_ / "nowhere" / "a.txt").string() + ": No such file or directory");
  }
}

}  // namespace
}  // namespace weft::traces
