// SPDX-License-Identifier: Apache-2.0
// Reading and writing Chakra files, JSON, and what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>

#include "tests/support/chakra.h"
#include "traces/chakra/check.h"
#include "traces/chakra/convert.h"
#include "traces/chakra/json.h"
#include "traces/chakra/window.h"

namespace weft::chakra {
namespace {

namespace fs = std::filesystem;
using test::chakra_node;
using test::ChakraTest;

class ChakraFile : public ChakraTest {
 protected:
  /// An attribute of each kind, with values at the edges of their ranges.
  static std::vector<Attribute> all_kinds() {
    std::vector<Attribute> attributes;
    const auto add = [&](ValueKind kind, Value value) {
      Attribute attribute;
      attribute.name = std::string(name_of(kind));
      attribute.kind = kind;
      attribute.value = std::move(value);
      attributes.push_back(std::move(attribute));
    };
    using Int32 = std::numeric_limits<std::int32_t>;
    using Int64 = std::numeric_limits<std::int64_t>;
    for (const ValueKind kind : {ValueKind::kInt32, ValueKind::kSint32, ValueKind::kSfixed32}) {
      add(kind, std::int64_t{Int32::min()});
      add(static_cast<ValueKind>(static_cast<int>(kind) + 1),
          std::vector<std::int64_t>{Int32::min(), -1, 0, Int32::max()});
    }
    for (const ValueKind kind : {ValueKind::kInt64, ValueKind::kSint64, ValueKind::kSfixed64}) {
      add(kind, Int64::min());
      add(static_cast<ValueKind>(static_cast<int>(kind) + 1),
          std::vector<std::int64_t>{Int64::min(), -1, Int64::max()});
    }
    for (const ValueKind kind : {ValueKind::kUint32, ValueKind::kFixed32}) {
      add(kind, std::uint64_t{UINT32_MAX});
      add(static_cast<ValueKind>(static_cast<int>(kind) + 1), std::vector<std::uint64_t>{0, 1, UINT32_MAX});
    }
    for (const ValueKind kind : {ValueKind::kUint64, ValueKind::kFixed64}) {
      add(kind, UINT64_MAX);
      add(static_cast<ValueKind>(static_cast<int>(kind) + 1), std::vector<std::uint64_t>{0, 1, UINT64_MAX});
    }
    add(ValueKind::kDouble, 0.1);
    add(ValueKind::kDoubleList, std::vector<double>{-0.0, 5e-324, -std::numeric_limits<double>::infinity()});
    add(ValueKind::kFloat, 0.1F);
    add(ValueKind::kFloatList, std::vector<float>{1e-45F, std::numeric_limits<float>::max(), INFINITY});
    add(ValueKind::kBool, false);
    add(ValueKind::kBoolList, std::vector<bool>{true, false, true});
    add(ValueKind::kString, std::string("Gr\xc3\xb6\xc3\x9f"
                                        "e \"x\"\n"));
    add(ValueKind::kStringList, std::vector<std::string>{"", "a"});
    add(ValueKind::kBytes, std::string("\x00\xff\x80", 3));
    add(ValueKind::kBytesList, std::vector<std::string>{"", std::string(1, '\0')});
    add(ValueKind::kUint64List, std::vector<std::uint64_t>{});
    attributes.emplace_back();
    attributes.back().name = "without value";
    attributes.back().doc_string = "said twice";
    return attributes;
  }

  static Node full_node() {
    Node node = chakra_node(UINT64_MAX, {1, 2, UINT64_MAX - 1});
    node.control_dependencies = {0, 7};
    node.type = static_cast<NodeType>(12);
    node.start_time_micros = 3;
    node.duration_micros = UINT64_MAX;
    node.inputs = InputOutput{"v", "s", "t", ""};
    node.outputs = InputOutput{};
    node.attributes = all_kinds();
    // Field 99, a varint of 5, and within messages: what a later schema may bring.
    const std::string unknown = "\x98\x06\x05";
    node.unknown = unknown;
    node.inputs->unknown = unknown;
    node.attributes[0].unknown = unknown;
    for (Attribute& attribute : node.attributes) {
      if (attribute.kind == ValueKind::kBoolList) attribute.list_unknown = unknown;
    }
    return node;
  }

  /// The whole file; what is wrong is thrown.
  void read_all(const std::string& content) const {
    const fs::path path = write_bytes(content);
    TraceReader reader(path);
    for (Node node; reader.next(node);) {
    }
  }

