// SPDX-License-Identifier: Apache-2.0
#include "sw/schedules/kfac/kfac_check.h"

#include "sw/schedules/fsdp_check.h"

namespace weft::schedules {

using firmware::Rank;

namespace {

/// What becomes of a gradient, given what tells which one.
constexpr std::uint64_t preconditioned(std::uint64_t gradient) {
  return gradient | std::uint64_t{1} << 39;
}

}  // namespace

KfacCheck::KfacCheck(const Kfac& kfac, std::vector<Rank*> ranks)
    : kfac_(kfac), ranks_(std::move(ranks)), times_(ranks_.size()) {
  const compression::CompressionConfig& compression = kfac.config().compression;
  if (!compression.on()) return;
  throw ConfigError(
      "workload.compression.method",
      "expected none with --data, or workload.training.on=true, which it needs to compress, since a sum of "
      "compressed gradients leaves out what stays behind and cannot be compared, got " +
          std::string(name_of(compression.method)));
}

Kfac::Arithmetic KfacCheck::arithmetic() {
  return [this](Rank& rank, int member, const KfacStage& stage) { run(rank, member, stage); };
}

std::int64_t KfacCheck::parameters(std::size_t layer) const {
  return models::parameters(kfac_.plan().network().layers[layer]);
}

std::uint64_t KfacCheck::next(int member, Kind kind, std::size_t item) {
  ++times_[static_cast<std::size_t>(member)][{kind, item}];
  return latest(member, kind, item);
}

std::uint64_t KfacCheck::latest(int member, Kind kind, std::size_t item) {
  const std::uint64_t times = times_[static_cast<std::size_t>(member)][{kind, item}];
  return times << 40 | static_cast<std::uint64_t>(kind) << 32 | item;
}

void KfacCheck::fill(const Rank& rank, std::uint64_t address, std::int64_t elements, std::uint64_t seed, int writer,
                     ElementType type) {
  check::fill_gradient(*rank.store, type, address, size_of(type) * static_cast<std::uint64_t>(elements), seed, writer,
                       static_cast<int>(ranks_.size()));
}

void KfacCheck::expect_sum(const Rank& rank, std::uint64_t address, std::int64_t elements, std::uint64_t seed,
                           std::span<const int> members, ElementType type) {
  compared_ += elements;
  wrong_ += check::compare_sum(*rank.store, type, address, size_of(type) * static_cast<std::uint64_t>(elements), seed,
                               members, static_cast<int>(ranks_.size()));
}

void KfacCheck::expect_owners(const Rank& rank, std::uint64_t address, std::int64_t elements, std::uint64_t seed) {
  compared_ += elements;
  wrong_ += check::compare_gathered(*rank.store, ElementType::kFp32, address, bytes_of_elements(elements), seed);
}

void KfacCheck::run(const Rank& rank, int member, const KfacStage& stage) {
  const auto item = static_cast<std::size_t>(stage.item);
  const KfacLayout& layout = kfac_.layout();
  std::span<const int> members = kfac_.plan().members(stage.within, member);
  const auto sent = [&] { return kfac_.plan().sent_elements(kfac_.plan().sides()[item]); };
  const auto inverse = [&] { return kfac_.plan().sent_inverse_elements(kfac_.plan().sides()[item]); };
  const ElementType factor_type = kfac_.config().sent_factor_type();
  const auto sum_of_weights = [&] {
    return layout.averages[static_cast<std::size_t>(stage.slot)].sum + layout.weights[item] - layout.weights.front();
  };
  const std::size_t average = static_cast<std::size_t>(stage.slot) * kfac_.plan().network().layers.size() + item;
  switch (stage.work) {
    case KfacWork::kBackward:
      return fill(rank, layout.gradients[item], parameters(item), next(member, Kind::kGradient, item), member);
    case KfacWork::kPackFactor:
      return fill(rank, layout.sent_factors[item], sent(), next(member, Kind::kFactor, item), member, factor_type);
    case KfacWork::kUnpackFactor:
      return expect_sum(rank, layout.sent_factors[item], sent(), latest(member, Kind::kFactor, item),
                        kfac_.plan().members(kAllRanks, member), factor_type);
    case KfacWork::kPackInverse: {
      // Rank 0's numbers are the owner's; the others have their own until these come.
      const bool owns = kfac_.decisions().placement.owner[item] == member;
      return fill(rank, layout.sent_inverses[item], inverse(), next(member, Kind::kInverse, item),
                  owns ? 0 : member + 1);
    }
    case KfacWork::kUnpackInverse:
      return expect_owners(rank, layout.sent_inverses[item], inverse(), latest(member, Kind::kInverse, item));
    case KfacWork::kPrecondition:
      expect_sum(rank, layout.gradients[item], parameters(item), latest(member, Kind::kGradient, item), members);
      if (stage.gradient != KfacGradient::kOwners) return;
      return fill(rank, layout.preconditioned[item], parameters(item),
                  preconditioned(latest(member, Kind::kGradient, item)), 0);
    case KfacWork::kUpdate:
      return update(rank, member, stage);
    case KfacWork::kSnapshot:
      return fill(rank, sum_of_weights(), parameters(item), next(member, Kind::kAverage, average), member);
    case KfacWork::kMerge:
      return expect_sum(rank, sum_of_weights(), parameters(item), latest(member, Kind::kAverage, average), members);
    default:
      return;
  }
}

void KfacCheck::update(const Rank& rank, int member, const KfacStage& stage) {
  const auto layer = static_cast<std::size_t>(stage.item);
  const KfacLayout& layout = kfac_.layout();
  const std::uint64_t seed = latest(member, Kind::kGradient, layer);
  switch (stage.gradient) {
    case KfacGradient::kOwn:
    case KfacGradient::kPreconditioned:  // its sum was compared when it was preconditioned
      return;
    case KfacGradient::kMean:
      return expect_sum(rank, layout.gradients[layer], parameters(layer), seed,
                        kfac_.plan().members(stage.within, member));
    case KfacGradient::kOwners:
      return expect_owners(rank, layout.preconditioned[layer], parameters(layer), preconditioned(seed));
  }
}

}  // namespace weft::schedules
