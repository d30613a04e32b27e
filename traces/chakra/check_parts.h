// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "traces/chakra/check.h"
#include "traces/chakra/node.h"

/// Parts of check(). Only sources of this folder include it.
namespace weft::chakra {

/// Takes findings, and looks up names of nodes at the end, so that nobody needs to keep them.
class FindingList {
 public:
  explicit FindingList(std::size_t most) : most_(most) {}

  void add(const RankFile& file, std::optional<std::uint64_t> node, std::string problem, std::string expected);
  /// The nodes of a cycle, in an order in which each waits for the next and the last for the first.
  void add_cycle(const RankFile& file, std::vector<std::uint64_t> cycle);
  /// Fills in the names and hands the findings over.
  void finish(CheckReport& report);

 private:
  struct Open {
    Finding finding;
    std::vector<std::uint64_t> cycle;
  };
  using Names = std::unordered_map<std::uint64_t, std::string>;

  static void complete(Open& open, const Names& names);

  std::size_t most_;
  std::uint64_t found_ = 0;
  std::vector<Open> open_;
};

/// Compares what ranks say to each other.
class RankMatcher {
 public:
  RankMatcher(const TraceFiles& files, FindingList& findings);

  /// Nodes of one file after another.
  void add_send(std::size_t file, const Node& node, std::int64_t destination);
  void add_receive(std::size_t file, const Node& node, std::int64_t source);
  void add_collective(std::size_t file, const Node& node, CollectiveType type, std::int64_t size);
  void end_file(std::size_t file);
  void finish();

 private:
  struct Message {
    std::uint32_t source;
    std::uint32_t destination;
    std::int64_t tag;
    std::int64_t size;
    std::uint64_t id;
  };
  struct Collective {
    CollectiveType type;
    std::int64_t size;
    std::uint64_t id;
  };
  /// What the first rank that uses a group issues in it, and how far the current one has come beside it.
  struct Group {
    std::size_t reference_file = 0;
    std::vector<Collective> reference;
    std::uint64_t position = 0;
    bool differs = false;  ///< the current rank did before: what follows would, too
  };
  using Channel = std::vector<Message>::const_iterator;

  /// The rank if messages can be exchanged with it; reports it if there is none such.
  std::optional<std::uint32_t> peer(std::size_t file, const Node& node, std::int64_t rank, const char* what);
  void match(Channel send, Channel send_end, Channel receive, Channel receive_end);
  [[nodiscard]] const RankFile& file_of(std::uint32_t rank) const { return files_.files[file_of_.at(rank)]; }

  const TraceFiles& files_;
  FindingList& findings_;
  std::unordered_map<std::uint32_t, std::size_t> file_of_;
  std::vector<Message> sends_;
  std::vector<Message> receives_;
  std::map<std::string, Group> groups_;
};

}  // namespace weft::chakra
