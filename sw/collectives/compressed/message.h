// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sw/collectives/communicator.h"
#include "sw/compression/compressor.h"
#include "sw/firmware/contents.h"

/// Messages that are summed over the members of a communicator and travel compressed (sw/compression). Kernels are the
/// caller's affair, who knows what else its streams do: before each round those of Plan::rounds, at the end those of
/// Plan::after.
namespace weft::collectives {

/// A message and where it and what travels of it lie, at the same addresses on all members.
struct CompressedMessage {
  /// Gives the address of so many bytes.
  using Allocate = std::function<std::uint64_t(const std::string& what, std::uint64_t bytes)>;

  compression::Message message = {};
  compression::Plan plan = {};
  std::uint64_t address = 0;    ///< what is summed, and the sum
  std::uint64_t residuals = 0;  ///< what error feedback leaves behind
  std::uint64_t own = 0;        ///< what this member sends, where how much that is varies
  std::uint64_t counts = 0;     ///< units of that, by member
  std::uint64_t all = 0;        ///< what all members send, member after member; or the sum

  /// For what travels: `of` "gradients".
  void lay_out(std::uint64_t members, const std::string& of, const Allocate& allocate);
};

/// What a member needs to send.
struct CompressedEnd {
  firmware::Rank& rank;
  int member = 0;
  firmware::CompletionQueue* placed = nullptr;  ///< what varies is in place: see make_end()
  std::uint64_t sent = 0;                       ///< bytes of its own, so far
  std::uint64_t dense = 0;                      ///< elements of the messages

  [[nodiscard]] static CompressedEnd make(firmware::Rank& rank, int member, bool varies);
};

/// Sends what has been compressed. `real`: memory has it, and says how much it is; else it is what is aimed at.
firmware::Task send_compressed(Communicator& group, CompressedEnd& end, const CompressedMessage& message,
                               std::size_t round, bool real);

/// Compresses real numbers, for all members and messages, from step to step.
class CompressedArithmetic {
 public:
  /// `messages` outlive it. Residuals are made 0 by clear().
  CompressedArithmetic(const std::vector<const CompressedMessage*>& messages,
                       const compression::CompressionConfig& config, std::uint64_t seed, int members);

  void clear(const firmware::Rank& rank) const;
  /// When the kernels of a round have ended.
  void compress(firmware::Rank& rank, int member, std::size_t message, std::size_t round);
  /// When those of the end have.
  void decompress(firmware::Rank& rank, int member, std::size_t message);

 private:
  struct Half {
    std::unique_ptr<compression::Codec> codec;
    firmware::Floats values;  ///< of the message under way, with what was left behind
  };
  [[nodiscard]] Half& half(int member, std::size_t message) {
    return halves_[static_cast<std::size_t>(member)][message];
  }

  std::vector<const CompressedMessage*> messages_;
  bool error_feedback_;
  std::vector<std::vector<Half>> halves_;  ///< by member and message
};

}  // namespace weft::collectives
