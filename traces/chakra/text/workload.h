// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "traces/chakra/groups.h"
#include "traces/chakra/node.h"

namespace weft::chakra {

/// Text workloads: a network as a table of layers, and a word for how it is trained in parallel. They came with
/// ASTRA-sim 1.0; SimAI reads them today, and AICB writes them for it.
///
///     HYBRID_TRANSFORMER model_parallel_NPU_group: 4     the kind of parallelism and what it needs to know
///     57                                                 how many layers follow
///     Q1 -1 3145728 NONE 0 2162688 ALLREDUCE 8388608 2228224 ALLREDUCE 33554432 10
///
/// A layer has a name, a number that nobody reads, then for the forward pass, the input gradient and the weight
/// gradient each a compute time in nanoseconds, a collective and its size in bytes, and last the time of the weights'
/// update. ASTRA-sim 1.0 has each collective of the layer end so much later; the usual converter leaves it out and this
/// one, too, with a remark. HYBRID_CUSTOMIZED has a kind of parallelism after each layer.
///
/// SimAI's have more words in the first line: `ep: 2 pp: 1 vpp: 2 ga: 1 all_gpus: 8 pp_comm: 0`. Collectives may be of
/// other groups than their pass's, ALLTOALL_EP or REDUCESCATTER_DP_EP, and the size of an ALLGATHER is what each rank
/// has after it, where ASTRA-sim counts what each has before. The layers are those of one stage of the pipeline, for
/// all microbatches: stages all run them, and do not exchange anything.
struct TextWorkload {
  enum class Parallelism {
    kMicro,            ///< the collectives of the weight gradients alone
    kData,             ///< gradients of weights are reduced, while the input gradients go on
    kModel,            ///< activations and their gradients are exchanged, and waited for
    kHybridDataModel,  ///< both
    kHybridModelData,
    kDlrm,                          ///< as kData, with an all-to-all of the embedding forth and back
    kDlrmEnhanced,                  ///< the same, and the embedding's gradient does not wait for the all-to-all
    kTransformer,                   ///< tensor parallel within groups, data parallel across them
    kTransformerForwardInBackward,  ///< with forward passes again from checkpoints
    kCustomized,                    ///< a kind for each layer
    kInference,                     ///< forward passes only
  };
  enum Pass { kForward, kInputGradient, kWeightGradient };
  enum class Dialect : std::uint8_t { kAstraSim, kSimAi };
  /// Whose collective it is.
  enum class Group : std::uint8_t {
    kModel,       ///< tensor parallel; of the forward pass and the input gradient, unless they say another
    kData,        ///< data parallel; of the weight gradient, likewise
    kExpert,      ///< _EP: some neighbours of a data-parallel group, which have different experts
    kExpertData,  ///< _DP_EP: those of a data-parallel group that have the same experts
  };
  struct Work {
    std::uint64_t compute_nanos = 0;
    std::optional<CollectiveType> collective;
    std::uint64_t bytes = 0;
    Group group = Group::kModel;
  };
  struct Layer {
    std::string name;
    std::array<Work, 3> passes;  ///< by Pass
    Parallelism parallelism = Parallelism::kMicro;
    bool is_checkpoint = false;
    std::uint64_t update_nanos = 0;
    bool recomputes = false;  ///< before its gradients, the forward pass runs again from the last checkpoint
  };

  std::string file;
  std::string word;  ///< for the parallelism, as the file has it
  Parallelism parallelism = Parallelism::kMicro;
  std::vector<Layer> layers;
  std::uint64_t last_bottom_layer = 0;  ///< of a DLRM: index of the one that waits for the embedding
  std::uint64_t model_group = 0;        ///< ranks of a tensor-parallel group; 0 if the file does not tell

  Dialect dialect = Dialect::kAstraSim;  ///< SimAI's if the file has a word of its own
  std::uint64_t ranks = 0;               ///< all_gpus; 0 if the file does not tell
  std::uint64_t expert_group = 0;        ///< ep; 0 if the file does not tell
  std::uint64_t stages = 1;              ///< pp, of the pipeline
  std::uint64_t stage_bytes = 0;         ///< pp_comm, between stages
  std::vector<std::string> not_read;     ///< words of the first line that mean nothing here
  int count_line = 0;                    ///< that says how many layers there are
  std::uint64_t lines_beyond = 0;        ///< behind as many layers, blank ones not counted: nobody reads them
};

/// Throws traces::FormatError, which names the line.
TextWorkload read_text_workload(const std::filesystem::path& file);

struct TextConversion {
  std::uint64_t ranks = 1;
  std::uint64_t passes = 1;
  /// Compute times count microseconds. They do not; the usual converter takes them for such, and so a trace that it
  /// made computes 1,000 times too long. For comparing with those.
  bool take_nanos_for_micros = false;
};

/// The groups that the graph's nodes name; empty where every collective is of all ranks. Tensor-parallel groups are of
/// neighbours, and data-parallel ones of every (model_group * stages)th rank, for HYBRID_MODEL_DATA the other way
/// round, and it has neither experts nor stages. Throws traces::FormatError if the ranks cannot be cut into such
/// groups.
std::vector<RankGroup> groups_of(const TextWorkload& workload, std::uint64_t ranks);
/// What a user should know of the conversion, a line each: collectives and times that are left out, and what is read in
/// a way that may surprise.
std::vector<std::string> remarks_of(const TextWorkload& workload, const TextConversion& conversion);
/// Hands over the nodes of a rank, ids from 0.
void generate(const TextWorkload& workload, std::uint64_t rank, const TextConversion& conversion,
              const std::function<void(const Node&)>& take);

/// Writes PREFIX.RANK.et for each rank and, where there are groups, PREFIX.groups.json, which maps a group's name to
/// its ranks as ASTRA-sim's communicator files do. Throws as the above, and std::system_error.
void convert_text_workload(const TextWorkload& workload, const std::filesystem::path& prefix,
                           const TextConversion& conversion);

}  // namespace weft::chakra
