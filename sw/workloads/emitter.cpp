// SPDX-License-Identifier: Apache-2.0
#include "sw/workloads/emitter.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "traces/chakra/exchange.h"
#include "traces/chakra/host_times.h"

namespace weft::workloads {

using chakra::Attribute;
using chakra::CollectiveType;
using chakra::Node;
using chakra::NodeType;

namespace {

/// As the converters of Chakra's users write ranks and tags.
Attribute int32(std::string name, std::int64_t value) {
  Attribute attribute = Attribute::integer(std::move(name), value);
  attribute.kind = chakra::ValueKind::kInt32;
  return attribute;
}

Node message(std::string name, NodeType type, std::int64_t from, std::int64_t to, std::int64_t tag,
             std::int64_t bytes) {
  Node node;
  node.name = std::move(name);
  node.type = type;
  node.attributes = {int32("comm_src", from), int32("comm_dst", to), int32("comm_tag", tag),
                     Attribute::integer("comm_size", bytes)};
  return node;
}

}  // namespace

Ids joined(std::initializer_list<Ids> all) {
  Ids ids;
  for (const Ids& some : all) ids.insert(ids.end(), some.begin(), some.end());
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

/// By the names that scopes of a compression have (sw/compression/scopes.h). What an optimizer exchanges has none.
void Emitter::set_traffic(Node& node, Purpose purpose) const {
  constexpr std::array<const char*, kPurposes> kNames = {"tensor",     "context",   "expert",    "pipeline",
                                                         "parameters", "gradients", "gradients", nullptr};
  const auto which = static_cast<std::size_t>(purpose);
  if (kNames[which] == nullptr) return;
  node.attributes.push_back(Attribute::text("traffic", kNames[which]));
  node.attributes.push_back(Attribute::integer("element_bytes", elements_[which]));
}

namespace {

/// Ids of recorded nodes begin here; below, the node before in the program's order.
constexpr std::uint64_t kProvisional = std::uint64_t{1} << 62;
constexpr std::uint64_t kBefore = kProvisional - 1;

}  // namespace

Ids Emitter::program_order() const {
  return recorded_ != nullptr ? Ids{kBefore} : last_compute();
}

Ids Emitter::known(const Ids& ids) const {
  Ids result;
  for (const std::uint64_t id : ids) {
    if (id == kBefore) {
      if (last_compute_) result.push_back(*last_compute_);
    } else {
      result.push_back(id < kProvisional ? id : *provisional_[id - kProvisional]);
    }
  }
  return result;
}

bool Emitter::is_known(const Recorded::Each& each) const {
  const auto all = [this](const Ids& ids) {
    return std::all_of(ids.begin(), ids.end(),
                       [this](std::uint64_t id) { return id < kProvisional || provisional_[id - kProvisional]; });
  };
  return all(each.data) && all(each.control);
}

void Emitter::emit_now(Recorded::Each& each) {
  Node& node = each.node;
  node.id = next_id_++;
  const Ids data = known(each.data);
  node.data_dependencies = joined({data});
  for (const std::uint64_t id : joined({known(each.control)})) {
    if (std::find(data.begin(), data.end(), id) == data.end()) node.control_dependencies.push_back(id);
  }
  node.attributes.push_back(Attribute::boolean("is_cpu_op", false));
  set_host(each);
  ++sums_.nodes;
  take_(node);
  if (each.is_compute) last_compute_ = node.id;
}

void Emitter::set_host(Recorded::Each& each) {
  if (launch_ == Time()) return;
  chakra::HostTimes times;
  if (!each.is_compute) {
    if (!each.is_in_graph || graph_ == Host::kNone) launched_ += launch_;
    if (each.ends_turn) graph_ = Host::kNone;
    times.before_ps = launched_.count();
    // It is no work for the host until something has come.
    if (each.node.type != NodeType::kReceive) chakra::set_host_times(each.node, times);
    return;
  }
  times.waits = each.host.waits;
  times.before_ps = std::exchange(launched_, Time()).count();
  const bool is_in_graph = each.host.graph != Host::kNone;
  for (std::size_t i = 0; i < each.launches.size(); ++i) {
    const bool begins_graph = is_in_graph && i == 0 && each.host.graph != graph_;
    const int count = is_in_graph ? (begins_graph ? 1 : 0) : each.launches[i];
    times.kernels.push_back({(launch_ * std::min(count, 1)).count(), (launch_ * count).count()});
  }
  graph_ = each.host.graph;
  chakra::set_host_times(each.node, times);
}

Ids Emitter::emit(Node& node, const Ids& data, const Ids& control, bool ends_turn) {
  return emit({std::move(node), data, control, /*is_compute=*/false, ends_turn});
}

Ids Emitter::emit(Recorded::Each each) {
  const bool is_compute = each.is_compute;
  if (recorded_ == nullptr) {
    emit_now(each);
    return {each.node.id};
  }
  const std::uint64_t id = kProvisional + provisional_.size();
  each.node.id = id;
  provisional_.emplace_back();
  if (is_compute) recorded_->last_compute = id;
  recorded_->nodes.push_back(std::move(each));
  return {id};
}

void Emitter::merge(Recorded one, Recorded other) {
  std::array<Recorded*, 2> all = {&one, &other};
  std::array<std::size_t, 2> at{};
  const auto emit_next = [&](std::size_t which) {
    Recorded::Each& each = all[which]->nodes[at[which]++];
    const std::uint64_t id = each.node.id;
    emit_now(each);
    provisional_[id - kProvisional] = each.node.id;
    return each.ends_turn;
  };
  const auto is_over = [&](std::size_t which) { return at[which] == all[which]->nodes.size(); };
  for (std::size_t which = 0; !is_over(0) || !is_over(1); which = 1 - which) {
    for (bool ends = false; !ends && !is_over(which);) {
      // What it waits for in the other part comes first.
      while (!is_known(all[which]->nodes[at[which]])) static_cast<void>(emit_next(1 - which));
      ends = emit_next(which);
    }
  }
}

Ids Emitter::compute(std::string name, const Work& work, const Ids& data, const Host& host) {
  Node node;
  node.name = std::move(name);
  node.type = NodeType::kCompute;
  node.attributes = {Attribute::integer("num_ops", std::max<std::int64_t>(work.operations, 1)),
                     Attribute::natural("tensor_size", static_cast<std::uint64_t>(work.bytes))};
  constexpr std::int64_t kPicosPerNano = 1000;
  const std::int64_t nanos = (work.picoseconds + kPicosPerNano / 2) / kPicosPerNano;
  if (nanos > 0) node.set_duration_nanos(static_cast<std::uint64_t>(nanos));
  if (!work.kernels.empty()) chakra::set_kernels(node, work.kernels);
  sums_.operations += work.operations;
  Recorded::Each each{std::move(node), data, program_order(), /*is_compute=*/true};
  each.host = host;
  each.launches = work.launches;
  // A node that lists no kernels is one.
  if (work.kernels.empty()) each.launches = {std::accumulate(work.launches.begin(), work.launches.end(), 0)};
  return emit(std::move(each));
}

Ids Emitter::emit_collective(std::string name, Purpose purpose, const Collective& what, std::int64_t members,
                             const std::string& group, const Ids& data, const Ids& control) {
  Node node;
  node.name = std::move(name);
  node.type = NodeType::kCollective;
  const std::int64_t size = what.type == CollectiveType::kAllGather ? what.bytes / members : what.bytes;
  node.attributes = {Attribute::integer("comm_type", static_cast<int>(what.type)),
                     Attribute::integer("comm_size", size), Attribute::text("pg_name", group)};
  set_traffic(node, purpose);
  if (!what.to.empty()) chakra::set_exchange(node, {what.to, what.from});
  if (what.tokens) chakra::set_tokens(node, *what.tokens);
  RankSums::Volume& volume = sums_.communication[static_cast<std::size_t>(purpose)];
  ++volume.nodes;
  volume.bytes += what.to.empty() ? what.bytes : std::accumulate(what.to.begin(), what.to.end(), std::int64_t{0});
  const bool ends_turn = purpose == Purpose::kExpertParallel && what.type == CollectiveType::kAllToAll;
  Recorded::Each each{std::move(node), data, joined({control, program_order()}), /*is_compute=*/false, ends_turn};
  each.is_in_graph = purpose == Purpose::kTensorParallel || purpose == Purpose::kContextParallel;
  return emit(std::move(each));
}

Ids Emitter::collective(std::string name, Purpose purpose, const Collective& what, const Ids& data,
                        const Ids& control) {
  const std::int64_t members = parallel_.group_size(what.among);
  if (members == 1) return data;
  return emit_collective(std::move(name), purpose, what, members, groups_.name(rank_, what.among), data, control);
}

Ids Emitter::tied_all_reduce(std::string name, std::int64_t bytes, const Ids& data) {
  return emit_collective(std::move(name), Purpose::kTiedEmbedding, {CollectiveType::kAllReduce, bytes, Members{}}, 2,
                         groups_.tied_name(rank_), data, {});
}

Ids Emitter::mirrored_all_reduce(std::string name, std::int64_t bytes, const Ids& data) {
  return emit_collective(std::move(name), Purpose::kGradients, {CollectiveType::kAllReduce, bytes, Members{}}, 2,
                         groups_.mirrored_name(rank_), data, {});
}

Ids Emitter::send(std::string name, Purpose purpose, std::int64_t to, std::int64_t tag, std::int64_t bytes,
                  const Ids& data) {
  Node node = message(std::move(name), NodeType::kSend, rank_, to, tag, bytes);
  set_traffic(node, purpose);
  RankSums::Volume& volume = sums_.communication[static_cast<std::size_t>(purpose)];
  ++volume.nodes;
  volume.bytes += bytes;
  Recorded::Each each{std::move(node), data, {}};
  each.is_in_graph = purpose == Purpose::kTensorParallel || purpose == Purpose::kContextParallel;
  return emit(std::move(each));
}

Ids Emitter::receive(std::string name, std::int64_t from, std::int64_t tag, std::int64_t bytes, const Ids& control) {
  Node node = message(std::move(name), NodeType::kReceive, from, rank_, tag, bytes);
  return emit(node, {}, control);
}

}  // namespace weft::workloads
