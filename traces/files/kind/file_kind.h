// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace weft::traces {

class InputFile;

/// What a file can be; each is told by its first bytes, never by its name.
enum class FileKind : std::uint8_t {
  kEmpty,
  kFolder,
  // Execution traces
  kChakra,                 ///< protobuf records
  kChakraJson,             ///< Weft's: {"metadata": ..., "nodes": [...]}
  kChakraJsonizer,         ///< protobuf's own JSON: one object after another, or a list of them
  kChakraFeederJson,       ///< of Chakra's feeder: {"workload_graph": [...]}
  kPyTorchTrace,           ///< JSON of PyTorch's ExecutionTraceObserver
  kKineto,                 ///< JSON of PyTorch's profiler
  kTimeline,               ///< Chrome's trace events, such as Weft's --timeline
  kGoal,                   ///< text of LogGOPSim
  kGoalBinary,             ///< of its txt2bin
  kTextWorkload,           ///< ASTRA-sim 1.0, SimAI
  kWorkloadSpecification,  ///< CSV of AICB
  kMemoryTrace,            ///< R, W, M and an address, a line each
  // Waveforms
  kVcd,
  kFst,
  kGhw,
  kLxt,
  kVzt,
  // Machines
  kPlatform,
  kSystemFile,   ///< ASTRA-sim's system.json
  kNetworkFile,  ///< ASTRA-sim's network.yml
  kNetworkJson,  ///< the same of ASTRA-sim 1.0, or a logical topology of ns-3
  kMemoryFile,   ///< ASTRA-sim's remote memory
  kNs3Topology,  ///< nodes, switches and links
  kNs3Config,    ///< lines of a key and its values
  kHtsimTree,    ///< .topo: nodes, tiers and radices
  kGroups,       ///< communicator groups, {"1": [0, 1]}
  kLayers,       ///< a network of layers, JSON or CSV
  kTransformer,  ///< a transformer in JSON, or a table of them in CSV
  kEdges,        ///< CSV: what joins what in a graph
  // Results and measurements of Weft's
  kResult,        ///< JSON that a run has written, but its config.json, which is a platform
  kLinkTable,     ///< links.csv
  kMeasurements,  ///< CSV that weft validate reads
  // Other containers and files
  kJson,
  kYaml,
  kXml,
  kCsv,
  kText,
  kUtf16,
  kUtf32,
  kGzip,  ///< in gzip
  kXz,
  kBzip2,
  kZstd,
  kLz4,
  kZip,
  kTar,
  kSqlite,
  kElf,
  kPickle,
  kPicture,
  kPdf,
  kHdf5,
  kBinary,
};

/// With which editors of some systems begin a file in UTF-8. It says nothing.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
/// What comes behind such marks and blanks.
[[nodiscard]] std::string_view without_blanks(std::string_view text);
/// The same without comments of C++, which GOAL and files of Weft's own in JSON may have.
[[nodiscard]] std::string_view without_comments(std::string_view text);

/// How many bytes a guess looks at.
inline constexpr std::size_t kGuessed = 64 << 10;

struct FileGuess {
  FileKind kind = FileKind::kEmpty;
  bool is_gzip = false;  ///< `kind` is then what is packed
  std::string begins;    ///< how it begins, for messages: of text a line, of other files some bytes in hexadecimal
  std::string members;   ///< of a JSON object, the names of its first members
};

/// By the first bytes, unpacked; `has_more` tells that these are not all.
FileGuess guess(std::string_view beginning, bool has_more = true);
/// By what the file begins with, which read() will give as well. Call it before the first read().
FileGuess guess(InputFile& file);
/// Opens the file, which may be a folder. Throws FormatError if it cannot be opened or is a gzip file without content.
FileGuess guess(const std::filesystem::path& file);

/// Any kind of JSON.
[[nodiscard]] bool is_json(FileKind kind);
/// JSON that TraceReader reads.
[[nodiscard]] bool is_trace_json(FileKind kind);
/// Made of characters, of whatever kind; or nothing at all.
[[nodiscard]] bool is_text(FileKind kind);
/// Text, a table, or nothing at all: what a reader of some text may take for its own, and say where it is not.
[[nodiscard]] bool is_plain_text(FileKind kind);
/// The same without what is known for something else: text, a table or YAML that nothing tells more of, or nothing.
[[nodiscard]] bool is_unknown_text(FileKind kind);
/// What a reader of some table in CSV may take for its own.
[[nodiscard]] bool is_table(FileKind kind);

/// What it is, with an article: "an FST waveform", "a Chakra trace in gzip".
std::string describe(const FileGuess& guess);
/// The command for a file of the kind, as a sentence without a full stop: "fst2vcd a.fst | weft vcd info - shows it".
/// Empty where nothing is known to help.
std::string advice(const FileGuess& guess, const std::filesystem::path& file);

/// Throws FormatError: "FILE: expected EXPECTED, got WHAT IT IS; ADVICE". `expected` has an article: "a VCD file".
[[noreturn]] void refuse(const std::filesystem::path& file, const std::string& expected, const FileGuess& guess);

}  // namespace weft::traces
