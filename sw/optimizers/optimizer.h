// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hw/core/config/any_config.h"
#include "hw/core/config/registry.h"
#include "sw/dimensions/plan.h"
#include "sw/models/kernels.h"
#include "sw/models/transformer.h"
#include "sw/optimizers/choice.h"

/// Optimizers of a training step by the names that `workload.optimizer` gives them. An optimizer is asked before the
/// run, and knows shapes alone: of the parameters that a rank updates, and of how ranks share them. It answers with
/// kernels, with collectives between them, and with what it keeps in memory. Weft's own are listed in optimizers.cpp,
/// each in a file of its own here; a user provides others before the platform is read:
///
///     optimizers::provide({.name = "lion",
///                          .doc = "the sign of a momentum",
///                          .config = LionConfig(),  // fields at workload.lion
///                          .make = [](const AnyConfig& config) { return std::make_unique<Lion>(config); }});
namespace weft::optimizers {

/// Tensors of one shape, of one unit or of several: `count` matrices of `rows` outputs by `cols` inputs, as the rank
/// has them when the ranks of its holding put together what they share. Vectors have one column.
struct Tensors {
  std::string name;
  std::int64_t rows = 0;
  std::int64_t cols = 1;
  std::int64_t count = 1;
  /// A block's matrix. Others are embedding, head, norms and biases.
  bool is_hidden = false;
  /// Tensor parallelism has cut the rows, or the columns, among so many ranks; 1: they are whole.
  std::int64_t row_cuts = 1;
  std::int64_t col_cuts = 1;

  [[nodiscard]] std::int64_t elements() const { return rows * cols; }
  [[nodiscard]] std::int64_t cuts() const { return row_cuts * col_cuts; }
  [[nodiscard]] bool operator==(const Tensors&) const = default;
};

/// How ranks share the parameters that they all train.
enum class Sharing : std::uint8_t {
  kWhole,   ///< each has all, and all gradients: data parallelism
  kShards,  ///< each has some rows of every tensor, and their gradients (FSDP2)
  kFlat,    ///< each has some elements of all tensors, one behind the other, and their gradients (FSDP1)
  /// Each is given the gradients of what it updates, and what is updated is gathered by the schedule (ZeRO stage 1).
  kGiven,
};

/// Parameters that the same ranks train: experts apart from all others.
struct Holding {
  std::string name;  ///< before what its collectives are called: "experts."
  std::vector<Tensors> tensors;
  Sharing sharing = Sharing::kWhole;
  std::int64_t ranks = 1;
  std::int64_t place = 0;  ///< the rank's number among them
  std::int64_t share = 0;  ///< elements that the rank has gradients of: with kWhole all, else its part, padded
  /// So many ranks have the same shards, and sums of the same gradients (HSDP), and which of these the rank is.
  std::int64_t copies = 1;
  std::int64_t copy = 0;

  [[nodiscard]] std::int64_t elements() const {
    std::int64_t sum = 0;
    for (const Tensors& each : tensors) sum += each.count * each.elements();
    return sum;
  }
};

/// What a rank has to update.
struct Problem {
  std::vector<Holding> holdings;
  models::Fusion fusion = models::Fusion::kFused;
  int element_bytes = 2;     ///< of parameters as they are computed with
  std::int64_t batches = 1;  ///< that a step computes one after the other; what is observed of them adds up

