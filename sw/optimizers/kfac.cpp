// SPDX-License-Identifier: Apache-2.0
// K-FAC (Martens and Grosse, ICML 2015, arXiv 1503.05671) on the matrices of blocks, AdamW on all else. Of a matrix
// with gradient D, A is the mean of a a^T over the inputs of its layer, G that of g g^T over the gradients of its
// outputs, and the update is a momentum of G^-1 D A^-1. Both factors are block-diagonal, in blocks of at most `block`
// rows and columns, as Distributed Shampoo blocks matrices (Shi et al., arXiv 2309.06497, section 3).
//
// A rank multiplies for factors what it has computed itself, behind the backward pass of each block, and keeps the sums
// of all layers, as gpauloski/kfac-pytorch keeps its factors on all ranks. At the end of a step matrices of one shape
// go in batches of as many as there are ranks, in which each rank owns one, as in microsoft/dion: a ReduceScatter gives
// the owner the sums of its factors, of which it keeps averages and inverses; an AllToAll gives it the matrix's
// gradient, and another one all ranks their rows of what it makes of that. Where ranks have whole gradients, the first
// is not needed and an Allgather takes the place of the second. A distributed optimizer gives owners whole gradients
// and gathers parameters itself, so that of all this the ReduceScatter is left, and what is owned is as in
// layer_wise.h.
//
// A matrix that tensor parallelism has cut is preconditioned part by part: the factor of the side that is cut is
// block-diagonal by the parts, and that of the other side is the same on all ranks that have one.
#include <map>
#include <numeric>
#include <utility>

#include "hw/core/element.h"
#include "hw/core/fields.h"
#include "sw/optimizers/elementwise.h"
#include "sw/optimizers/layer_wise.h"
#include "sw/optimizers/optimizer.h"

namespace weft::optimizers {
namespace {

using dimensions::Operation;
using models::Elementwise;
using models::Gemm;
using models::Inverse;
using models::Kernel;

/// In which sums of factors are kept and added up over ranks.
enum class FactorDtype : std::uint8_t { kFp32, kBf16 };
inline EnumNames<FactorDtype> enum_names(FactorDtype /*tag*/) {
  return {{"fp32", FactorDtype::kFp32}, {"bf16", FactorDtype::kBf16}};
}

enum class InverseKind : std::uint8_t { kCholesky, kEigen };
inline EnumNames<InverseKind> enum_names(InverseKind /*tag*/) {
  return {{"cholesky", InverseKind::kCholesky}, {"eigen", InverseKind::kEigen}};
}

struct KfacOptimizerConfig {
  std::int64_t block = 1024;
  std::int64_t factor_interval = 10;
  std::int64_t inverse_interval = 100;
  FactorDtype factor_dtype = FactorDtype::kFp32;
  InverseKind inverse = InverseKind::kCholesky;
  bool symmetric = false;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("block", block, "Rows and columns of a block of a factor, at most; factors are block-diagonal",
          Range{16, 1 << 16});
    visit("factor_interval", factor_interval, "Steps from one update of factors to the next; the first step has one",
          Range{1, 1 << 20});
    visit("inverse_interval", inverse_interval, "Steps from one update of inverses to the next; the first step has one",
          Range{1, 1 << 20});
    visit("factor_dtype", factor_dtype,
          "In which a rank keeps the sums of factors, and ranks add them up; averages and inverses are in fp32");
    visit("inverse", inverse, "What the owner makes of a factor: its inverse, or eigenvectors and eigenvalues");
    visit("symmetric", symmetric, "Kernels compute half of a factor and write it twice");
  }
};

/// A dimension in blocks: whole ones, and what remains.
struct Diagonal {
  std::int64_t block = 0;
  std::int64_t count = 0;
  std::int64_t rest = 0;

