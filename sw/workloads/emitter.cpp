// SPDX-License-Identifier: Apache-2.0
#include "sw/workloads/emitter.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "traces/chakra/exchange.h"

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

Ids Emitter::emit(Node& node, const Ids& data, const Ids& control) {
  node.id = next_id_++;
  node.data_dependencies = joined({data});
  for (const std::uint64_t id : joined({control})) {
    if (std::find(data.begin(), data.end(), id) == data.end()) node.control_dependencies.push_back(id);
  }
  node.attributes.push_back(Attribute::boolean("is_cpu_op", false));
  ++sums_.nodes;
  take_(node);
  return {node.id};
}

Ids Emitter::compute(std::string name, const Work& work, const Ids& data) {
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
  Ids id = emit(node, data, last_compute());
  last_compute_ = id.front();
  return id;
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
  RankSums::Volume& volume = sums_.communication[static_cast<std::size_t>(purpose)];
  ++volume.nodes;
  volume.bytes += what.to.empty() ? what.bytes : std::accumulate(what.to.begin(), what.to.end(), std::int64_t{0});
  return emit(node, data, joined({control, last_compute()}));
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

Ids Emitter::send(std::string name, Purpose purpose, std::int64_t to, std::int64_t tag, std::int64_t bytes,
                  const Ids& data) {
  Node node = message(std::move(name), NodeType::kSend, rank_, to, tag, bytes);
  set_traffic(node, purpose);
  RankSums::Volume& volume = sums_.communication[static_cast<std::size_t>(purpose)];
  ++volume.nodes;
  volume.bytes += bytes;
  return emit(node, data, {});
}

Ids Emitter::receive(std::string name, std::int64_t from, std::int64_t tag, std::int64_t bytes, const Ids& control) {
  Node node = message(std::move(name), NodeType::kReceive, from, rank_, tag, bytes);
  return emit(node, {}, control);
}

}  // namespace weft::workloads
