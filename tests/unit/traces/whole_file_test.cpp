// SPDX-License-Identifier: Apache-2.0
#include "traces/files/whole_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <thread>

#include "tests/support/files.h"
#include "tests/support/vcd.h"

namespace weft::traces {
namespace {

class WholeFiles : public test::VcdTest {
 protected:
  [[nodiscard]] std::ptrdiff_t files() const {
    const std::filesystem::directory_iterator all(folder_);
    return std::distance(begin(all), end(all));
  }
};

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
  EXPECT_EQ(files(), 1);
}

/// As two runs that were not told to write to different places.
TEST_F(WholeFiles, AreWholeWhenTwoAreWrittenAtOnce) {
  const auto file = folder_ / "a.txt";
  WholeFile first(file);
  WholeFile second(file);
  const std::string block(WholeFile::kBlock, 'x');
  first.write(block);
  second.write("second");
  first.write("first");
  second.close();
  EXPECT_EQ(test::read_file(file), "second");
  first.close();
  EXPECT_EQ(test::read_file(file), block + "first");
  EXPECT_EQ(files(), 1);
}

TEST_F(WholeFiles, FollowLinksAndKeepPermissions) {
  const auto file = folder_ / "a.txt";
  std::ofstream(file) << "old";
  constexpr auto kOwner = std::filesystem::perms::owner_read | std::filesystem::perms::owner_write;
  std::filesystem::permissions(file, kOwner);
  std::filesystem::create_symlink("a.txt", folder_ / "link");
  std::filesystem::create_symlink("new.txt", folder_ / "dangling");
  std::filesystem::create_symlink("loop", folder_ / "loop");
  for (const char* name : {"link", "dangling"}) {
    WholeFile whole(folder_ / name);
    whole.write(name);
    whole.close();
    EXPECT_TRUE(std::filesystem::is_symlink(folder_ / name));
  }
  EXPECT_EQ(test::read_file(file), "link");
  EXPECT_EQ(std::filesystem::status(file).permissions(), kOwner);
  EXPECT_EQ(test::read_file(folder_ / "new.txt"), "dangling");
  EXPECT_THROW(WholeFile(folder_ / "loop"), std::system_error);
}

TEST_F(WholeFiles, WriteToWhatIsNoFileAndNeverReplaceIt) {
  const auto fifo = folder_ / "fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  try {
    const WholeFile nobody(fifo);
    FAIL() << "nobody reads it";
  } catch (const std::system_error& error) {
    EXPECT_EQ(std::string(error.what()),
              "cannot write " + fifo.string() + ", which nobody reads: No such device or address");
  }
  std::string text;
  std::thread reader([&] { text = test::read_file(fifo); });
  WholeFile whole(fifo);
  whole.write("through it");
  whole.close();
  reader.join();
  EXPECT_EQ(text, "through it");
  EXPECT_TRUE(std::filesystem::is_fifo(fifo));

  WholeFile nowhere("/dev/null");
  nowhere.write("gone");
  nowhere.close();
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  WholeFile full("/dev/full");
  full.write("no room");
  EXPECT_THROW(full.close(), std::system_error);
  EXPECT_EQ(files(), 1);
}

/// What else is written there goes on behind it, as with /dev/stdout of a shell's `> file`.
TEST_F(WholeFiles, WriteToADescriptorWhereItStands) {
  const auto file = folder_ / "out.txt";
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT, 0600);
  ASSERT_EQ(::write(descriptor, "a", 1), 1);
  WholeFile whole("/dev/fd/" + std::to_string(descriptor));
  whole.write("b");
  whole.close();
  ASSERT_EQ(::write(descriptor, "c", 1), 1);
  ::close(descriptor);
  EXPECT_EQ(test::read_file(file), "abc");
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
