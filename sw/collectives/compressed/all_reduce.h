// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "sw/collectives/compressed/hops.h"
#include "sw/collectives/compressed/kernels.h"
#include "sw/collectives/compressed/message.h"

namespace weft::collectives {

/// AllReduces of one communicator whose messages travel compressed, with the kernels that this takes, which run on the
/// last stream of every member's accelerator. One runs at a time, and all members call them in the same order. Sums lie
/// where the messages were. Where memories have numbers, they are compressed, and error feedback keeps apart what lies
/// at different addresses.
class CompressedAllReduce {
 public:
  CompressedAllReduce(Communicator& group, const compression::CompressionConfig& config);

  /// What does not fill a float32 stays as it is. Throws std::length_error if memory has no room for what travels.
  firmware::Task run(int member, std::uint64_t address, std::uint64_t bytes);

  /// Of a member, so far.
  [[nodiscard]] std::uint64_t sent(int member) const { return ends_[static_cast<std::size_t>(member)].sent; }
  [[nodiscard]] Time kernels(int member) const { return runners_[static_cast<std::size_t>(member)]->taken(); }
  [[nodiscard]] const compression::CompressionConfig& config() const { return config_; }
  /// Messages travel hop by hop.
  [[nodiscard]] bool hops() const { return !rings_.empty() && rings_.front() != nullptr; }

 private:
  std::size_t find(std::uint64_t address, std::uint64_t bytes);
  std::size_t add(std::int64_t elements, std::uint64_t address);
  firmware::Task run_rounds(int member, std::size_t message, std::uint64_t address);
  firmware::Task run_hops(int member, std::size_t message, std::uint64_t address);

  Communicator& group_;
  compression::CompressionConfig config_;
  std::vector<firmware::Rank*> ranks_;
  bool real_;
  /// Without numbers all of one length are one.
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::size_t> by_place_;
  std::vector<std::unique_ptr<CompressedMessage>> messages_;
  std::vector<std::unique_ptr<CompressedRing>> rings_;                    ///< by message, of hops
  std::vector<std::unique_ptr<CompressedArithmetic>> arithmetic_;         ///< by message, where there are numbers
  std::vector<std::vector<std::unique_ptr<compression::Codec>>> codecs_;  ///< by message and member, of hops
  std::vector<std::unique_ptr<KernelRunner>> runners_;                    ///< by member
  std::vector<CompressedEnd> ends_;
};

}  // namespace weft::collectives
