// SPDX-License-Identifier: Apache-2.0
// Traces in other encodings than plain protobuf: JSON of several kinds, gzip, and what is none.
#include <gtest/gtest.h>

#include "tests/support/chakra.h"
#include "traces/chakra/convert.h"
#include "traces/chakra/groups.h"
#include "traces/chakra/json.h"
#include "traces/chakra/ranks.h"
#include "traces/chakra/window.h"
#include "traces/chakra/writer.h"

namespace weft::chakra {
namespace {

namespace fs = std::filesystem;
using test::chakra_node;
using test::ChakraTest;

class ChakraFormats : public ChakraTest {
 protected:
  /// The nodes of a text in some format.
  std::vector<Node> parse(const std::string& text) const { return read(write_bytes(text, "w")); }
  std::string refused_text(const std::string& text) const {
    return refused([&] { parse(text); });
  }

  static std::vector<Node> some_nodes() {
    Node full = chakra_node(1, {2, UINT64_MAX});
    full.name =
        "Gr\xc3\xb6\xc3\x9f"
        "e {\"x\"}]\n";
    full.control_dependencies = {0};
    full.start_time_micros = UINT64_MAX;
    full.duration_micros = 5;
    full.inputs = InputOutput{"v", "s", "t", ""};
    full.outputs = InputOutput{};
    const auto add = [&](ValueKind kind, Value value) {
      full.attributes.emplace_back();
      full.attributes.back().name = name_of(kind);
      full.attributes.back().kind = kind;
      full.attributes.back().value = std::move(value);
    };
    add(ValueKind::kDouble, 0.1);
    add(ValueKind::kFloat, 0.1F);
    add(ValueKind::kInt32, std::int64_t{-7});
    add(ValueKind::kInt64, INT64_MIN);
    add(ValueKind::kUint64, UINT64_MAX);
    add(ValueKind::kUint64List, std::vector<std::uint64_t>{1, UINT64_MAX});
    add(ValueKind::kBool, false);
    add(ValueKind::kBoolList, std::vector<bool>{true, false});
    add(ValueKind::kString, std::string());
    add(ValueKind::kStringList, std::vector<std::string>{"", "a"});
    add(ValueKind::kBytes, std::string("\x00\xff\x80", 3));
    return {full, chakra_node(0), chakra_node(2, {0}, NodeType::kMetadata)};
  }