  std::string refused_bytes(const std::string& content) const {
    return refused([&] { read_all(content); });
  }
};

/// A metadata record of version "0.0.4".
const std::string kMetadata =
    "\x07\x0a\x05"
    "0.0.4";

TEST_F(ChakraFile, ReadsTheBytesOfTheStandard) {
  // The example of the format's description: id 3, a name, type 7, and comm_size as int64.
  const std::string node = std::string(
      "\x08\x03\x12\x01n\x18\x07\x52\x0f\x0a\x09"
      "comm_size\x48\x80\x80\x40",
      24);
  const std::vector<Node> nodes = read(write_bytes(kMetadata + static_cast<char>(node.size()) + node));
  ASSERT_EQ(nodes.size(), 1U);
  EXPECT_EQ(nodes[0].id, 3U);
  EXPECT_EQ(nodes[0].name, "n");
  EXPECT_EQ(nodes[0].type, NodeType::kCollective);
  EXPECT_EQ(nodes[0].comm_size(), 1 << 20);
  EXPECT_EQ(nodes[0].comm_type(), std::nullopt);
  EXPECT_EQ(TraceReader(file()).metadata().version, "0.0.4");
}

TEST_F(ChakraFile, EveryKindOfValueSurvives) {
  const std::vector<Node> written = {full_node(), chakra_node(0)};
  EXPECT_EQ(read(write(written)), written);
  // A node that is read into again forgets what it was.
  TraceReader reader(file());
  Node node;
  ASSERT_TRUE(reader.next(node));
  ASSERT_TRUE(reader.next(node));
  EXPECT_EQ(node, written[1]);
  EXPECT_FALSE(reader.next(node));
  EXPECT_FALSE(reader.next(node));
}

TEST_F(ChakraFile, EqualInputGivesEqualBytes) {
  const std::string first = bytes(write({full_node(), chakra_node(0)}));
  EXPECT_EQ(bytes(write({full_node(), chakra_node(0)})), first);
  EXPECT_EQ(files(), std::vector<std::string>{"w.0.et"});
}

TEST_F(ChakraFile, AnUnfinishedFileIsNotThere) {
  { const TraceWriter writer(file(), {}); }
  EXPECT_TRUE(fs::is_empty(folder_));
  EXPECT_THROW(TraceWriter(file("no/w.et"), {}), std::system_error);
}

TEST_F(ChakraFile, JsonKeepsEverything) {
  const fs::path trace = write({full_node(), chakra_node(0)});
  convert_trace(trace, file("w.json"), TraceFormat::kJson);
  convert_trace(file("w.json"), file("back.et"), TraceFormat::kProtobuf);
  EXPECT_EQ(bytes(file("back.et")), bytes(trace));
  const nlohmann::json json = nlohmann::json::parse(std::ifstream(file("w.json")));
  EXPECT_EQ(json["metadata"]["version"], "0.0.4");
  EXPECT_EQ(json["nodes"][0]["id"], UINT64_MAX);
  EXPECT_EQ(json["nodes"][0]["type"], 12);
  EXPECT_EQ(json["nodes"][1], nlohmann::json::parse(R"({"id": 0, "name": "n0", "type": "COMP_NODE"})"));

  // Without nodes, and a NaN.
  const fs::path empty = write({}, "empty.et");
  convert_trace(empty, file("empty.json"), TraceFormat::kJson);
  convert_trace(file("empty.json"), file("empty2.et"), TraceFormat::kProtobuf);
  EXPECT_EQ(bytes(file("empty2.et")), bytes(empty));
  const Node nan = node_from_json(nlohmann::json::parse(R"({"id": 1, "attr": [{"name": "x", "double_val": "NaN"}]})"));
  EXPECT_TRUE(std::isnan(std::get<double>(nan.attributes[0].value)));
  EXPECT_EQ(to_json(nan)["attr"][0]["double_val"], "NaN");
}

TEST_F(ChakraFile, RefusesOtherJson) {
  const auto said = [&](const std::string& json) {
    write_bytes(json, "w.json");
    std::string text = refused([&] { convert_trace(file("w.json"), file("back.et"), TraceFormat::kProtobuf); });
    EXPECT_EQ(files(), std::vector<std::string>{"w.json"});
    return text;
  };
  const auto node = [&](const std::string& members) {
    return said(R"({"metadata": {}, "nodes": [{)" + members + "}]}");
  };
  EXPECT_EQ(said("[]"), "w.json: expected a Chakra trace, got JSON");
  EXPECT_EQ(said(R"({"a": 1})"), "w.json: expected a Chakra trace, got JSON with the members a");
  EXPECT_EQ(said(R"({"nodes": []})"), "w.json: nodes: expected metadata before it");
  EXPECT_EQ(said(R"({"metadata": {}})"), "w.json: nodes: expected a list, got nothing");
  EXPECT_EQ(said(R"({"nodes": [], "metadata": {}})"), "w.json: nodes: expected metadata before it");
  EXPECT_EQ(said(R"({"metadata": {}, "nodes": 3})"), "w.json: nodes: expected a list");
  EXPECT_EQ(said(R"({"metadata": {}, "nodes": {}})"), "w.json: nodes: expected a list");
  EXPECT_EQ(said(R"({"metadata": {}, "node": []})"), "w.json: node: expected one of metadata, nodes");
  EXPECT_EQ(said(R"({"metadata": {"versoin": "1"}, "nodes": []})"),
            "w.json: metadata.versoin: expected one of version, attr, unknown");
  EXPECT_NE(said(R"({"metadata": {}, "nodes": [)").find("w.json: line 1, column"), std::string::npos);
  EXPECT_EQ(node(""), "w.json: nodes[0].id: expected the node's id, got nothing");
  EXPECT_EQ(node(R"("id": -1)"), "w.json: nodes[0].id: expected an integer from 0 to 18446744073709551615, got -1");
  EXPECT_EQ(node(R"("id": 1, "type": "COMP")"),
            "w.json: nodes[0].type: expected a node type such as COMP_NODE, or a number, got \"COMP\"");
  EXPECT_EQ(node(R"("id": 1, "data_deps": [1.5])"),
            "w.json: nodes[0].data_deps[0]: expected an integer from 0 to 18446744073709551615, got 1.5");
  EXPECT_EQ(node(R"("id": 1, "attr": [{"name": "x", "int32_val": 2147483648}])"),
            "w.json: nodes[0].attr[0].int32_val: expected an integer from -2147483648 to 2147483647, got 2147483648");
  EXPECT_EQ(node(R"("id": 1, "attr": [{"bytes_val": "0g"}])"),
            "w.json: nodes[0].attr[0].bytes_val: expected pairs of hexadecimal digits 0-9 and a-f, got \"0g\"");
  EXPECT_EQ(node(R"("id": 1, "attr": [{"bool_val": true, "int64_val": 1}])"),
            "w.json: nodes[0].attr[0].int64_val: expected one value, got bool_val as well");
  EXPECT_EQ(node(R"("id": 1, "attr": [{"float_val": 1e39}])"),
            "w.json: nodes[0].attr[0].float_val: expected a number of 32 bits, got 1e+39");
  EXPECT_NE(node(R"("id": 1, "unknown": "ff")").find("expected encoded fields"), std::string::npos);
}

TEST_F(ChakraFile, RefusesDamagedFiles) {
  EXPECT_EQ(refused([&] { TraceReader reader(file("none.et")); }), "none.et: cannot open: No such file or directory");
  fs::create_directory(file("folder"));
  EXPECT_EQ(refused([&] { TraceReader reader(file("folder")); }), "folder: expected a file, got a folder");
  EXPECT_EQ(refused_bytes(""), "w.0.et: is empty: expected a Chakra trace, which begins with its metadata");
  const std::string cut_length = "w.0.et: byte 8: the file ends within the length of a record: it is truncated";
  EXPECT_EQ(refused_bytes(kMetadata + "\x80"), cut_length);
  EXPECT_EQ(refused_bytes(kMetadata + "\xff\xff\xff\xff"), cut_length);
  EXPECT_EQ(refused_bytes(kMetadata + "\x80\x80\x80\x80\x80\x01"),
            "w.0.et: byte 8: expected the length of a record, got a number of more than 5 bytes");
  EXPECT_EQ(
      refused_bytes(kMetadata + "\x05\x08\x01"),
      "w.0.et: byte 8: the record is 5 bytes long and the file has only 2 more: it is truncated, or no Chakra trace");
  // As disks and preallocated files end: each byte would be a node of 75 bytes.
  EXPECT_EQ(
      refused_bytes(kMetadata + std::string("\x02\x08\x01", 3) + std::string(100, '\0')),
      "w.0.et: byte 11: expected a node, got a record of no bytes, as where zeros follow a trace: head -c 11 FILE "
      "keeps what is before it");
  EXPECT_EQ(refused_bytes(std::string(100, '\0')),
            "w.0.et: byte 1: expected a Chakra trace, got zeros from the first byte on: a copy that lost its contents");
  // 32 GiB, which nobody allocates.
  EXPECT_EQ(refused_bytes(kMetadata + "\xff\xff\xff\xff\x7f" + "abc"),
            "w.0.et: byte 8: the record is 34359738367 bytes long and the file has only 3 more: it is truncated, or no "
            "Chakra trace");
  EXPECT_EQ(refused_bytes(kMetadata + "\x03\x08\x05\x0f"),
            "w.0.et: byte 8: expected a node, got 3 bytes that are no such message (its id may be 5)");
  EXPECT_EQ(refused_bytes(kMetadata + "\x03\x12\x01\xff"),
            "w.0.et: byte 8: expected a node, got 3 bytes that are no such message");
  EXPECT_EQ(refused_bytes("\x02\x0f\x0f"),
            "w.0.et: byte 0: expected the metadata of a Chakra trace, got 2 bytes that are no such message");
  // A node in its place: its id and its type are no fields of the metadata.
  for (const std::string& node : {std::string("\x04\x08\x03\x18\x07"), std::string("\x02\x18\x04")}) {
    EXPECT_EQ(refused_bytes(node),
              "w.0.et: byte 0: expected the metadata of a Chakra trace, got a node: the metadata is missing");
  }
}

TEST_F(ChakraFile, RefusesALengthThatNoMessageCanHave) {
  // A sparse file of 3 GiB: the length fits into the file and into no message.
  write_bytes(kMetadata + "\x80\x80\x80\x80\x0a");
  fs::resize_file(file(), (std::uintmax_t{3} << 30U) + 13);
  EXPECT_EQ(refused([&] {
              TraceReader reader(file());
              Node node;
              reader.next(node);
            }),
            "w.0.et: byte 8: the record is 2684354560 bytes long, expected at most 2147483647");
}

TEST_F(ChakraFile, NoticesThatTheFileChanges) {
  std::vector<Node> nodes;
  for (std::uint64_t i = 0; i < 10'000; ++i) nodes.push_back(chakra_node(i));
  TraceReader reader(write(nodes));
  Node node;
  ASSERT_TRUE(reader.next(node));
  write({chakra_node(0)});
  EXPECT_EQ(refused([&] {
              while (reader.next(node)) {
              }
            }),
            "w.0.et: was changed while it was read");
}

TEST_F(ChakraFile, RecordsLargerThanTheBuffer) {
  std::vector<Node> nodes = {chakra_node(0), chakra_node(1), chakra_node(2)};
  nodes[1].name = std::string(1'000'000, 'x');
  nodes[1].data_dependencies.assign(100'000, 0);
  EXPECT_EQ(read(write(nodes)), nodes);
}

/// Attributes of a kind or value that their name does not allow.
TEST_F(ChakraFile, AccessorsNameNodeAndAttribute) {
  Node node = chakra_node(5);
  const auto said = [&](Attribute attribute, const auto& get) {
    node.attributes = {std::move(attribute)};
    try {
      static_cast<void>(get());
    } catch (const AttributeError& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  EXPECT_EQ(said(Attribute::text("comm_size", "1"), [&] { return node.comm_size(); }),
            "node 5 'n5': attribute comm_size: expected an integer, got string_val");
  EXPECT_EQ(said(Attribute::natural("comm_size", UINT64_MAX), [&] { return node.comm_size(); }),
            "node 5 'n5': attribute comm_size: expected at most 9223372036854775807, got 18446744073709551615");
  EXPECT_EQ(said(Attribute::integer("comm_type", 10), [&] { return node.comm_type(); }),
            "node 5 'n5': attribute comm_type: expected a collective, 0 to 9, got 10");
  EXPECT_EQ(said(Attribute::boolean("involved_dim", true), [&] { return node.involved_dim(); }),
            "node 5 'n5': attribute involved_dim: expected a list of booleans, got bool_val");
  EXPECT_EQ(said(Attribute::text("is_cpu_op", "no"), [&] { return node.is_cpu_op(); }),
            "node 5 'n5': attribute is_cpu_op: expected a boolean, got string_val");
  EXPECT_EQ(said(Attribute::boolean("pg_name", true), [&] { return node.pg_name(); }),
            "node 5 'n5': attribute pg_name: expected a string, got bool_val");
  node.duration_micros = UINT64_MAX;
  EXPECT_EQ(said(Attribute::boolean("x", true), [&] { return node.duration_nanos(); }),
            "node 5 'n5': duration_micros: expected at most 18446744073709551, got 18446744073709551615");

  node.duration_micros = 3;
  node.attributes = {Attribute::boolean("is_cpu_op", true), Attribute::text("pg_name", "0"),
                     Attribute::booleans("involved_dim", {true, false}), Attribute::natural("comm_tag", 7)};
  EXPECT_TRUE(node.is_cpu_op());
  EXPECT_EQ(node.pg_name(), "");
  EXPECT_EQ(node.involved_dim(), (std::vector<bool>{true, false}));
  EXPECT_EQ(node.comm_tag(), 7);
  EXPECT_EQ(node.comm_priority(), 0);
  EXPECT_EQ(node.duration_nanos(), 3000U);
  node.attributes = {Attribute::natural("duration_nanos", 2999), Attribute::integer("pg_name", 4)};
  EXPECT_EQ(node.duration_nanos(), 2999U);
  EXPECT_EQ(node.pg_name(), "4");
}

/// Every place to cut a file at is noticed, but for those between two records.
TEST_F(ChakraFile, RefusesEveryCutWithinARecord) {
  const std::string whole = bytes(write({full_node(), chakra_node(1), chakra_node(2)}));
  std::vector<std::size_t> ends;
  TraceReader reader(file());
  for (Node node; reader.next(node);) ends.push_back(reader.offset());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    if (std::find(ends.begin(), ends.end(), size) == ends.end()) {
      EXPECT_NE(refused_bytes(whole.substr(0, size)), "") << size;
    } else {
      EXPECT_NO_THROW(read_all(whole.substr(0, size))) << size;
    }
  }
}

/// Whatever the bytes are: read, checked and executed to the end, or refused by a FormatError.
TEST_F(ChakraFile, SurvivesRandomDamage) {
  Node full = full_node();
  full.control_dependencies = {2};
  full.data_dependencies = {1};
  const std::string whole = bytes(write({full, chakra_node(1), chakra_node(2, {1})}));
  std::mt19937 random(20260601);
  const auto draw = [&](std::size_t below) { return static_cast<std::size_t>(random()) % below; };
  int refusals = 0;
  constexpr int kRounds = 4000;
  for (int round = 0; round < kRounds; ++round) {
    std::string content = whole;
    for (std::size_t changes = 1 + draw(4); changes > 0; --changes) {
      const std::size_t at = draw(content.size());
      switch (draw(5)) {
        case 0:
          content[at] = static_cast<char>(draw(256));
          break;
        case 1:
          content[at] = static_cast<char>(static_cast<unsigned char>(content[at]) ^ (1U << draw(8)));
          break;
        case 2:
          content.erase(at, 1 + draw(8));
          break;
        case 3:
          content.insert(at, std::string(1 + draw(8), static_cast<char>(draw(2) != 0 ? 0xff : draw(256))));
          break;
        default:
          content += content.substr(at, draw(64));
      }
      if (content.empty()) content = "\x01";
    }
    write_bytes(content);
    try {
      TraceReader reader(file());
      std::size_t nodes = 0;
      for (Node node; reader.next(node); ++nodes) {
        // What was accepted can be written again, and read.
        static_cast<void>(to_json(node));
      }
      EXPECT_LE(nodes, content.size());
      static_cast<void>(check(find_trace(file())));
      TraceWindow window(file(), 2);
      while (const Node* node = window.next()) window.complete(node->id);
      EXPECT_TRUE(window.done());
    } catch (const traces::FormatError&) {
      ++refusals;
    }
  }
  // Most changes hit a length or a tag, and are noticed.
  EXPECT_GT(refusals, kRounds / 4);
  EXPECT_LT(refusals, kRounds);
}

TEST_F(ChakraFile, AstraSimsInputsStayWhatTheyAre) {
  if (test::skips_without_shared("astra", "ChakraFile's other tests keep every kind of value")) return;
  const fs::path inputs = test::shared("astra/inputs");
  std::size_t files = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(inputs)) {
    if (entry.path().extension() != ".et") continue;
    ++files;
    TraceReader reader(entry.path());
    TraceWriter writer(file(), reader.metadata());
    for (Node node; reader.next(node);) writer.write(node);
    writer.close();
    EXPECT_EQ(bytes(file()), bytes(entry.path())) << entry.path();
    convert_trace(entry.path(), file("w.json"), TraceFormat::kJson);
    convert_trace(file("w.json"), file("back.et"), TraceFormat::kProtobuf);
    EXPECT_EQ(bytes(file("back.et")), bytes(entry.path())) << entry.path();
    for (const char* const name : {"w.0.et", "w.json", "back.et"}) fs::remove(file(name));
  }
  EXPECT_GT(files, 400U);
}

}  // namespace
}  // namespace weft::chakra
