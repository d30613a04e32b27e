// SPDX-License-Identifier: Apache-2.0
#include "traces/files/kind/file_kind.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "traces/csv.h"
#include "traces/files/format_error.h"
#include "traces/files/gzip_file.h"
#include "traces/files/input_file.h"
#include "traces/files/text_file.h"
#include "traces/memory_trace.h"

namespace weft::traces {
namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;

class FileKindTest : public testing::Test {
 protected:
  FileKindTest()
      : folder_(testing::TempDir() + "file_kind_" + testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~FileKindTest() override { fs::remove_all(folder_); }

  fs::path write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return folder_ / name;
  }
  fs::path write_gzip(const std::string& name, const std::string& text) {
    GzipFile file(folder_ / name);
    file.write(text);
    file.close();
    return folder_ / name;
  }
  static std::string stored(const fs::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  static std::string error_of(const std::function<void()>& action) {
    try {
      action();
    } catch (const FormatError& error) {
      return error.what();
    }
    return "no error";
  }

  fs::path folder_;
};

TEST_F(FileKindTest, IsToldByTheFirstBytes) {
  const std::vector<std::pair<std::string, FileKind>> cases = {
      {"", FileKind::kEmpty},
      {"\x07\x0a\x05"
       "0.0.4"
       "\x04\x08\x01\x18\x04"s,
       FileKind::kChakra},
      {"\0\x04\x08\x01\x18\x04"s, FileKind::kChakra},  // empty metadata
      {R"({"metadata": {"version": "1.0.0"}, "nodes": [{"id": 1}]})", FileKind::kChakraJson},
      {"{\n  \"version\": \"0.0.4\"\n}\n{\n  \"id\": \"1\", \"type\": \"COMP_NODE\"\n}\n", FileKind::kChakraJsonizer},
      {R"([{"version": "0.0.4"}, {"id": "1", "type": "COMP_NODE"}])", FileKind::kChakraJsonizer},
      {R"({"schema": "1.1.1-chakra.0.0.4", "pid": 3, "nodes": [{"id": 1}]})", FileKind::kPyTorchTrace},
      {R"({"schemaVersion": 1, "deviceProperties": [], "traceEvents": [{"ph": "X"}]})", FileKind::kKineto},
      {R"({"traceEvents": [{"ph": "X"}]})", FileKind::kTimeline},
      {R"([{"ph": "X", "ts": 1}])", FileKind::kTimeline},
      {"num_ranks 2\nrank 0 {\n}\n", FileKind::kGoal},
      {"// mine\n{ /* \"nodes\": [ */ \"accelerators\" /* 4 */: 4 }", FileKind::kPlatform},
      {"{ // {\"nodes\": 1}\n\"layers\": [] }", FileKind::kLayers},
      {"/* made by schedgen */\n// 2 ranks\nnum_ranks 2\n", FileKind::kGoal},
      {"\x7f\x10\0\0\0\0\0\0\x02\0\0\0"s, FileKind::kGoalBinary},
      {"HYBRID_TRANSFORMER model_parallel_NPU_group: 4\n1\n", FileKind::kTextWorkload},
      {"comm_type,comm_group,msg_size\nall_reduce,tp_group,1024\n", FileKind::kWorkloadSpecification},
      {"# requests\nR 0x1f40\nW 8000 12.5\n", FileKind::kMemoryTrace},
      {"$date today $end\n$timescale 1ns $end\n", FileKind::kVcd},
      {"\n  $timescale\n 1ns $end\n", FileKind::kVcd},
      {"\0\0\0\0\0\0\0\x01\x49\0\0"s, FileKind::kFst},
      {"\xfe"s + std::string(16, '\0') + "\x1f\x8b\x08", FileKind::kFst},
      {"GHDLwave\n\x10\x22"s, FileKind::kGhw},
      {R"({"name": "a", "accelerators": 8, "fabric": {}})", FileKind::kPlatform},
      {R"({"scheduling-policy": "LIFO", "all-reduce-implementation": ["ring"]})", FileKind::kSystemFile},
      {"topology: [ Ring ]\nnpus_count: [ 2 ]\n", FileKind::kNetworkFile},
      {R"({"topology": ["Ring"], "npus_count": [4], "bandwidth": [50], "latency": [500]})", FileKind::kNetworkJson},
      {R"({"1": [0, 1], "2": [2, 3]})", FileKind::kGroups},
      {R"({"weft": {"version": "1"}, "accelerators": 8, "nodes": 3})", FileKind::kResult},
      {R"({"weft": {"version": "1"}, "file": "a.json", "platform": {"accelerators": 8}, "values": {}})",
       FileKind::kPlatform},
      {R"({"name": "a", "workload": {"kind": "fsdp"}})", FileKind::kPlatform},
      {R"({"batch": 16, "layers": [{"layer": "a"}]})", FileKind::kLayers},
      {R"({"layers": 2, "d_model": 64})", FileKind::kTransformer},
      {"name,layers,d_model\nmine,2,64\n", FileKind::kTransformer},
      {"layer,kind,channels_in,channels_out\na,linear,3,4\n", FileKind::kLayers},
      {"# of a graph\nbetween,link.rate\n\"e0 s0\",400Gbps\n", FileKind::kEdges},
      {"between;link.rate\na b;400Gbps\n", FileKind::kEdges},
      {"link,utilisation,packets\nnic0 out,0.1,5\n", FileKind::kLinkTable},
      {"suite,platform,arguments,metric,published,unit,tolerance,source\n", FileKind::kMeasurements},
      {"FF V2\nPACKET_PAYLOAD_SIZE 1000\nTOPOLOGY_FILE a.txt\n", FileKind::kNs3Config},
      {"# made by hand\nNodes 8\nTiers 2\nPodsize 8\nTier 0\n", FileKind::kHtsimTree},
      {"nodes 8\nTier 0\n", FileKind::kHtsimTree},
      {"Nodes of a graph\n", FileKind::kText},
      {"PAGE 3\n", FileKind::kText},
      {"# put together\n\xEF\xBB\xBF\n", FileKind::kText},
      {"a,linked\n1,2\n", FileKind::kCsv},
      {R"({"metadata": {}, "nodes": []})" + std::string(9, '\0'), FileKind::kChakraJson},
      {R"({"a": 1})", FileKind::kJson},
      {"a: 1\nb: 2\n", FileKind::kYaml},
      {"<algo name=\"ring\">", FileKind::kXml},
      {"from,to,rate\na,b,3\n", FileKind::kCsv},
      {"Some words, and more.\nA line without any.\n", FileKind::kText},
      {"\xfd"
       "7zXZ\0 "s,
       FileKind::kXz},
      {"BZh91AY", FileKind::kBzip2},
      {"\x28\xb5\x2f\xfd\x04"s, FileKind::kZstd},
      {"PK\x03\x04"s, FileKind::kZip},
      {std::string(257, 'n') + "ustar", FileKind::kTar},
      {"SQLite format 3\0"s, FileKind::kSqlite},
      {"\x7f"
       "ELF\x02",
       FileKind::kElf},
      {"\x80\x04\x95\x10"s, FileKind::kPickle},
      {"\x89PNG\r\n\x1a\n", FileKind::kPicture},
      {"\xff\xff\xff\xff\xff\xff\xff"s, FileKind::kBinary},
      {std::string(100'000, '\0'), FileKind::kBinary},
  };
  for (const auto& [bytes, kind] : cases) {
    const fs::path plain = write("plain", bytes);
    EXPECT_EQ(guess(plain).kind, kind) << bytes << ": " << describe(guess(plain));
    EXPECT_FALSE(guess(plain).is_gzip);
    const FileGuess packed = guess(write_gzip("packed", bytes));
    EXPECT_EQ(packed.kind, kind) << bytes;
    EXPECT_TRUE(packed.is_gzip);
  }
}

TEST_F(FileKindTest, NamesTheFileAndTheCommandThatHelps) {
  const auto refused = [](const fs::path& file) {
    return error_of([&] { refuse(file, "a Chakra trace", guess(file)); });
  };
  const fs::path fst = write("a b.fst", "\0\0\0\0\0\0\0\x01\x49"s);
  EXPECT_EQ(refused(fst), fst.string() + ": expected a Chakra trace, got an FST waveform; fst2vcd '" + fst.string() +
                              "' | weft vcd info - reads it (fst2vcd comes with GTKWave)");
  const fs::path text = write("moe.v2.txt", "MICRO\n1\n");
  EXPECT_EQ(refused(text), text.string() +
                               ": expected a Chakra trace, got a text workload of ASTRA-sim 1.0 or SimAI; " +
                               "weft trace convert " + text.string() + " moe --ranks N makes Chakra traces of it");
  const fs::path packed = write_gzip("a.vcd.gz", "$date $end\n");
  EXPECT_EQ(refused(packed), packed.string() +
                                 ": expected a Chakra trace, got a VCD waveform, packed with gzip; weft vcd info " +
                                 packed.string() + " reads it");
  EXPECT_EQ(refused(folder_), folder_.string() + ": expected a Chakra trace, got a folder; name a file in it");
  const fs::path other = write("x", "hello\x1b world\n");
  EXPECT_EQ(refused(other), other.string() + ": expected a Chakra trace, got text that begins with \"hello? world\"");
}

TEST_F(FileKindTest, ReadsGzipAsItsContent) {
  std::string text;
  for (int i = 0; i < 100000; ++i) text += std::to_string(i) + "\n";
  EXPECT_EQ(read_text(write("plain", text), "numbers"), text);
  const fs::path packed = write_gzip("packed", text);
  EXPECT_EQ(read_text(packed, "numbers"), text);
  // Members follow each other, as of logs that were appended to, and zeros may follow these.
  const fs::path twice = write("twice", stored(packed) + stored(packed) + std::string(512, '\0'));
  EXPECT_EQ(read_text(twice, "numbers"), text + text);

  InputFile file(packed);
  EXPECT_EQ(file.peek(4), "0\n1\n");
  EXPECT_FALSE(file.rest());
  std::string read;
  char buffer[1000];
  for (std::size_t got = 0; (got = file.read(buffer, sizeof buffer)) > 0; file.park()) read.append(buffer, got);
  EXPECT_EQ(read, text);
  EXPECT_EQ(file.position(), text.size());
}

/// And what is something else is said to be that.
TEST_F(FileKindTest, TablesAndMemoryTracesMayBeGzip) {
  const CsvTable table = CsvTable::read(write_gzip("t.csv.gz", "a,b\n1,2\n"));
  ASSERT_EQ(table.size(), 1U);
  EXPECT_EQ(table[0].integer("b"), 2);
  EXPECT_NE(error_of([&] {
              CsvTable::read(write("t.csv", "num_ranks 2\nrank 0 {\n}\n"));
            }).find("expected a CSV file, got GOAL"),
            std::string::npos);
  EXPECT_TRUE(error_of([] { CsvTable::read("/dev/zero"); }).starts_with("/dev/zero:1: "));

  std::string requests = "# requests\n";
  for (int i = 0; i < 100'000; ++i) requests += "R 0x" + std::to_string(i) + "\n";
  const fs::path packed = write_gzip("r.trc.gz", requests);
  MemoryTrace trace(packed.string(), std::uint64_t{1} << 40);
  int read = 0;
  for (MemoryTrace::Entry entry; trace.next(entry);) ++read;
  EXPECT_EQ(read, 100'000);
  EXPECT_EQ(error_of([&] { MemoryTrace(write("r.trc", "$date $end\n").string(), 1); }),
            (folder_ / "r.trc").string() + ": expected a trace of memory requests, got a VCD waveform; weft vcd info " +
                (folder_ / "r.trc").string() + " reads it");
}

TEST_F(FileKindTest, TextInUtf16IsNamed) {
  const auto wide = [](const std::string& text, bool little) {
    std::string bytes;
    for (const char c : text) bytes += little ? std::string{c, '\0'} : std::string{'\0', c};
    return bytes;
  };
  const std::string text = "{\"nodes\": 1}";
  for (const std::string& bytes : {"\xff\xfe" + wide(text, true), "\xfe\xff" + wide(text, false), wide(text, true)}) {
    EXPECT_EQ(guess(std::string_view(bytes)).kind, FileKind::kUtf16);
  }
  EXPECT_EQ(error_of([&] { read_text(write("a.json", "\xff\xfe" + wide(text, true)), "JSON"); }),
            (folder_ / "a.json").string() + ": expected JSON, got text in UTF-16; iconv -f UTF-16 -t UTF-8 " +
                (folder_ / "a.json").string() + " makes UTF-8 of it, which is read");
}

TEST_F(FileKindTest, DamagedGzipIsAnError) {
  std::string text;
  for (int i = 0; i < 10000; ++i) text += std::to_string(i * 7919) + "\n";
  const std::string whole = stored(write_gzip("packed", text));
  const auto error = [&](const std::string& bytes) {
    const fs::path file = write("bad.gz", bytes);
    std::string said = error_of([&] { read_text(file, "numbers"); });
    return said.starts_with(file.string() + ": ") ? said.substr(file.string().size() + 2) : said;
  };
  for (const std::size_t size : {std::size_t{2}, std::size_t{9}, whole.size() / 2, whole.size() - 1}) {
    EXPECT_EQ(error(whole.substr(0, size)),
              "the gzip file ends within its data: it is truncated (gzip -t says the same)")
        << size;
  }
  std::string flipped = whole;
  flipped[whole.size() - 6] = static_cast<char>(flipped[whole.size() - 6] ^ 1);  // of the checksum
  EXPECT_TRUE(error(flipped).starts_with("the gzip file is damaged: ")) << error(flipped);
  EXPECT_EQ(error(whole + "more"), "the gzip file is damaged: bytes that are not gzip follow its end");
}

TEST_F(FileKindTest, ADocumentHasALimit) {
  const fs::path file = write_gzip("bomb.gz", std::string(1 << 20, ' '));
  EXPECT_LT(fs::file_size(file), 1 << 13);
  EXPECT_EQ(load_text(file, is_text, 1 << 19).got, "more than 524288 bytes");
}

TEST_F(FileKindTest, AFileThatChangesWhileItIsReadIsAnError) {
  const fs::path file = write("changes", std::string(100, 'a'));
  InputFile input(file);
  char buffer[10];
  EXPECT_EQ(input.read(buffer, sizeof buffer), sizeof buffer);
  EXPECT_EQ(input.rest(), 90U);
  input.park();
  write("changes", std::string(200, 'b'));
  EXPECT_EQ(error_of([&] { input.read(buffer, sizeof buffer); }), file.string() + ": was changed while it was read");
  EXPECT_EQ(error_of([&] { InputFile(folder_ / "none"); }),
            (folder_ / "none").string() + ": cannot open: No such file or directory");
}

}  // namespace
}  // namespace weft::traces
