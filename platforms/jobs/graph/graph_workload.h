// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "platforms/config/document.h"
#include "platforms/import/astra_algorithms.h"
#include "platforms/import/astra_groups.h"
#include "sw/analytical/config.h"
#include "sw/dimensions/workload.h"
#include "traces/chakra/check.h"
#include "traces/chakra/demands.h"

namespace weft::platforms {

/// A folder for traces that lasts as long as the command runs.
std::filesystem::path trace_folder();

/// Who runs a workload: some of what traces ask for is done by the one and not by the other.
enum class Runner : std::uint8_t { kMachine, kAnalytical };

/// The files that a trace is read from: one of all ranks, or those of a prefix, and those of its groups; none where
/// there is neither.
std::vector<std::filesystem::path> files_of_trace(const std::filesystem::path& source);

/// The same, and of the traces that take the place of collectives.
std::vector<std::filesystem::path> files_of_traces(const dimensions::Workload& workload);

/// Where a file that is the trace of all ranks is by its name one rank's, and lies beside other ranks': that these are
/// not read, and what reads them. Else nothing.
std::vector<std::string> remarks_of_shared(const std::filesystem::path& file);

/// What chakra::check is told of implementations that collectives have of their own, and of algorithms that join all
/// ranks whatever a collective involves.
chakra::Implementations implementations_of(const dimensions::Workload& traces);
std::set<chakra::CollectiveType> one_dimension_of(const analytical::AnalyticalConfig& arithmetic);

/// What nodes of a trace ask for, which is a file or a prefix. Throws traces::FormatError.
chakra::TraceDemands demands_of(const std::filesystem::path& trace);
/// To read groups of a trace with: nothing that is wrong with those that no node names is refused.
astra::UnusedGroups unused_groups(const std::filesystem::path& trace);

struct GraphWorkload {
  dimensions::Workload traces;
  std::uint64_t nodes = 0;           ///< of a rank, the mean
  std::vector<std::string> remarks;  ///< how things are taken that traces leave open
};

/// Throws traces::FormatError for what is wrong with files that take the place of the traces' collectives.
void expect_implementations(const dimensions::Workload& traces, std::uint32_t ranks);

/// The collectives of the traces that Weft's own algorithms run, each once. What is wrong with nodes, and which groups
/// they are of, is not looked at here: such collectives are left out.
std::set<astra::UsedCollective> collectives_of(dimensions::Workload traces, std::uint32_t ranks);

/// The traces that a platform's workload of kind chakra names; empty where it has another workload, or none.
std::filesystem::path traces_of(Document& document);

/// The `workload` of a platform, of kind chakra: files lie relative to the platform's. They are checked
/// (chakra::check), and their groups are those of the workload, or else of the groups file beside them, and of their
/// metadata. Throws InputError, and
/// traces::FormatError for what cannot be run.
/// `dimensions` are those of the network, the ranks in each.
GraphWorkload read_graph_workload(Document& document, const Node& workload,
                                  const std::vector<std::uint32_t>& dimensions, Runner runner);

}  // namespace weft::platforms
