// SPDX-License-Identifier: Apache-2.0
#include "sw/collectives/nccl/symmetric_choice.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace weft::collectives {

using dimensions::Operation;

namespace {

/// What NCCL calls 1 GB/s, in bytes a microsecond.
constexpr double kGigabytes = (1 << 30) / 1e6;

/// What the model knows of a kernel; times in us, rates in bytes a microsecond.
struct Model {
  double bytes = 0;  ///< over the links, of the member that has most
  double latency = 0;
  double block_rate = 0;
  double most_rate = 0;
  int most_blocks = kMostSymmetricBlocks;
};

/// The lesser of both, rounded off where they meet.
double soft_least(double value, double ceiling, double softness) {
  return ceiling - softness * std::log1p((std::exp(ceiling / softness) - 1) * std::exp(-value / softness));
}

/// The value where it is positive, else 0, rounded off there.
double soft_positive(double value) {
  constexpr double kFar = 100;
  return value >= kFar ? value : std::log1p(std::exp(value));
}

double time_with(const Model& model, double multiplier, int blocks) {
  const double rate = soft_least(blocks * model.block_rate * multiplier, model.most_rate, model.block_rate);
  return model.latency + soft_positive(model.bytes / rate - 1);
}

bool is_words(SymmetricKind kind) {
  return kind == SymmetricKind::kWords || kind == SymmetricKind::kWordsMulticast;
}

Model model_of(const SymmetricGroup& group, Operation what, SymmetricKind kind, double bytes) {
  constexpr double kOfWords = 9;  // twice the bytes, and what is done with them
  const bool sums_all = what == Operation::kAllReduce;
  const double members = group.members;
  const double own = sums_all ? bytes : bytes / members;  // that a member begins or ends with
  Model model;
  if (is_words(kind)) {
    model.bytes = kOfWords * members * own;
  } else if (!sums_all) {
    model.bytes = (members - 1) * own;
  } else if (kind == SymmetricKind::kDirect) {
    model.bytes = 2 * own * (members - 1) / members;
  } else {
    model.bytes = own + own / members;
  }
  const bool is_multicast_sum = sums_all && kind == SymmetricKind::kMulticast;
  if (group.blackwell) {
    constexpr double kOthers = 13;
    model.latency = is_words(kind) ? (what == Operation::kAllgather ? 8.5 : 11) : sums_all ? 19.5 : kOthers;
    model.block_rate = 55 * kGigabytes;
    model.most_rate = (is_multicast_sum ? 1000 : 600) * kGigabytes;
  } else {
    model.latency = is_words(kind) ? 4.5 : 7.8;
    model.block_rate = (sums_all ? 65 : 44) * kGigabytes;
    model.most_rate = (is_multicast_sum ? 480 : 320) * kGigabytes;
  }
  if (kind == SymmetricKind::kMulticast) {
    const int all = group.blackwell ? 32 : 16;
    model.most_blocks = (all + group.members - 1) / group.members;
  }
  return model;
}

/// What a block moves with one of its bytes.
double multiplier_of(const SymmetricGroup& group, Operation what, SymmetricKind kind) {
  switch (kind) {
    case SymmetricKind::kWordsMulticast:
      return 1.1;
    case SymmetricKind::kMulticast:
      return (what == Operation::kAllReduce ? 1 : 0.55) * group.members;
    case SymmetricKind::kWords:
    case SymmetricKind::kDirect:
      break;
  }
  return 1;
}

bool exists(const SymmetricGroup& group, Operation what, SymmetricKind kind, std::uint64_t bytes) {
  constexpr std::uint64_t kMostOfWords = std::uint64_t{2} << 30;  // they are counted in 32 bits
  if (is_words(kind) && bytes >= kMostOfWords) return false;
  if (kind == SymmetricKind::kWordsMulticast && what == Operation::kReduceScatter) return false;
  return group.multicast || kind == SymmetricKind::kWords || kind == SymmetricKind::kDirect;
}

}  // namespace

SymmetricKernel symmetric_kernel(const SymmetricGroup& group, Operation what, std::uint64_t bytes) {
  constexpr double kEnough = 1.025;
  constexpr double kOfBlock = 0.025;
  SymmetricKernel best;
  double least = std::numeric_limits<double>::infinity();
  for (const SymmetricKind kind :
       {SymmetricKind::kWords, SymmetricKind::kWordsMulticast, SymmetricKind::kDirect, SymmetricKind::kMulticast}) {
    if (!exists(group, what, kind, bytes)) continue;
    const Model model = model_of(group, what, kind, static_cast<double>(bytes));
    const double multiplier = multiplier_of(group, what, kind);
    const double fastest = time_with(model, multiplier, model.most_blocks);
    int blocks = 1;
    while (blocks < model.most_blocks && time_with(model, multiplier, blocks) > kEnough * fastest) ++blocks;
    const double counts = time_with(model, multiplier, blocks) * (1 + kOfBlock * blocks);
    if (counts >= least) continue;
    least = counts;
    best = {kind, blocks};
  }
  return best;
}

std::string_view kernel_name(SymmetricKind kind, Operation what) {
  struct Names {
    std::string_view all_reduce;
    std::string_view allgather;
    std::string_view reduce_scatter;
  };
  constexpr Names kNames[] = {{"AGxLL_R", "LL", "LL"},
                              {"AGxLLMC_R", "LLMC", ""},
                              {"RSxLD_AGxST", "ST", "LD"},
                              {"RSxLDMC_AGxSTMC", "STMC", "LDMC"}};
  const Names& names = kNames[static_cast<std::size_t>(kind)];
  if (what == Operation::kAllReduce) return names.all_reduce;
  return what == Operation::kAllgather ? names.allgather : names.reduce_scatter;
}

}  // namespace weft::collectives