  /// Writes a trace, converts it, and says whether converting the result gives the trace again, byte by byte.
  bool survives(const std::vector<Node>& nodes, TraceFormat format, const std::string& name) const {
    write(nodes, "t.et");
    convert_trace(file("t.et"), file(name), format);
    convert_trace(file(name), file("back.et"), TraceFormat::kProtobuf);
    return bytes(file("back.et")) == bytes(file("t.et"));
  }
};

TEST_F(ChakraFormats, EveryFormatKeepsAll) {
  for (const bool is_packed : {false, true}) {
    const std::string ending = is_packed ? ".gz" : "";
    EXPECT_TRUE(survives(some_nodes(), TraceFormat::kJson, "t.json" + ending));
    EXPECT_TRUE(survives(some_nodes(), TraceFormat::kJsonizer, "t.jsonizer" + ending));
    EXPECT_TRUE(survives(some_nodes(), TraceFormat::kProtobuf, "u.et" + ending));
    EXPECT_TRUE(survives({}, TraceFormat::kJsonizer, "t.jsonizer" + ending));
    EXPECT_EQ(bytes(file("t.json" + ending)).starts_with("\x1f\x8b"), is_packed);
  }
}

/// Records that begin, lie and end anywhere within what is read at a time.
TEST_F(ChakraFormats, LongTracesKeepAll) {
  std::vector<Node> nodes;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    nodes.push_back(chakra_node(i));
    nodes.back().name = std::string(i % 97, 'x') + "\\\"" + std::to_string(i);
  }
  nodes[1500].name = std::string(300'000, '{');
  EXPECT_TRUE(survives(nodes, TraceFormat::kJson, "t.json"));
  EXPECT_TRUE(survives(nodes, TraceFormat::kJsonizer, "t.jsonizer"));
  EXPECT_TRUE(survives(nodes, TraceFormat::kJson, "t.json.gz"));
  EXPECT_TRUE(survives(nodes, TraceFormat::kProtobuf, "u.et.gz"));
  EXPECT_EQ(read(file("t.json")), nodes);
}

TEST_F(ChakraFormats, ReadsTheJsonizersJson) {
  const std::string metadata = "{\n  \"version\": \"0.0.4\"\n}";
  const std::string first = R"({ "id": "1", "name": "a", "type": "COMP_NODE", "durationMicros": "5",
                                 "attr": [ { "name": "is_cpu_op", "boolVal": false } ] })";
  const std::string second = R"({ "id": "2", "name": "b", "type": "COMM_COLL_NODE", "dataDeps": [ "1" ],
      "attr": [ { "name": "comm_type", "int64Val": "0" }, { "name": "comm_size", "int64Val": "1024" } ] })";
  const std::vector<Node> nodes = parse(metadata + "\n" + first + "\n" + second + "\n");
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_EQ(nodes[0].id, 1U);
  EXPECT_EQ(nodes[0].duration_micros, 5U);
  EXPECT_FALSE(nodes[0].is_cpu_op());
  EXPECT_EQ(nodes[1].type, NodeType::kCollective);
  EXPECT_EQ(nodes[1].data_dependencies, (std::vector<std::uint64_t>{1}));
  EXPECT_EQ(nodes[1].comm_size(), 1024);
  EXPECT_EQ(TraceReader(file("w")).metadata().version, "0.0.4");
  // It writes no line between two messages; people make lists of them, and other writers use the schema's names.
  EXPECT_EQ(parse(metadata + first + second), nodes);
  EXPECT_EQ(parse("[" + metadata + ", " + first + ",\n" + second + " ]\n"), nodes);
  EXPECT_EQ(parse("[" + first + "," + second + "]"), nodes);
  EXPECT_EQ(parse(metadata + first +
                  R"({"id": 2, "name": "b", "type": 7, "data_deps": [1], "attr": [
                      {"name": "comm_type", "int64_val": 0}, {"name": "comm_size", "int64_val": 1024}]})"),
            nodes);
  // An id of 0 is left out by protobuf.
  EXPECT_EQ(parse(metadata + R"({"name": "z", "type": "COMP_NODE"})")[0].id, 0U);

  EXPECT_EQ(refused_text(first + second),
            "w: expected the metadata of a Chakra trace, got a node: the metadata is missing");
  EXPECT_TRUE(refused_text(metadata + first + R"({"id": "x", "type": "COMP_NODE"})")
                  .starts_with("w: node 2 of the file, line 4: expected a message of Chakra in JSON: "))
      << refused_text(metadata + first + R"({"id": "x", "type": "COMP_NODE"})");
  EXPECT_TRUE(refused_text(metadata + first + R"({"id": "1", "typo": 1})").find("typo") != std::string::npos);
  // A damaged file is no shorter one. What a file is, its beginning tells.
  const std::string blank(5000, ' ');
  const std::string zero(1, '\0');
  for (const std::string& damaged :
       {metadata + blank + zero, metadata + blank + zero + first, metadata + first + blank + "\n" + zero + second,
        metadata + first + blank + zero}) {
    EXPECT_NE(refused_text(damaged).find("expected JSON, got a syntax error"), std::string::npos) << damaged;
  }
  EXPECT_EQ(refused_text("[" + metadata + "," + first + blank + "]" + zero),
            "w: line 4, column 5090: expected the end of the file, got the byte 0");
  // One of two members of a name would be lost.
  EXPECT_EQ(refused_text(metadata + first + "\n" + R"({"id": 2, "type": 4, "id": 3})"),
            "w:5: id: expected each key once, got \"id\" twice");
  EXPECT_EQ(refused_text("[" + metadata + "," + first),
            "w: line 4, column 89: expected ',' or ']' after a "
            "node, got the end of the file");
  // What protobuf's JSON has no place for.
  Node unknown = chakra_node(1);
  unknown.unknown = "\x98\x06\x05";
  write({unknown}, "u.et");
  EXPECT_EQ(refused([&] { convert_trace(file("u.et"), file("u.json"), TraceFormat::kJsonizer); }),
            "u.et: node 1 'n1': has fields that the schema does not have, for which this JSON has no place");
  const std::vector<std::string> left = files();
  EXPECT_EQ(std::count(left.begin(), left.end(), "u.json"), 0);
  EXPECT_TRUE(std::none_of(left.begin(), left.end(), [](const std::string& name) { return name.starts_with('.'); }));
}

/// Protobuf leaves out what is empty; a reader must know a trace all the same.
TEST_F(ChakraFormats, AVersionCanBeEmpty) {
  for (const bool has_attribute : {false, true}) {
    Metadata metadata;
    if (has_attribute) metadata.attributes = {Attribute::text("source", "a")};
    for (const std::vector<Node>& nodes : {std::vector<Node>(), some_nodes()}) {
      TraceWriter writer(file("t.et"), metadata);
      for (const Node& node : nodes) writer.write(node);
      writer.close();
      convert_trace(file("t.et"), file("t.json"), TraceFormat::kJsonizer);
      EXPECT_EQ(TraceReader(file("t.json")).metadata(), metadata);
      EXPECT_EQ(read(file("t.json")), nodes);
    }
  }
  EXPECT_EQ(parse(R"({"attr": [{"name": "a", "stringVal": "b"}]}
      {"id": "1", "name": "a", "type": "COMP_NODE"})")[0]
                .name,
            "a");
}

