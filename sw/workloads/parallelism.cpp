// SPDX-License-Identifier: Apache-2.0
#include "sw/workloads/parallelism.h"

#include <charconv>

namespace weft::workloads {
namespace {

constexpr std::array<std::string_view, kAxes> kNames = {"tp", "cp", "ep", "fsdp", "dp", "pp"};

constexpr std::string_view kExpertTensor = "etp";

Axis axis_at(std::size_t index) {
  return static_cast<Axis>(index);
}

}  // namespace

std::string_view name_of(Axis axis) {
  return kNames[static_cast<std::size_t>(axis)];
}

Parallelism::Degrees Parallelism::grid(bool of_experts) const {
  Degrees degrees = degrees_;
  const auto at = [&degrees](Axis axis) -> std::int64_t& { return degrees[static_cast<std::size_t>(axis)]; };
  if (!of_experts) {
    at(Axis::kExpert) = 1;
    return degrees;
  }
  const Axis rest = degree(Axis::kShard) > 1 ? Axis::kShard : Axis::kData;
  at(rest) = ranks_of_experts() / (expert_tensor() * degree(Axis::kExpert));
  at(Axis::kTensor) = expert_tensor();
  at(Axis::kContext) = 1;
  return degrees;
}

std::int64_t Parallelism::ranks_of_experts() const {
  const std::int64_t shared = degree(Axis::kTensor) * degree(Axis::kContext) * degree(Axis::kShard);
  return degree(Axis::kShard) > 1 ? shared : shared * degree(Axis::kData);
}

std::int64_t Parallelism::ranks() const {
  std::int64_t product = 1;
  for (const std::int64_t degree : grid(false)) product *= degree;
  return product;
}

std::int64_t Parallelism::coordinate(std::int64_t rank, Axis axis) const {
  const Degrees degrees = grid(axis == Axis::kExpert);
  for (std::size_t i = 0; axis_at(i) != axis; ++i) rank /= degrees[i];
  return rank % degree(axis);
}

std::int64_t Parallelism::with(std::int64_t rank, Axis axis, std::int64_t wanted) const {
  const Degrees degrees = grid(false);
  std::int64_t stride = 1;
  for (std::size_t i = 0; axis_at(i) != axis; ++i) stride *= degrees[i];
  return rank + (wanted - coordinate(rank, axis)) * stride;
}

std::vector<Parallelism::Span> Parallelism::spans(Members members) const {
  const Degrees degrees = grid(members.of_experts);
  std::vector<Span> spans;
  std::int64_t stride = 1;
  for (std::size_t i = 0; i < kAxes; stride *= degrees[i++]) {
    if (!members.axes.has(axis_at(i)) || degrees[i] == 1) continue;
    if (!spans.empty() && spans.back().stride * spans.back().count == stride) {
      spans.back().count *= degrees[i];
    } else {
      spans.push_back({stride, degrees[i]});
    }
  }
  return spans;
}

std::int64_t Parallelism::group_size(Members members) const {
  std::int64_t size = 1;
  for (const Span& span : spans(members)) size *= span.count;
  return size;
}

std::int64_t place_in_group(std::int64_t rank, const std::vector<Parallelism::Span>& spans) {
  std::int64_t place = 0;
  std::int64_t members = 1;
  for (const Parallelism::Span& span : spans) {
    place += rank / span.stride % span.count * members;
    members *= span.count;
  }
  return place;
}

std::int64_t group_number(std::int64_t rank, const std::vector<Parallelism::Span>& spans) {
  // The farthest first: what lies within stays where it is.
  for (auto span = spans.rbegin(); span != spans.rend(); ++span) {
    rank = rank / (span->stride * span->count) * span->stride + rank % span->stride;
  }
  return rank;
}

std::string Parallelism::text() const {
  std::string text;
  for (std::size_t i = 0; i < kAxes; ++i) {
    if (degrees_[i] == 1) continue;
    text += (text.empty() ? "" : ",") + std::string(kNames[i]) + "=" + std::to_string(degrees_[i]);
  }
  if (expert_tensor_ > 0) text += (text.empty() ? "etp=" : ",etp=") + std::to_string(expert_tensor_);
  return text.empty() ? "1" : text;
}

Parallelism parse_parallelism(std::string_view text) {
  static const std::string option = "--parallel";
  Parallelism parallel;
  std::array<bool, kAxes + 1> given{};
  while (true) {
    const std::string entry(text.substr(0, text.find(',')));
    const std::size_t equals = entry.find('=');
    const std::string key = entry.substr(0, equals);
    std::size_t axis = 0;
    while (axis < kAxes && kNames[axis] != key) ++axis;
    const bool is_of_experts = key == kExpertTensor;
    if (equals == std::string::npos || (axis == kAxes && !is_of_experts)) {
      throw WorkloadError(
          option, "expected degrees of tp, cp, ep, fsdp, dp, pp and etp such as tp=8,pp=4, got \"" + entry + "\"");
    }
    if (given[axis]) throw WorkloadError(option, key + ": expected one degree, got a second one");
    given[axis] = true;
    std::int64_t degree = 0;
    const char* const end = entry.data() + entry.size();
    const auto [stop, error] = std::from_chars(entry.data() + equals + 1, end, degree);
    if (error != std::errc() || stop != end || degree < 1 || degree > Parallelism::kMostRanks) {
      throw WorkloadError(option, key + ": expected a degree from 1 to " + std::to_string(Parallelism::kMostRanks) +
                                      ", got \"" + entry.substr(equals + 1) + "\"");
    }
    // Before the product can leave 64 bits.
    const bool has_ranks = !is_of_experts && axis_at(axis) != Axis::kExpert;
    if (has_ranks && parallel.ranks() > Parallelism::kMostRanks / degree) {
      throw WorkloadError(option, "expected at most " + std::to_string(Parallelism::kMostRanks) + " ranks in all");
    }
    if (is_of_experts) {
      parallel.set_expert_tensor(degree);
    } else {
      parallel.set(axis_at(axis), degree);
    }
    const std::size_t comma = text.find(',');
    if (comma == std::string_view::npos) return parallel;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace weft::workloads
