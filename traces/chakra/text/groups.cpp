// SPDX-License-Identifier: Apache-2.0
#include "traces/chakra/text/groups.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "traces/files/format_error.h"

namespace weft::chakra {
namespace {

using Dialect = TextWorkload::Dialect;
using Group = TextWorkload::Group;
using Layer = TextWorkload::Layer;
using Work = TextWorkload::Work;

const char* name_of_group(Group group) {
  switch (group) {
    case Group::kModel:
      return "a tensor-parallel group (model_parallel_NPU_group)";
    case Group::kData:
      return "a data-parallel group";
    case Group::kExpert:
      return "an expert-parallel group (ep)";
    case Group::kExpertData:
      break;
  }
  return "the ranks of a data-parallel group that have the same experts";
}

template <typename Action>
void for_each_collective(const TextWorkload& workload, const Action& action) {
  for (const TextWorkload::Layer& layer : workload.layers) {
    for (const Work& work : layer.passes) {
      if (work.collective) action(work);
    }
  }
}

/// Numbers of collectives, by their names.
using Counts = std::map<std::string, std::uint64_t>;

std::string left_out(const Counts& counts, std::uint64_t all, const std::string& why) {
  std::uint64_t count = 0;
  std::string list;
  for (const auto& [type, number] : counts) {
    count += number;
    list += (list.empty() ? "" : ", ") + std::to_string(number) + " " + type;
  }
  return std::to_string(count) + " of the file's " + std::to_string(all) + " collectives " +
         (count == 1 ? "is" : "are") + " left out (" + list + "): " + why;
}

constexpr const char* kPasses[] = {"the forward pass", "the input gradient", "the weight gradient"};

/// Collectives of passes in which the parallelism exchanges nothing.
void remark_passes(const TextWorkload& workload, const IssuedWork& issued, std::uint64_t all,
                   std::vector<std::string>& remarks) {
  using Parallelism = TextWorkload::Parallelism;
  const Parallelism how = workload.parallelism;
  // These exchange input gradients, and stop before the network's input.
  const bool stops = how == Parallelism::kModel || how == Parallelism::kHybridDataModel ||
                     how == Parallelism::kHybridModelData || how == Parallelism::kCustomized;
  const bool is_embedding = how == Parallelism::kDlrm || how == Parallelism::kDlrmEnhanced;
  for (std::size_t pass = 0; pass < std::size(kPasses); ++pass) {
    Counts of_pass;
    Counts of_first;
    for (const TextWorkload::Layer& layer : workload.layers) {
      const Work& work = layer.passes[pass];
      if (!work.collective || issued.exchanged.contains(&work)) continue;
      const bool is_first = stops && pass == TextWorkload::kInputGradient && &layer == workload.layers.data();
      ++(is_first ? of_first : of_pass)[name_of(*work.collective)];
    }
    if (!of_first.empty())
      remarks.push_back(left_out(of_first, all, "nobody needs the input gradient of the first layer"));
    if (of_pass.empty()) continue;
    remarks.push_back(left_out(of_pass, all,
                               workload.word + " exchanges nothing " +
                                   (is_embedding ? "but the embedding's ALLTOALL " : "") + "in " + kPasses[pass]));
  }
}

/// Times that no node has, in sum over the layers.
void remark_times(const TextWorkload& workload, const IssuedWork& issued, const TextConversion& conversion,
                  std::vector<std::string>& remarks) {
  std::uint64_t update = 0;
  std::uint64_t of_input = 0;
  std::uint64_t of_passes = 0;
  const auto add = [](std::uint64_t& sum, std::uint64_t time) { sum += std::min(time, UINT64_MAX - sum); };
  const Layer& first = workload.layers.front();
  const bool goes_back = issued.computed.contains(&first.passes[TextWorkload::kWeightGradient]);
  for (const Layer& layer : workload.layers) {
    add(update, layer.update_nanos);
    for (const Work& work : layer.passes) {
      if (issued.computed.contains(&work)) continue;
      const bool is_of_input = goes_back && &work == &first.passes[TextWorkload::kInputGradient];
      add(is_of_input ? of_input : of_passes, work.compute_nanos);
    }
  }
  const std::string unit = conversion.take_nanos_for_micros ? " us" : " ns";
  const auto remark = [&](std::uint64_t sum, const std::string& what, const std::string& why) {
    if (sum == 0) return;
    remarks.push_back(what + ", " + std::to_string(sum) + unit + " a rank and step, is left out: " + why);
  };
  remark(update, "the time of the weights' update in the last column",
         "ASTRA-sim 1.0 has each collective of a layer end so much later, the usual converter leaves it out");
  remark(of_input, "the compute time of the first layer's input gradient",
         "nobody needs the gradient of the network's input");
  const bool is_inference = workload.parallelism == TextWorkload::Parallelism::kInference;
  remark(of_passes, is_inference ? "the compute time of gradients" : "the compute time of the passes",
         workload.word + (is_inference ? " has forward passes alone" : " computes nothing"));
}

/// Where nothing says which ranks are a tensor-parallel group.
void remark_no_groups(const TextWorkload& workload, std::vector<std::string>& remarks) {
  using Parallelism = TextWorkload::Parallelism;
  const bool has_two = workload.parallelism == Parallelism::kHybridDataModel ||
                       workload.parallelism == Parallelism::kHybridModelData ||
                       workload.parallelism == Parallelism::kCustomized;
  const auto other = std::find_if(workload.layers.begin(), workload.layers.end(), [](const TextWorkload::Layer& layer) {
    return layer.parallelism != Parallelism::kHybridDataModel;
  });
  if (workload.parallelism == Parallelism::kCustomized && other != workload.layers.end()) {
    remarks.push_back(workload.word + ": the parallelism behind each layer is not followed: all exchange as in " +
                      "HYBRID_DATA_MODEL, " + other->name + " as well");
  }
  if (!has_two || workload.model_group != 0) return;
  remarks.push_back(
      workload.word +
      " without model_parallel_NPU_group: N in the first line: no group is known, and every collective is "
      "of all ranks");
}

}  // namespace

TextGroups::TextGroups(const TextWorkload& workload, std::uint64_t ranks)
    : workload_(workload),
      ranks_(ranks),
      is_cut_(workload.model_group != 0),
      model_is_inner_(workload.parallelism != TextWorkload::Parallelism::kHybridModelData) {
  const auto fail = [&](const std::string& message) { throw traces::FormatError(workload.file, 1, message); };
  const bool has_experts = workload.expert_group > 1;
  const bool has_more = has_experts || workload.stages > 1;
  const std::string more = has_experts ? "ep" : "pp";
  if (!is_cut_ && has_more) {
    fail(more + ": expected model_parallel_NPU_group: beside it, the ranks of a tensor-parallel group, 1 for none");
  }
  if (!is_cut_) return;
  const std::uint64_t model = workload.model_group;
  if (!model_is_inner_ && has_more) {
    fail(more +
         ": expected a parallelism whose tensor-parallel groups are of neighbours, such as "
         "HYBRID_TRANSFORMER_FWD_IN_BCKWD: how its groups lie among those of " +
         workload.word + " is said nowhere");
  }
  if (ranks % model != 0) {
    fail("model_parallel_NPU_group: expected a divisor of the number of ranks, " + std::to_string(ranks) + ", got " +
         std::to_string(model));
  }
  if (ranks / model % workload.stages != 0) {
    fail("pp: expected a divisor of the number of tensor-parallel groups, " + std::to_string(ranks / model) + ", got " +
         std::to_string(workload.stages));
  }
  data_ = ranks / model / workload.stages;
  if (has_experts && data_ % workload.expert_group != 0) {
    fail("ep: expected a divisor of the ranks of a data-parallel group, " + std::to_string(data_) + ", got " +
         std::to_string(workload.expert_group));
  }
  if (!model_is_inner_) std::swap(order_[0], order_[1]);
  if (workload.dialect == Dialect::kAstraSim) used_ = {true, true, false, false};
  for_each_collective(workload, [&](const Work& work) { used_[static_cast<std::size_t>(work.group)] = true; });
  std::uint64_t next = 1;
  for (const Group group : order_) {
    const auto kind = static_cast<std::size_t>(group);
    used_[kind] = used_[kind] && has_name(group);
    first_[kind] = next;
    if (used_[kind]) next += ranks / size(group);
  }
}

std::uint64_t TextGroups::size(Group group) const {
  if (!is_cut_) return ranks_;
  const std::uint64_t experts = std::max<std::uint64_t>(workload_.expert_group, 1);
  switch (group) {
    case Group::kModel:
      return workload_.model_group;
    case Group::kData:
      return data_;
    case Group::kExpert:
      return experts;
    case Group::kExpertData:
      break;
  }
  return data_ / experts;
}

std::uint64_t TextGroups::index(Group group, std::uint64_t rank) const {
  // One rank after the other of a tensor-parallel group, then one stage after the other, then the data-parallel ones;
  // or the data-parallel ones first.
  const std::uint64_t lanes = workload_.model_group * workload_.stages;
  const std::uint64_t lane = model_is_inner_ ? rank % lanes : rank / data_;
  const std::uint64_t copy = model_is_inner_ ? rank / lanes : rank % data_;
  if (group == Group::kModel) return model_is_inner_ ? rank / workload_.model_group : copy;
  const std::uint64_t experts = std::max<std::uint64_t>(workload_.expert_group, 1);
  if (group == Group::kExpert) return lane + lanes * (copy / experts);
  if (group == Group::kExpertData) return lane + lanes * (copy % experts);
  return lane;
}

std::uint64_t TextGroups::number(Group group, std::uint64_t rank) const {
  return first_[static_cast<std::size_t>(group)] + index(group, rank);
}

std::uint64_t TextGroups::bytes_of(const Work& work) const {
  const bool is_part = work.collective == CollectiveType::kAllGather && workload_.dialect == Dialect::kSimAi;
  if (!is_part) return work.bytes;
  const std::uint64_t ranks = size(work.group);
  return work.bytes / ranks + (work.bytes % ranks != 0 ? 1 : 0);
}

std::vector<RankGroup> TextGroups::all() const {
  std::vector<RankGroup> groups;
  for (const Group group : order_) {
    if (!used_[static_cast<std::size_t>(group)]) continue;
    const std::uint64_t first = groups.size();
    for (std::uint64_t i = 0; i < ranks_ / size(group); ++i) groups.push_back({std::to_string(first + i + 1), {}});
    for (std::uint64_t rank = 0; rank < ranks_; ++rank) groups[first + index(group, rank)].ranks.push_back(rank);
  }
  return groups;
}

std::vector<RankGroup> groups_of(const TextWorkload& workload, std::uint64_t ranks) {
  return TextGroups(workload, ranks).all();
}

std::vector<std::string> remarks_of(const TextWorkload& workload, const TextConversion& conversion) {
  const TextGroups groups(workload, conversion.ranks);
  std::vector<std::string> remarks;
  const IssuedWork issued = issued_work(workload, conversion.ranks);
  std::map<Group, Counts> alone;
  std::uint64_t all = 0;
  std::uint64_t gathers = 0;
  std::uint64_t rounded = 0;
  for_each_collective(workload, [&](const Work& work) {
    ++all;
    if (!issued.exchanged.contains(&work)) return;
    if (groups.is_alone(work.group)) ++alone[work.group][name_of(*work.collective)];
    if (groups.bytes_of(work) == work.bytes) return;
    ++gathers;
    if (work.bytes % groups.size(work.group) != 0) ++rounded;
  });
  remark_passes(workload, issued, all, remarks);
  remark_times(workload, issued, conversion, remarks);
  remark_no_groups(workload, remarks);
  for (const auto& [group, types] : alone) {
    remarks.push_back(left_out(types, all, name_of_group(group) + std::string(" is of one rank")));
  }
  if (gathers > 0) {
    remarks.push_back("the size of an ALLGATHER is what each rank has after it, as SimAI counts (" +
                      std::to_string(gathers) +
                      " of the file's): comm_size, what it has before, is that by the ranks of its group");
  }
  if (rounded > 0) {
    remarks.push_back("the size of " + std::to_string(rounded) + " ALLGATHER" + (rounded == 1 ? " is" : "s is") +
                      " no multiple of the ranks of its group: each rank's part is rounded up to whole bytes");
  }
  if (workload.stages > 1) {
    remarks.push_back("pp: " + std::to_string(workload.stages) +
                      " stages of a pipeline all run the layers of the file, which are one stage's; the exchange of " +
                      std::to_string(workload.stage_bytes) +
                      " bytes between them (pp_comm) and the pipeline's bubble are left out");
  }
  if (workload.ranks != 0 && workload.ranks != conversion.ranks) {
    remarks.push_back("all_gpus: " + std::to_string(workload.ranks) + " in the file, and " +
                      std::to_string(conversion.ranks) + " ranks are written");
  }
  if (workload.lines_beyond > 0) {
    const auto counted = [](std::uint64_t count, const std::string& what) {
      return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
    };
    remarks.push_back(counted(workload.lines_beyond, "line") + " behind the " +
                      counted(workload.layers.size(), "layer") + " that line " + std::to_string(workload.count_line) +
                      " counts " + (workload.lines_beyond == 1 ? "is" : "are") + " not read");
  }
  for (const std::string& word : workload.not_read) remarks.push_back(word + ": in the first line, is not read");
  return remarks;
}

}  // namespace weft::chakra