TEST_F(ChakraFormats, NamesMayHaveControlCharacters) {
  Node node = chakra_node(1);
  for (char c = 1; c > 0; ++c) node.name += c;
  for (const TraceFormat format : {TraceFormat::kJson, TraceFormat::kJsonizer})
    EXPECT_TRUE(survives({node}, format, "t.json"));
}

TEST_F(ChakraFormats, ReadsTheFeedersJson) {
  const std::vector<Node> nodes = parse(R"({"workload_name": "w", "workload_graph": [
      {"Id": 7, "Name": "a", "NodeType": 4, "runtime": 318, "is_cpu_op": true, "ctrlDeps": [3], "data_deps": []},
      {"Id": 8, "Name": "b", "NodeType": 7, "data_deps": [7], "comm_type": 0, "comm_size": 64, "comm_tag": 3,
       "tensor_size": 18446744073709551615, "scale": 0.5, "shape": [1, 2]}], "ngpus": 8})");
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_EQ(nodes[0].name, "a");
  EXPECT_EQ(nodes[0].duration_micros, 318U);
  EXPECT_TRUE(nodes[0].is_cpu_op());
  EXPECT_EQ(nodes[0].control_dependencies, (std::vector<std::uint64_t>{3}));
  EXPECT_EQ(nodes[1].type, NodeType::kCollective);
  EXPECT_EQ(nodes[1].comm_size(), 64);
  EXPECT_EQ(nodes[1].find("comm_tag")->kind, ValueKind::kInt32);
  EXPECT_EQ(nodes[1].find("tensor_size")->kind, ValueKind::kUint64);
  EXPECT_EQ(nodes[1].find("scale")->kind, ValueKind::kDouble);
  EXPECT_EQ(std::get<std::string>(nodes[1].find("shape")->value), "[1,2]");
  const auto said = [&](const std::string& node) { return refused_text(R"({"workload_graph": [)" + node + "]}"); };
  EXPECT_EQ(said("{}"), "w: workload_graph[0].Id: expected the node's id, got nothing");
  EXPECT_EQ(said(R"({"Id": 1})"), "w: workload_graph[0].NodeType: expected the node's type, got nothing");
  EXPECT_EQ(said(R"({"Id": -1, "NodeType": 4})"), "w: workload_graph[0].Id: expected an integer of at least 0, got -1");
  EXPECT_EQ(said(R"({"Id": 1, "NodeType": 4, "comm_tag": 2147483648})"),
            "w: workload_graph[0].comm_tag: expected an integer of 32 bits, got 2147483648");
}

TEST_F(ChakraFormats, SaysWhatAnotherFileIs) {
  EXPECT_EQ(refused_text("num_ranks 1\nrank 0 {\n}\n").substr(0, 48),
            "w: expected a Chakra trace, got GOAL text, a sch");
  EXPECT_NE(refused_text("$timescale 1ns $end\n").find("got a VCD waveform; weft vcd info"), std::string::npos);
  EXPECT_NE(refused_text("MICRO\n1\n").find("weft trace convert"), std::string::npos);
  EXPECT_NE(refused_text(R"({"traceEvents": []})").find("a timeline of trace events"), std::string::npos);
  EXPECT_EQ(refused_text("hello"), "w: expected a Chakra trace, got text that begins with \"hello\"");
}

TEST_F(ChakraFormats, NothingMakesMemoryGrowWithoutEnd) {
  // A record of 1 GiB in a gzip file of some bytes, and brackets within brackets.
  traces::GzipFile packed(file("w"));
  packed.write(
      "\x07\x0a\x05"
      "0.0.4\x80\x80\x80\x80\x04");
  packed.close();
  EXPECT_EQ(refused([&] { read(file("w")); }),
            "w: byte 8: the record is 1073741824 bytes long, expected at most 268435456");
  EXPECT_NE(refused_text(R"({"metadata": {}, "nodes": [{"id": 1, "attr": )" + std::string(1'000'000, '['))
                .find("at most 256 arrays and objects stand within each other"),
            std::string::npos);
}