  Diagonal(std::int64_t side, std::int64_t most) : block(most), count(side / most), rest(side % most) {}
  [[nodiscard]] std::int64_t elements() const { return count * block * block + rest * rest; }
  /// For each size its side and how many there are.
  [[nodiscard]] std::vector<std::pair<std::int64_t, std::int64_t>> sizes() const {
    std::vector<std::pair<std::int64_t, std::int64_t>> all;
    if (count > 0) all.emplace_back(block, count);
    if (rest > 0) all.emplace_back(rest, std::int64_t{1});
    return all;
  }
};

class KfacOptimizer final : public Optimizer {
 public:
  explicit KfacOptimizer(KfacOptimizerConfig config) : config_(config) {}

  void check(const Problem& problem) const override {
    for (const Holding& holding : problem.holdings) {
      if (holding.sharing != Sharing::kFlat) continue;
      throw ConfigError("workload.flat_parameters",
                        "expected false with workload.optimizer kfac, which puts matrices together from their rows");
    }
  }

  [[nodiscard]] std::int64_t period() const override {
    return std::lcm(config_.factor_interval, config_.inverse_interval);
  }
  [[nodiscard]] std::int64_t like(std::int64_t step) const override {
    for (std::int64_t first = 0; first < step; ++first) {
      if (factors(first) == factors(step) && inverses(first) == inverses(step)) return first;
    }
    return step;
  }

  [[nodiscard]] std::vector<Kernel> observe(const Problem& /*problem*/, const Observed& what,
                                            std::int64_t step) const override {
    std::vector<Kernel> kernels;
    if (!factors(step)) return kernels;
    for (const Tensors& each : what.layers) {
      if (!each.is_hidden) continue;
      add_factor(kernels, "kfac.factor_a", each.cols, each.count, what.tokens);
      add_factor(kernels, "kfac.factor_g", each.rows, each.count, what.tokens);
      if (what.batch == 0) continue;
      const std::int64_t bytes = each.count * elements_of({each.rows, each.cols}) * sum_bytes();
      kernels.push_back({"kfac.sum", Elementwise{2 * bytes, bytes, 2}});
    }
    return kernels;
  }

  [[nodiscard]] std::vector<Task> update(const Problem& problem, std::int64_t step) const override {
    Task first{{{"adam", {}, {}}}, false};
    std::vector<Kernel>& kernels = first.pieces.front().kernels;
    std::int64_t gradients = 0;
    std::int64_t others = 0;
    for (const Holding& holding : problem.holdings) {
      gradients += is_given(holding) ? elements_of_own(holding) : holding.share;
      others += others_of(holding);
    }
    add_clipping(kernels, gradients);
    add_adam(kernels, others, problem.fusion);
    std::vector<Task> tasks = {std::move(first)};
    for (std::size_t i = 0; i < problem.holdings.size(); ++i) {
      const Holding& holding = problem.holdings[i];
      const Shapes own = shapes_of(own_of(holding));
      for (const auto& [shape, count] : shapes_of(holding.tensors)) {
        if (holding.ranks == 1) {
          tasks.push_back(task_of(holding, i, shape, {count, count}, step));
          continue;
        }
        const std::int64_t batches = share_of(count, holding.ranks);
        const auto found = own.find(shape);
        const std::int64_t mine = found != own.end() ? found->second : 0;
        for (std::int64_t batch = 0; batch < batches; ++batch) {
          const std::int64_t in_batch = std::min(holding.ranks, count - batch * holding.ranks);
          // What is not given is padded: all compute one. Owners of what is given may have two of a batch, or none.
          const std::int64_t computed = is_given(holding) ? share_of(mine - batch, batches) : 1;
          tasks.push_back(task_of(holding, i, shape, {in_batch, computed}, step));
        }
      }
    }
    return tasks;
  }

