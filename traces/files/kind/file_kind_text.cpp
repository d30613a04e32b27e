// SPDX-License-Identifier: Apache-2.0
// What is said of a file that is another than was expected.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "traces/files/format_error.h"
#include "traces/files/kind/file_kind.h"

namespace weft::traces {
namespace {

struct Description {
  FileKind kind;
  const char* what;
  /// With {0} for the file as the shell takes it, {1} for its name without endings, {2} for config.json beside it.
  const char* advice;
  /// The program that unpacks it, which can read a pipe as well; null if the file is not packed.
  const char* unpacks = nullptr;
};

constexpr Description kDescriptions[] = {
    {FileKind::kEmpty, "an empty file", ""},
    {FileKind::kFolder, "a folder", "name a file in it"},
    {FileKind::kChakra, "a Chakra trace", "weft trace info {0} reads it"},
    {FileKind::kChakraJson, "a Chakra trace in Weft's JSON", "weft trace info {0} reads it"},
    {FileKind::kChakraJsonizer, "a Chakra trace in JSON, as chakra_jsonizer writes it", "weft trace info {0} reads it"},
    {FileKind::kChakraFeederJson, "a Chakra trace in the JSON of Chakra's feeder", "weft trace info {0} reads it"},
    {FileKind::kPyTorchTrace, "a PyTorch execution trace in JSON",
     "chakra_converter PyTorch --input {0} --output {1}.et makes a Chakra trace of it, after chakra_trace_link has put "
     "the kernels of the profiler's trace into it"},
    {FileKind::kKineto, "a trace of PyTorch's profiler (Kineto, JSON)",
     "chakra_trace_link puts it and the PyTorch execution trace of the same steps together, and chakra_converter makes "
     "a Chakra trace of these"},
    {FileKind::kTimeline, "a timeline of trace events in JSON, such as --timeline writes",
     "open it in ui.perfetto.dev"},
    {FileKind::kGoal, "GOAL text, a schedule for LogGOPSim",
     "Weft does not read GOAL: record or generate the program as a Chakra trace (weft workload, chakra_converter)"},
    {FileKind::kGoalBinary, "binary GOAL, a schedule for LogGOPSim",
     "Weft does not read GOAL: record or generate the program as a Chakra trace (weft workload, chakra_converter)"},
    {FileKind::kTextWorkload, "a text workload of ASTRA-sim 1.0 or SimAI",
     "weft trace convert {0} {1} --ranks N makes Chakra traces of it"},
    {FileKind::kWorkloadSpecification, "a CSV workload of AICB, for a physical cluster",
     "let AICB write the workload for SimAI, which weft trace convert reads"},
    {FileKind::kMemoryTrace, "a trace of memory requests", "weft memory {0} runs it"},
    {FileKind::kVcd, "a VCD waveform", "weft vcd info {0} reads it"},
    {FileKind::kFst, "an FST waveform", "fst2vcd {0} | weft vcd info - reads it (fst2vcd comes with GTKWave)"},
    {FileKind::kGhw, "a GHW waveform of GHDL", "let GHDL write VCD instead, with --vcd=FILE"},
    {FileKind::kLxt, "an LXT2 waveform", "lxt2vcd {0} | weft vcd info - reads it (lxt2vcd comes with GTKWave)"},
    {FileKind::kVzt, "a VZT waveform", "vzt2vcd {0} | weft vcd info - reads it (vzt2vcd comes with GTKWave)"},
    {FileKind::kPlatform, "a platform", "weft run {0} runs it"},
    {FileKind::kSystemFile, "a system file of ASTRA-sim",
     "weft import astra-sim --network NETWORK.yml --system {0} --workload PREFIX --out PLATFORM.json takes it"},
    {FileKind::kNetworkFile, "a network file of ASTRA-sim",
     "weft import astra-sim --network {0} --system SYSTEM.json --workload PREFIX --out PLATFORM.json takes it"},
    {FileKind::kNetworkJson, "a network file of ASTRA-sim in JSON",
     "weft import astra-sim --network {0} --system SYSTEM.json --workload PREFIX --out PLATFORM.json takes it"},
    {FileKind::kMemoryFile, "a remote memory file of ASTRA-sim", "weft import astra-sim --memory {0} takes it"},
    {FileKind::kNs3Topology, "a topology of ns-3",
     "weft import astra-sim --ns3-topology {0} takes it, beside --network with the logical dimensions"},
    {FileKind::kGroups, "a file of communicator groups",
     "name it with --groups beside the traces, or as workload.groups of a platform; as PREFIX.groups.json it is found "
     "without that"},
    {FileKind::kNs3Config, "a configuration of ns-3",
     "weft import astra-sim --ns3-config {0} takes it, beside --network with the logical dimensions"},
    {FileKind::kHtsimTree, "a fat tree of htsim",
     "weft import astra-sim --htsim-topology {0} takes it, beside --network with the dimensions"},
    {FileKind::kLayers, "a network of layers",
     "a workload of kind kfac takes it: weft run PLATFORM --set workload.network={0}"},
    {FileKind::kTransformer, "a transformer, or a table of them", "weft models {0} shows it"},
    {FileKind::kEdges, "edges of a network in CSV",
     "a graph takes them: --set fabric.topology=graph --set fabric.edges={0}"},
    {FileKind::kResult, "results of Weft in JSON", "the platform of a run is beside it: weft run {2} runs it again"},
    {FileKind::kLinkTable, "the links of a run in CSV",
     "the platform of the run is beside it: weft run {2} runs it again"},
    {FileKind::kMeasurements, "measurements in CSV", "weft validate {0} compares with them"},
    {FileKind::kJson, "JSON", ""},
    {FileKind::kYaml, "YAML", ""},
    {FileKind::kXml, "XML or HTML", ""},
    {FileKind::kCsv, "a table in CSV", ""},
    {FileKind::kText, "text", ""},
    {FileKind::kUtf16, "text in UTF-16", "iconv -f UTF-16 -t UTF-8 {0} makes UTF-8 of it, which is read"},
    {FileKind::kUtf32, "text in UTF-32", "iconv -f UTF-32 -t UTF-8 {0} makes UTF-8 of it, which is read"},
    {FileKind::kGzip, "gzip", "gzip -dc {0} unpacks it", "gzip -dc"},
    {FileKind::kXz, "xz", "xz -dc {0} unpacks it", "xz -dc"},
    {FileKind::kBzip2, "bzip2", "bzip2 -dc {0} unpacks it", "bzip2 -dc"},
    {FileKind::kZstd, "zstd", "zstd -dc {0} unpacks it", "zstd -dc"},
    {FileKind::kLz4, "lz4", "lz4 -dc {0} unpacks it", "lz4 -dc"},
    {FileKind::kZip, "a ZIP archive", "unzip -l {0} lists what is in it"},
    {FileKind::kTar, "a tar archive", "tar xf {0} unpacks it"},
    {FileKind::kSqlite, "an SQLite database, as nsys export and weft sweep write",
     "Weft takes no profile of Nsight Systems: record a Chakra trace (PyTorch's ExecutionTraceObserver and "
     "chakra_converter)"},
    {FileKind::kElf, "an ELF program or library", ""},
    {FileKind::kPickle, "a Python pickle", ""},
    {FileKind::kPicture, "a picture", ""},
    {FileKind::kPdf, "a PDF document", ""},
    {FileKind::kHdf5, "an HDF5 file", ""},
    {FileKind::kBinary, "a file of a kind that Weft does not know", ""},
};

const Description& description_of(FileKind kind) {
  return *std::find_if(std::begin(kDescriptions), std::end(kDescriptions),
                       [kind](const Description& one) { return one.kind == kind; });
}

/// As a shell takes it.
std::string quoted(const std::string& text) {
  const auto is_plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("/._-+=:@%,").find(c) != std::string_view::npos;
  };
  if (!text.empty() && text[0] != '-' && std::all_of(text.begin(), text.end(), is_plain)) return text;
  std::string result = text.starts_with('-') && text != "-" ? "./'" : "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text == "-" ? "-" : result + "'";
}

/// Up to the first point of the file's name.
std::string stem_of(const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  return name.substr(0, name.find('.', 1));
}

}  // namespace

std::string describe(const FileGuess& guess) {
  std::string text = description_of(guess.kind).what;
  const bool shows_beginning = guess.kind == FileKind::kText || guess.kind == FileKind::kBinary ||
                               guess.kind == FileKind::kCsv || guess.kind == FileKind::kYaml ||
                               guess.kind == FileKind::kXml;
  if (shows_beginning) text += " that begins with " + guess.begins;
  if (guess.kind == FileKind::kJson && !guess.members.empty()) text += " with the members " + guess.members;
  return guess.is_gzip ? text + (guess.kind == FileKind::kGzip ? " in gzip" : ", packed with gzip") : text;
}

std::string advice(const FileGuess& guess, const std::filesystem::path& file) {
  return fmt::format(fmt::runtime(description_of(guess.kind).advice), quoted(file.string()), quoted(stem_of(file)),
                     quoted((file.parent_path() / "config.json").string()));
}

void refuse(const std::filesystem::path& file, const std::string& expected, const FileGuess& guess) {
  const std::string helps = advice(guess, file);
  throw FormatError(file == "-" ? "standard input" : file.string(), 0,
                    "expected " + expected + ", got " + describe(guess) + (helps.empty() ? "" : "; " + helps));
}

}  // namespace weft::traces
