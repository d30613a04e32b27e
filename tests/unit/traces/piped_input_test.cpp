// SPDX-License-Identifier: Apache-2.0
// What is read from pipes: by several readers, and beyond what is kept for them.
#include "traces/files/piped_input.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "traces/files/format_error.h"
#include "traces/files/input_file.h"
#include "traces/files/kind/file_kind.h"
#include "traces/files/text_file.h"

namespace weft::traces {
namespace {

namespace fs = std::filesystem;

class PipedInputTest : public testing::Test {
 protected:
  PipedInputTest() : fifo_(fs::temp_directory_path() / ("weft-piped-input-test-" + std::to_string(getpid()))) {
    fs::remove(fifo_);
    EXPECT_EQ(mkfifo(fifo_.c_str(), 0600), 0);
  }
  ~PipedInputTest() override { fs::remove(fifo_); }

  std::thread writes(const std::string& text) const {
    return std::thread([this, text] { std::ofstream(fifo_, std::ios::binary) << text; });
  }
  static std::string all_of(InputFile& input) {
    std::string text;
    std::array<char, 1000> block{};
    for (std::size_t got = 0; (got = input.read(block.data(), block.size())) > 0;) text.append(block.data(), got);
    return text;
  }

  const fs::path fifo_;
};

/// A file is looked at, and then read, by who does not know what it is.
TEST_F(PipedInputTest, IsReadFromItsBeginningByEachReader) {
  const std::string text = R"({"name": "a"})" + std::string(100'000, ' ');
  std::thread writer = writes(text);
  EXPECT_EQ(guess(fifo_).kind, FileKind::kJson);
  EXPECT_EQ(read_text(fifo_, "text"), text);
  InputFile first(fifo_);
  InputFile second(fifo_);
  EXPECT_TRUE(first.is_piped());
  EXPECT_FALSE(first.rest());
  EXPECT_EQ(first.peek(5), "{\"nam");
  second.park();
  EXPECT_EQ(all_of(second), text);
  EXPECT_EQ(all_of(first), text);
  writer.join();
}

TEST_F(PipedInputTest, IsKeptUpToALimit) {
  const std::string text(PipedInput::kMostKept + 3'000'000, 'x');
  std::thread writer = writes(text);
  InputFile behind(fifo_);
  EXPECT_EQ(behind.peek(10), std::string(10, 'x'));
  InputFile whole(fifo_);
  EXPECT_EQ(all_of(whole).size(), text.size());
  writer.join();
  try {
    all_of(behind);
    ADD_FAILURE() << "read twice";
  } catch (const FormatError& error) {
    EXPECT_EQ(error.what(), fifo_.string() +
                                ": is no file but a pipe, of which more than 64 MiB cannot be read twice: write it to "
                                "a file first");
  }
}

TEST_F(PipedInputTest, FoldersAndWhatIsNotThereAreNoFiles) {
  EXPECT_TRUE(is_file(fifo_));
  EXPECT_TRUE(is_file("/dev/null"));
  EXPECT_FALSE(is_file(fifo_.parent_path()));
  EXPECT_FALSE(is_file(fifo_.string() + ".none"));
}

}  // namespace
}  // namespace weft::traces