  [[nodiscard]] Kept kept(const Problem& problem) const override {
    std::int64_t hidden = 0;
    std::int64_t others = 0;
    std::int64_t sums = 0;
    std::int64_t averages = 0;
    std::int64_t inverses = 0;
    std::int64_t most = 0;
    for (const Holding& holding : problem.holdings) {
      // With what pads a batch to equal parts.
      for (const auto& [shape, count] : shapes_of(holding.tensors)) sums += count * elements_of(shape) + holding.ranks;
      for (const Tensors& each : holding.tensors) {
        if (each.is_hidden) most = std::max(most, elements_of({each.rows, each.cols}));
      }
      for (const auto& [shape, count] : shapes_of(own_of(holding))) {
        const auto [rows, cols] = shape;
        const std::int64_t owned = is_given(holding) ? count : share_of(count, holding.ranks);
        hidden += count * part_of(holding, rows) * cols;
        averages += owned * elements_of(shape);
        inverses += owned * (config_.inverse == InverseKind::kEigen ? rows + cols : 0);
      }
      others += others_of(holding);
    }
    Kept kept{hidden + others,
              {{"sums of factors of the rank's own tokens", sum_bytes() * sums},
               {"averages of factors that the rank owns in 32 bits", kFp32 * averages},
               {"inverses of factors that the rank owns in 32 bits", kFp32 * (averages + inverses)},
               {"momentum of matrices in 32 bits", kFp32 * hidden},
               {"two moments of other parameters in 32 bits", 2 * kFp32 * others}}};
    if (problem.batches > 1) kept.state.emplace_back("factors of a layer before they are added", sum_bytes() * most);
    return kept;
  }

 private:
  using Shape = std::pair<std::int64_t, std::int64_t>;
  using Shapes = std::map<Shape, std::int64_t>;
  /// Matrices of one shape that go together.
  struct Batch {
    std::int64_t count = 0;
    std::int64_t computed = 0;  ///< of them, those that the rank owns
  };

  [[nodiscard]] static bool is_given(const Holding& holding) { return holding.sharing == Sharing::kGiven; }
  /// What is given to the rank, else all.
  [[nodiscard]] static std::vector<Tensors> own_of(const Holding& holding) {
    return is_given(holding) ? owned(holding, holding.tensors) : holding.tensors;
  }
  [[nodiscard]] static std::int64_t elements_of_own(const Holding& holding) {
    return optimizers::elements_of(own_of(holding));
  }
  [[nodiscard]] static std::int64_t others_of(const Holding& holding) {
    if (!is_given(holding)) return other_share(holding);
    return elements_of_own(holding) - hidden_elements_of(own_of(holding));
  }

  [[nodiscard]] bool factors(std::int64_t step) const { return step % config_.factor_interval == 0; }
  [[nodiscard]] bool inverses(std::int64_t step) const { return step % config_.inverse_interval == 0; }
  [[nodiscard]] std::int64_t sum_bytes() const { return config_.factor_dtype == FactorDtype::kBf16 ? kBf16 : kFp32; }
  [[nodiscard]] Diagonal diagonal(std::int64_t side) const { return {side, config_.block}; }
  /// Of both factors.
  [[nodiscard]] std::int64_t elements_of(const Shape& shape) const {
    return diagonal(shape.first).elements() + diagonal(shape.second).elements();
  }
  [[nodiscard]] static std::int64_t part_of(const Holding& holding, std::int64_t rows) {
    return holding.sharing == Sharing::kShards ? share_of(rows, holding.ranks) : rows;
  }
  [[nodiscard]] static Shapes shapes_of(const std::vector<Tensors>& tensors) {
    Shapes shapes;
    for (const Tensors& each : tensors) {
      if (each.is_hidden) shapes[{each.rows, each.cols}] += each.count;
    }
    return shapes;
  }

  /// Products of 16 bits; blocks of a size are one batch.
  void add_factor(std::vector<Kernel>& kernels, const char* name, std::int64_t side, std::int64_t layers,
                  std::int64_t tokens) const {
    for (const auto& [n, count] : diagonal(side).sizes()) {
      const std::int64_t computed = config_.symmetric ? (n + 1) / 2 : n;
      kernels.push_back({name, Gemm{layers * count, n, computed, tokens, static_cast<int>(kBf16)}});
    }
  }

