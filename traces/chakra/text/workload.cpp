// SPDX-License-Identifier: Apache-2.0
// From a table of layers to a graph: the training loops of ASTRA-sim 1.0, unrolled.
#include "traces/chakra/text/workload.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <unordered_set>
#include <utility>

#include "traces/chakra/check.h"
#include "traces/chakra/ranks.h"
#include "traces/chakra/text/groups.h"
#include "traces/chakra/writer.h"
#include "traces/files/format_error.h"

namespace weft::chakra {
namespace {

using Ids = std::vector<std::uint64_t>;
using Layer = TextWorkload::Layer;
using Parallelism = TextWorkload::Parallelism;
using Pass = TextWorkload::Pass;
using Work = TextWorkload::Work;

class Generator {
 public:
  Generator(const TextWorkload& workload, std::uint64_t rank, const TextConversion& conversion,
            const std::function<void(const Node&)>& take)
      : workload_(workload),
        rank_(rank),
        conversion_(conversion),
        take_(take),
        groups_(workload, conversion.ranks),
        gradients_(workload.layers.size()) {}

  /// Notes what the loop has nodes for.
  void set_issued(IssuedWork& issued) { issued_ = &issued; }

  void run() {
    for (std::uint64_t pass = 0; pass < conversion_.passes; ++pass) {
      switch (workload_.parallelism) {
        case Parallelism::kMicro:
          micro();
          break;
        case Parallelism::kData:
          forward(false);
          backward_by_weights();
          break;
        case Parallelism::kDlrm:
        case Parallelism::kDlrmEnhanced:
          forward_dlrm();
          backward_by_weights();
          break;
        case Parallelism::kInference:
          forward(true);
          break;
        default:
          forward(true);
          backward_by_inputs();
      }
    }
  }

 private:
  [[nodiscard]] const std::vector<Layer>& layers() const { return workload_.layers; }

  std::uint64_t emit(Node& node, const Ids& after) {
    node.id = next_id_++;
    node.data_dependencies = after;
    take_(node);
    return node.id;
  }

  std::uint64_t compute(const Layer& layer, const char* what, const Work& work, const Ids& after) {
    if (issued_ != nullptr) issued_->computed.insert(&work);
    Node node;
    node.name = layer.name + what;
    node.type = NodeType::kCompute;
    if (conversion_.take_nanos_for_micros) {
      node.duration_micros = work.compute_nanos;
    } else {
      node.set_duration_nanos(work.compute_nanos);
    }
    return emit(node, after);
  }

  /// Its id; none if the layer has no collective in this pass, or if it would be among one rank.
  Ids collective(const Layer& layer, const char* what, Pass pass, const Ids& after) {
    const Work& work = layer.passes[pass];
    if (issued_ != nullptr) issued_->exchanged.insert(&work);
    if (!work.collective || groups_.is_alone(work.group)) return {};
    Node node;
    node.name = layer.name + what + "_" + name_of(*work.collective);
    node.type = NodeType::kCollective;
    node.attributes.push_back(Attribute::integer("comm_type", static_cast<int>(*work.collective)));
    node.attributes.push_back(Attribute::integer("comm_size", static_cast<std::int64_t>(groups_.bytes_of(work))));
    if (groups_.has_name(work.group)) {
      node.attributes.push_back(Attribute::text("pg_name", std::to_string(groups_.number(work.group, rank_))));
    }
    return {emit(node, after)};
  }

  static Ids joined(Ids ids, const Ids& more) {
    ids.insert(ids.end(), more.begin(), more.end());
    return ids;
  }

  /// What a layer's forward pass waits for: the step before, and the last pass's reduction of its gradients.
  [[nodiscard]] Ids before_forward(std::size_t layer) const { return joined(after_, gradients_[layer]); }

  void micro() {
    for (std::size_t i = 0; i < layers().size(); ++i) {
      gradients_[i] = collective(layers()[i], "_WG", TextWorkload::kWeightGradient, gradients_[i]);
    }
  }

  void forward_layer(std::size_t index, bool communicates, const Ids& after) {
    const Layer& layer = layers()[index];
    const std::uint64_t computed = compute(layer, "_FWD", layer.passes[TextWorkload::kForward], after);
    after_ = {computed};
    if (!communicates) return;
    const Ids exchanged = collective(layer, "_FWD", TextWorkload::kForward, after_);
    if (!exchanged.empty()) after_ = exchanged;
  }

  void forward(bool communicates) {
    for (std::size_t i = 0; i < layers().size(); ++i) forward_layer(i, communicates, before_forward(i));
  }

  /// The embedding's all-to-all is waited for where the bottom layers end.
  void forward_dlrm() {
    Ids exchanged;
    for (std::size_t i = 0; i < layers().size(); ++i) {
      const bool waits = i == workload_.last_bottom_layer;
      forward_layer(i, false, waits ? joined(before_forward(i), exchanged) : before_forward(i));
      if (layers()[i].passes[TextWorkload::kForward].collective != CollectiveType::kAllToAll) continue;
      exchanged = collective(layers()[i], "_FWD", TextWorkload::kForward, after_);
    }
  }