TEST_F(ChakraFormats, ATruncatedGzipFileIsAnError) {
  std::vector<Node> nodes;
  for (std::uint64_t i = 0; i < 5000; ++i) nodes.push_back(chakra_node(i * i * 7919));
  write(nodes, "whole.et.gz");
  const std::string whole = bytes(file("whole.et.gz"));
  write_bytes(whole.substr(0, whole.size() / 2), "w.0.et.gz");
  EXPECT_EQ(refused([&] { read(file("w.0.et.gz")); }),
            "w.0.et.gz: the gzip file ends within its data: it is truncated (gzip -t says the same)");
}

TEST_F(ChakraFormats, RanksMayHaveAnyEnding) {
  write({}, "w.0.json.gz");
  write({}, "w.2.json.gz");
  EXPECT_EQ(find_rank(file("w"), 2), file("w.2.json.gz"));
  EXPECT_EQ(find_rank(file("w"), 1), file("w.1.et"));
  TraceFiles found = find_trace(file("w"));
  ASSERT_EQ(found.files.size(), 2U);
  EXPECT_EQ(found.files[1].file, file("w.2.json.gz"));
  EXPECT_EQ(found.missing, (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(find_trace(file("w.2.json.gz")).files[0].rank, 2U);
  // Each its own.
  write({}, "w.1.et");
  found = find_trace(file("w"));
  ASSERT_EQ(found.files.size(), 3U);
  EXPECT_EQ(found.files[1].file, file("w.1.et"));
  EXPECT_EQ(found.files[2].file, file("w.2.json.gz"));
  // One of two is an older trace's, and nobody can say which.
  write({}, "w.2.et");
  EXPECT_EQ(refused([&] { find_trace(file("w")); }),
            "w: expected a file for each rank, got two of rank 2, w.2.et and w.2.json.gz: traces of two formats need "
            "prefixes of their own");
}

TEST_F(ChakraFormats, APrefixHasOneGroupsFile) {
  EXPECT_EQ(find_groups(file("w")), std::nullopt);
  write_bytes("{}", "w.groups.json.gz");
  EXPECT_EQ(find_groups(file("w")), file("w.groups.json.gz"));
  write({}, "w.11.json");
  write({}, "other.0.et");
  write({}, "w.x.0.et");
  EXPECT_EQ(files_of_prefix(file("w")), (std::vector<fs::path>{file("w.11.json"), file("w.groups.json.gz")}));
  write_bytes("{}", "w.groups.json");
  EXPECT_EQ(refused([&] { static_cast<void>(find_groups(file("w"))); }),
            "w.groups.json.gz: expected one groups file of the prefix, got w.groups.json beside it, and one of them is "
            "an older trace's");
}

/// Ranks that do the same share their nodes.
TEST_F(ChakraFormats, WindowsOfOnePoolShareWhatIsEqual) {
  std::vector<Node> nodes;
  for (std::uint64_t i = 0; i < 100; ++i) nodes.push_back(i == 0 ? chakra_node(0) : chakra_node(i, {i - 1}));
  write(nodes, "w.0.et");
  nodes[50].duration_micros = 5;
  write(nodes, "w.1.et");
  const auto pool = std::make_shared<RecordPool>();
  {
    TraceWindow first(file("w.0.et"), 1000, pool);
    TraceWindow second(file("w.1.et"), 1000, pool);
    const Node* const of_first = first.next();
    EXPECT_EQ(of_first, second.next());
    EXPECT_EQ(pool->size(), 101U);
    first.complete(0);
    EXPECT_EQ(of_first->id, 0U);  // the second has it
    EXPECT_EQ(pool->size(), 101U);
    second.complete(0);
    EXPECT_EQ(pool->size(), 100U);
    for (std::uint64_t i = 1; i < 60; ++i) {
      EXPECT_EQ(*first.next(), i == 50 ? chakra_node(50, {49}) : nodes[i]);
      EXPECT_EQ(*second.next(), nodes[i]);
      first.complete(i);
      second.complete(i);
    }
  }
  EXPECT_EQ(pool->size(), 0U);
}

/// A record that is damaged within is found when its turn comes, and told with its place.
TEST_F(ChakraFormats, AWindowNamesTheDamagedRecord) {
  write_bytes(
      "\x07\x0a\x05"
      "0.0.4"
      "\x04\x08\x01\x18\x04"
      "\x06\x08\x02\x52\x02\x0a\x05",
      "w.0.et");
  EXPECT_EQ(refused([&] {
              TraceWindow window(file("w.0.et"));
              while (const Node* node = window.next()) window.complete(node->id);
            }),
            "w.0.et: byte 13: expected a node, got 6 bytes that are no such message (its id may be 2)");
}

}  // namespace
}  // namespace weft::chakra