  /// Elements that the rank has gradients of.
  [[nodiscard]] std::int64_t share() const {
    std::int64_t sum = 0;
    for (const Holding& each : holdings) sum += each.share;
    return sum;
  }
};

/// Layers whose backward pass a rank has computed, and of what: those of a block, experts apart from all others.
struct Observed {
  std::vector<Tensors> layers;  ///< their matrices, whole but for cuts, and what else they have
  std::int64_t tokens = 0;      ///< that came to each
  std::int64_t batch = 0;       ///< of the step's, from 0
};

/// A collective among the ranks of a holding, or among those that tensor parallelism has cut its tensors for, or that
/// have copies of the same shards.
struct Exchange {
  dimensions::Operation what = dimensions::Operation::kAllToAll;
  std::int64_t bytes = 0;  ///< of the whole buffer, in equal parts: where ranks have more or less, their mean
  std::size_t holding = 0;
  bool is_of_cuts = false;
  bool is_of_copies = false;
  /// Of what is exchanged. Sums are added up in 32 bits or in bf16.
  int element_bytes = 2;
  /// What is sent lies at the beginning of the first of what the optimizer keeps, and needs no buffer.
  bool is_from_state = false;
};

/// Kernels, then a collective that needs them; what comes behind it in a task needs what it brings.
struct Piece {
  std::string name;
  std::vector<models::Kernel> kernels;
  std::optional<Exchange> exchange;
};
/// Pieces one after the other, of which the last has no collective. Tasks do not wait for each other, but kernels run
/// one at a time, and so do collectives.
struct Task {
  std::vector<Piece> pieces;
  bool is_last = false;  ///< begins when all tasks before it have ended
};

/// What a rank keeps beside the parameters that it computes with.
struct Kept {
  std::int64_t masters = 0;  ///< parameters of which it needs a copy in 32 bits
  /// What, and of how many bytes: {"two moments in 32 bits", 8 * n}.
  std::vector<std::pair<std::string, std::int64_t>> state;

  [[nodiscard]] std::int64_t state_bytes() const {
    std::int64_t sum = 0;
    for (const auto& [what, bytes] : state) sum += bytes;
    return sum;
  }
};

class Optimizer {
 public:
  Optimizer() = default;
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  /// Throws ConfigError, with the path below `workload`, for what it cannot do.
  virtual void check(const Problem& /*problem*/) const {}
  /// The update at the end of the step of this number, from 0. All ranks of a holding have the same exchanges.
  [[nodiscard]] virtual std::vector<Task> update(const Problem& problem, std::int64_t step) const = 0;
  /// What it computes of the inputs of a block's layers and of the gradients of their outputs, behind the block's
  /// backward pass in the step of this number.
  [[nodiscard]] virtual std::vector<models::Kernel> observe(const Problem& /*problem*/, const Observed& /*what*/,
                                                            std::int64_t /*step*/) const {
    return {};
  }
  /// Steps that repeat: step n is updated as step n mod `period` is.
  [[nodiscard]] virtual std::int64_t period() const { return 1; }
  /// Of the steps of a period, the first that is updated as this one: to plan each kind of step once.
  [[nodiscard]] virtual std::int64_t like(std::int64_t step) const { return step % period(); }
  [[nodiscard]] virtual Kept kept(const Problem& problem) const = 0;
  /// Bytes of its state for each parameter, if the last kernel of an update goes through state and parameters in step,
  /// so that both can be loaded and stored in pieces; 0: it cannot be cut so.
  [[nodiscard]] virtual std::int64_t streamed_bytes() const { return 0; }
};

/// An entry of the registry.
struct Method {
  std::string name;
  std::string doc;
  AnyConfig config = {};
  std::string config_doc = {};
  std::function<std::unique_ptr<Optimizer>(const AnyConfig& config)> make;
};

/// Throws std::invalid_argument for a name that is taken, or without a `make`.
void provide(Method method);
[[nodiscard]] const Registry<Method>& methods();
/// Throws ConfigError for a name that does not exist.
[[nodiscard]] std::shared_ptr<const Optimizer> optimizer_of(const Choice& choice);

/// A piece in the order in which a rank runs what the tasks of an update have.
struct Ordered {
  const Piece* piece = nullptr;
  std::size_t task = 0;
  /// Collectives of those before, in their order, that its kernels wait for.
  std::size_t exchanged = 0;
};
/// Tasks overlap: the first piece of a task comes before the second one of the task before it, and so on. So the
/// collective of one runs beside the kernels of the next, and no more tasks are under way than a task has pieces.
[[nodiscard]] std::vector<Ordered> in_order(const std::vector<Task>& tasks);

}  // namespace weft::optimizers
