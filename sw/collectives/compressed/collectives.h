// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "sw/collectives/compressed/blocks.h"
#include "sw/collectives/compressed/kernels.h"
#include "sw/collectives/compressed/message.h"
#include "sw/dimensions/plan.h"

namespace weft::collectives {

/// Collectives of one communicator whose messages travel compressed, with the kernels that this takes, which run on the
/// last stream of every member's accelerator. One runs at a time, and all members call them in the same order. Results
/// lie where those of other collectives do. Where memories have numbers, they are compressed, and error feedback keeps
/// apart what lies at different addresses.
class CompressedCollectives {
 public:
  /// `orders`: of the rings by which blocks go (CompressedBlocks). `name` for the report of a deadlock.
  CompressedCollectives(Communicator& group, const compression::CompressionConfig& config,
                        std::vector<std::vector<int>> orders, std::string name);

  /// Whether there is a way of sending these elements compressed. Null: their type is not known.
  [[nodiscard]] bool takes(dimensions::Operation what, std::optional<ElementType> type) const;
  /// The same of so many bytes: an element for somebody at least, and where all of it travels, whole elements.
  [[nodiscard]] bool takes(dimensions::Operation what, std::optional<ElementType> type, std::uint64_t bytes) const;
  /// By blocks, whatever the communicator's algorithm is; else by a collective of this algorithm, of what is sent.
  [[nodiscard]] bool by_blocks(dimensions::Operation what) const;

  /// What does not fill an element stays as it is. Throws std::length_error if memory has no room for what travels.
  firmware::Task all_reduce(int member, std::uint64_t address, std::uint64_t bytes, ElementType type);
  firmware::Task reduce_scatter(int member, std::uint64_t input, std::uint64_t output, std::uint64_t bytes,
                                ElementType type);
  firmware::Task allgather(int member, std::uint64_t address, std::uint64_t bytes, ElementType type);
  firmware::Task all_to_all(int member, std::uint64_t input, std::uint64_t output, std::uint64_t bytes,
                            ElementType type);

  /// Of a member, so far.
  [[nodiscard]] std::uint64_t sent(int member) const { return ends_[static_cast<std::size_t>(member)].sent; }
  /// The same as it would be uncompressed: of messages by blocks, of the same hops; of others, the messages.
  [[nodiscard]] std::uint64_t plain(int member) const { return plain_[static_cast<std::size_t>(member)]; }
  /// What a user may not expect; empty if there is nothing.
  [[nodiscard]] std::string remark() const;
  [[nodiscard]] Time kernels(int member) const { return runners_[static_cast<std::size_t>(member)]->taken(); }
  /// kernels() of those with the same `until`, by member, add up to no more than the time in which any has run.
  void count_together(std::vector<Time>& until) {
    for (std::size_t i = 0; i < runners_.size(); ++i) runners_[i]->share(until[i]);
  }
  [[nodiscard]] const compression::CompressionConfig& config() const { return config_; }
  [[nodiscard]] bool exact() const { return exact_; }
  /// Messages travel hop by hop.
  [[nodiscard]] bool hops() const { return hops_; }

 private:
  /// AllReduces whose messages are gathered or summed.
  struct Whole {
    CompressedMessage message;
    std::unique_ptr<CompressedArithmetic> arithmetic;  ///< where there are numbers
  };
  Whole& find(std::uint64_t address, std::uint64_t bytes);
  void add(Whole& added, std::int64_t elements, std::uint64_t address);
  firmware::Task run_rounds(int member, const Whole& whole);

  [[nodiscard]] BlockFormat format(ElementType type);
  [[nodiscard]] CompressedBlocks::End end(int member, std::uint64_t bytes, ElementType type);

  Communicator& group_;
  compression::CompressionConfig config_;
  std::vector<std::vector<int>> orders_;
  std::string name_;
  std::vector<firmware::Rank*> ranks_;
  bool real_;
  bool exact_;
  bool has_blocks_;
  bool hops_ = false;
  /// Without numbers all of one length are one.
  std::map<std::pair<std::uint64_t, std::uint64_t>, Whole> wholes_;
  std::map<std::uint64_t, compression::Blocks> blocks_;  ///< by the bytes of an element
  std::unique_ptr<CompressedBlocks> exchange_;
  /// Of blocks, by member, elements of the message and their bytes.
  std::map<std::tuple<int, std::uint64_t, std::uint64_t>, std::unique_ptr<compression::Codec>> codecs_;
  std::vector<std::unique_ptr<KernelRunner>> runners_;  ///< by member
  std::vector<CompressedEnd> ends_;
  std::vector<std::uint64_t> plain_;
};

/// What ranks have sent in compressed collectives, all together.
struct CompressedAmount {
  double sent = 0;
  double plain = 0;

  /// Those of a group, after a run.
  void add(Communicator& group);
};

}  // namespace weft::collectives