  /// All blocks of A, then of G: from one side and from the other.
  void add_products(std::vector<Kernel>& kernels, const Shape& shape, std::int64_t matrices) const {
    const auto [rows, cols] = shape;
    for (const auto& [n, count] : diagonal(rows).sizes()) {
      kernels.push_back({"kfac.precondition", Gemm{matrices * count, n, cols, n, static_cast<int>(kFp32)}});
    }
    for (const auto& [n, count] : diagonal(cols).sizes()) {
      kernels.push_back({"kfac.precondition", Gemm{matrices * count, rows, n, n, static_cast<int>(kFp32)}});
    }
  }

  [[nodiscard]] Task task_of(const Holding& holding, std::size_t index, const Shape& shape, const Batch& batch,
                             std::int64_t step) const {
    const auto [rows, cols] = shape;
    const auto [count, computed] = batch;
    const bool shards = holding.sharing == Sharing::kShards;
    const bool alone = holding.ranks == 1;
    // What is there to update of the rank's own, without what pads the batch.
    const std::int64_t bytes = (is_given(holding) ? computed : count) * part_of(holding, rows) * cols * kFp32;
    const std::int64_t factor = elements_of(shape);
    const std::int64_t own = computed * factor;
    Task task;
    std::vector<Kernel> kernels;
    const auto exchange = [&](const char* name, const Exchange& what) {
      task.pieces.push_back({name, std::exchange(kernels, {}), what});
    };
    if (factors(step)) {
      const auto element = static_cast<int>(sum_bytes());
      if (!alone) {
        // In equal parts, as many as there are matrices in the mean.
        const std::int64_t part = share_of(count * factor, holding.ranks);
        exchange("factors",
                 {Operation::kReduceScatter, holding.ranks * part * sum_bytes(), index, false, false, element, true});
      }
      if (holding.copies > 1) {
        exchange("factors of copies", {Operation::kAllReduce, factor * sum_bytes(), index, false, true, element});
      }
      if (own > 0) {
        kernels.push_back({"kfac.average", Elementwise{own * (sum_bytes() + kFp32), own * kFp32, 1}});
      }
    }
    if (inverses(step) && own > 0) {
      for (const std::int64_t side : {rows, cols}) {
        for (const auto& [n, blocks] : diagonal(side).sizes()) {
          kernels.push_back({"kfac.inverse", Inverse{computed * blocks, n, config_.inverse == InverseKind::kEigen}});
        }
      }
    }
    const std::int64_t whole = part_of(holding, rows) * (shards ? holding.ranks : 1) * cols * kFp32;
    if (shards && !alone) exchange("gradients", {Operation::kAllToAll, whole, index, false, false, 4});
    if (own > 0) {
      add_products(kernels, shape, computed);
      if (config_.inverse == InverseKind::kEigen) {
        // By the product of eigenvalues and the damping.
        const std::int64_t all = computed * rows * cols * kFp32;
        kernels.push_back({"kfac.damping", Elementwise{all, all, 1}});
        add_products(kernels, shape, computed);
      }
    }
    if (!alone && !is_given(holding)) {
      exchange("preconditioned gradients", {shards ? Operation::kAllToAll : Operation::kAllgather,
                                            shards ? whole : whole * holding.ranks, index, false, false, 4});
    }
    // Preconditioned gradient, momentum and parameter in, the last two out.
    if (bytes > 0) kernels.push_back({"kfac.update", Elementwise{3 * bytes, 2 * bytes, 1}});
    task.pieces.push_back({"update", std::move(kernels), {}});
    return task;
  }

  KfacOptimizerConfig config_;
};

}  // namespace

Method kfac_method() {
  return {.name = "kfac",
          .doc =
              "gradients of blocks' matrices preconditioned by factors of inputs and of output gradients, AdamW on all "
              "else",
          .config = KfacOptimizerConfig(),
          .config_doc = "workload.optimizer kfac",
          .make = [](const AnyConfig& config) {
            return std::make_unique<KfacOptimizer>(config.as<KfacOptimizerConfig>());
          }};
}

}  // namespace weft::optimizers