  void weight_gradient(std::size_t index, const Ids& after, bool communicates) {
    const Layer& layer = layers()[index];
    const std::uint64_t computed = compute(layer, "_BWD_WG", layer.passes[TextWorkload::kWeightGradient], after);
    after_ = {computed};
    gradients_[index].clear();
    if (communicates) gradients_[index] = collective(layer, "_BWD_WG", TextWorkload::kWeightGradient, after_);
  }

  /// Reductions of weights' gradients run beside what follows.
  void backward_by_weights() {
    const bool is_dlrm = workload_.parallelism != Parallelism::kData;
    Ids exchanged;
    for (std::size_t i = layers().size(); i-- > 0;) {
      const bool waits = i == 0 && workload_.parallelism == Parallelism::kDlrm;
      weight_gradient(i, waits ? joined(after_, exchanged) : after_, true);
      if (i == 0) return;
      after_ = {compute(layers()[i], "_BWD_IG", layers()[i].passes[TextWorkload::kInputGradient], after_)};
      if (is_dlrm && i == workload_.last_bottom_layer + 1) {
        exchanged = collective(layers()[0], "_BWD_IG", TextWorkload::kInputGradient, after_);
      }
    }
  }

  void backward_by_inputs() {
    const bool is_transformer = workload_.parallelism == Parallelism::kTransformer ||
                                workload_.parallelism == Parallelism::kTransformerForwardInBackward;
    for (std::size_t i = layers().size(); i-- > 0;) {
      const Layer& layer = layers()[i];
      if (layer.recomputes) recompute(i);
      const Ids computed = {compute(layer, "_BWD_IG", layer.passes[TextWorkload::kInputGradient], after_)};
      // Nobody needs the gradient of the network's input; only the transformer's loop exchanges it all the same.
      Ids exchanged;
      if (i > 0 || is_transformer) exchanged = collective(layer, "_BWD_IG", TextWorkload::kInputGradient, computed);
      const bool waits = is_transformer && !exchanged.empty();
      weight_gradient(i, waits ? exchanged : computed, workload_.parallelism != Parallelism::kModel);
      if (!is_transformer) after_ = joined(after_, exchanged);
    }
  }

  /// The forward pass again, from the last checkpoint up to the layer whose gradients need it.
  void recompute(std::size_t index) {
    std::size_t from = index;
    while (!layers()[from].is_checkpoint) --from;
    for (std::size_t i = from; i < index; ++i) forward_layer(i, true, after_);
  }

  const TextWorkload& workload_;
  std::uint64_t rank_;
  const TextConversion& conversion_;
  const std::function<void(const Node&)>& take_;
  TextGroups groups_;
  IssuedWork* issued_ = nullptr;
  std::uint64_t next_id_ = 0;
  Ids after_;                   ///< what the next step waits for
  std::vector<Ids> gradients_;  ///< by layer, the reduction of its weights' gradients
};

/// Refuses what check() would find in the traces.
void check_sizes(const TextWorkload& workload, const TextConversion& conversion) {
  const TextGroups groups(workload, conversion.ranks);
  const std::uint64_t most_nanos = conversion.take_nanos_for_micros ? kMostNanos / 1000 : kMostNanos;
  const std::uint64_t most_bytes = kMostBytes / std::max<std::uint64_t>(conversion.ranks, 1);
  for (const Layer& layer : workload.layers) {
    for (const Work& work : layer.passes) {
      if (work.compute_nanos > most_nanos) {
        throw traces::FormatError(workload.file, 0,
                                  "layer " + layer.name + ": expected at most " + std::to_string(most_nanos) +
                                      " microseconds, got " + std::to_string(work.compute_nanos));
      }
      if (work.collective != CollectiveType::kAllGather || groups.bytes_of(work) <= most_bytes) continue;
      throw traces::FormatError(workload.file, 0,
                                "layer " + layer.name + ": expected at most " + std::to_string(most_bytes) +
                                    " bytes of each of " + std::to_string(conversion.ranks) + " ranks, got " +
                                    std::to_string(groups.bytes_of(work)));
    }
  }
}

}  // namespace

void generate(const TextWorkload& workload, std::uint64_t rank, const TextConversion& conversion,
              const std::function<void(const Node&)>& take) {
  Generator(workload, rank, conversion, take).run();
}

IssuedWork issued_work(const TextWorkload& workload, std::uint64_t ranks) {
  IssuedWork issued;
  const std::function<void(const Node&)> drop = [](const Node&) {};
  TextConversion once;
  once.ranks = ranks;
  Generator generator(workload, 0, once, drop);
  generator.set_issued(issued);
  generator.run();
  return issued;
}

void convert_text_workload(const TextWorkload& workload, const std::filesystem::path& prefix,
                           const TextConversion& conversion) {
  const std::vector<RankGroup> groups = groups_of(workload, conversion.ranks);
  check_sizes(workload, conversion);
  Metadata metadata;
  metadata.version = "1.0.0";
  metadata.attributes = {Attribute::text("source", std::filesystem::path(workload.file).filename().string()),
                         Attribute::text("parallelism", workload.word)};
  for (std::uint64_t rank = 0; rank < conversion.ranks; ++rank) {
    TraceWriter writer(rank_file(prefix, rank), metadata);
    generate(workload, rank, conversion, [&](const Node& node) { writer.write(node); });
    writer.close();
  }
  if (!groups.empty()) write_groups(groups_file(prefix), groups);
}

}  // namespace weft::chakra
