// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sw/collectives/compressed/kernels.h"
#include "sw/collectives/mesh.h"
#include "sw/compression/compressor.h"
#include "sw/firmware/contents.h"

namespace weft::collectives {

/// A ring whose every hop sends a block compressed: as libraries do that compress the messages of a collective one by
/// one (Zhou et al., IPDPS 2021, on MVAPICH2-GDR). In the first half what comes is decompressed, added to the own block
/// and compressed again; in the second half compressed blocks are handed on, and decompressed at the end.
class CompressedRing {
 public:
  /// `name` is the ring's, for the report of a deadlock.
  CompressedRing(const std::vector<firmware::Rank*>& ranks, const compression::Message& message,
                 const compression::Plan& plan, const std::string& name);

  /// What a member needs. `codec` null: there are no numbers.
  struct End {
    firmware::Rank& rank;
    int member = 0;
    KernelRunner& kernels;
    compression::Codec* codec = nullptr;
  };
  /// Sums the message at `address` over all members. `sent` grows by the bytes of this member.
  firmware::Task all_reduce(End end, std::uint64_t address, std::uint64_t* sent);

 private:
  struct Block {
    std::uint64_t first = 0;
    std::int64_t elements = 0;
  };
  [[nodiscard]] Block block(int number) const;
  /// Where the compressed block of a step lies at its sender, at its receiver, and its last form.
  [[nodiscard]] std::uint64_t out(int step) const { return places_ + place_ * static_cast<std::uint64_t>(step); }
  [[nodiscard]] std::uint64_t in(int step) const { return out(members_ + step); }
  [[nodiscard]] std::uint64_t last(int number) const { return out(2 * members_ + number); }
  /// Writes what a block is at `to`: its bytes.
  [[nodiscard]] std::uint64_t put(const End& end, std::uint64_t address, const Block& of, std::uint64_t to) const;
  [[nodiscard]] firmware::Floats got(const End& end, std::uint64_t from, const Block& of) const;
  [[nodiscard]] std::uint64_t length(const End& end, std::uint64_t at, const Block& of) const;

  int members_;
  std::int64_t elements_;
  compression::Plan plan_;
  std::uint64_t place_ = 0;  ///< bytes
  std::uint64_t places_ = 0;
  Mesh mesh_;
};

}  // namespace weft::collectives
