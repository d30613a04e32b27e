// SPDX-License-Identifier: Apache-2.0
// Muon (Jordan et al., kellerjordan.github.io/posts/muon): of each matrix of a block the momentum, made orthogonal by
// Newton-Schulz iterations in bf16; AdamW for all else. An iteration is A = X X^T, B = b A + c A A and X = a X + B X,
// of the matrix or its transpose, whichever has fewer rows. It needs whole matrices, which ranks bring about in two
// ways:
//
// - megatron: Megatron-LM's layer-wise distributed optimizer (megatron/core/optimizer/layer_wise_optimizer.py, with
//   TensorParallelMuon of muon.py). Each tensor has one owner among the ranks that train it, which updates it whole;
//   then parameters are gathered. Tensor parallelism's parts are taken for matrices of their own (blockwise), put
//   together on all ranks (duplicated), or multiplied where they are, with A summed over ranks (distributed).
// - dion: microsoft/dion, dion/muon.py, for FSDP2 and for data parallelism. Matrices of one shape go to the ranks in
//   batches, one each. Of shards an AllToAll puts matrices together and another one takes results back; where each rank
//   has all, results are gathered. A batch that is not full is padded: its ranks all compute.
#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "hw/core/fields.h"
#include "sw/optimizers/elementwise.h"
#include "sw/optimizers/layer_wise.h"
#include "sw/optimizers/muon.h"

namespace weft::optimizers {
namespace {

using dimensions::Operation;
using models::Elementwise;
using models::Fusion;
using models::Gemm;
using models::Kernel;

enum class Form : std::uint8_t { kAutomatic, kMegatron, kDion };
EnumNames<Form> enum_names(Form /*tag*/) {
  return {{"automatic", Form::kAutomatic}, {"megatron", Form::kMegatron}, {"dion", Form::kDion}};
}

enum class Cuts : std::uint8_t { kBlockwise, kDuplicated, kDistributed };
EnumNames<Cuts> enum_names(Cuts /*tag*/) {
  return {{"blockwise", Cuts::kBlockwise}, {"duplicated", Cuts::kDuplicated}, {"distributed", Cuts::kDistributed}};
}

struct MuonConfig {
  Form form = Form::kAutomatic;
  int iterations = 5;
  bool symmetric = false;
  Cuts tensor_parallel = Cuts::kBlockwise;

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("form", form,
          "How whole matrices come about. megatron: each has an owner, as in Megatron-LM's layer-wise distributed "
          "optimizer; dion: an AllToAll there and back, as in microsoft/dion, or of matrices that all ranks have an "
          "Allgather of results; automatic: dion for shards (FSDP), else megatron");
    visit("iterations", iterations, "Newton-Schulz iterations", Range{1, 100});
    visit("symmetric", symmetric,
          "Kernels compute half of the symmetric A = X X^T and A A, as microsoft/dion's Triton kernels (SYRK)");
    visit("tensor_parallel", tensor_parallel,
          "With form megatron, matrices that tensor parallelism has cut. blockwise: each part is one by itself; "
          "duplicated: gathered, and computed on all its ranks; distributed: each rank computes with its part, and "
          "sums are added up in each iteration");
  }
};

/// Of an m by k matrix and its transpose: m by m, or half as many columns.
Gemm gram(std::int64_t m, std::int64_t k, bool symmetric) {
  return {1, m, symmetric ? (m + 1) / 2 : m, k, kBf16};
}

/// Traffic of the elementwise kernels of one matrix, a byte for each element, and launches.
struct Pass {
  std::int64_t read;
  std::int64_t written;
  int launches;
};

class Muon final : public Optimizer {
 public:
  explicit Muon(MuonConfig config) : config_(config) {}

  void check(const Problem& problem) const override {
    for (const Holding& holding : problem.holdings) {
      if (holding.sharing == Sharing::kFlat) {
        throw ConfigError("workload.flat_parameters",
                          "expected false with workload.optimizer muon, which puts matrices together from their rows");
      }
      if (holding.sharing == Sharing::kShards && form(holding) == Form::kMegatron) {
        throw ConfigError("workload.muon.form",
                          "expected dion or automatic where ranks have shards of each matrix (FSDP): an owner in the "
                          "form megatron is given whole ones");
      }
      if (holding.sharing == Sharing::kGiven && form(holding) == Form::kDion) {
        throw ConfigError("workload.muon.form",
                          "expected megatron or automatic with workload.distributed_optimizer, which gives each rank "
                          "what it updates");
      }
      for (const Tensors& each : holding.tensors) {
        if (each.cuts() == 1 || config_.tensor_parallel == Cuts::kBlockwise || form(holding) == Form::kMegatron)
          continue;
        throw ConfigError("workload.muon.tensor_parallel", "expected blockwise in the form dion");
      }
    }
  }

  [[nodiscard]] std::vector<Task> update(const Problem& problem, std::int64_t /*step*/) const override {
    Task first{{{"adam", {}, {}}}, false};
    std::vector<Kernel>& kernels = first.pieces.front().kernels;
    std::int64_t gradients = 0;
    std::int64_t others = 0;
    for (const Holding& holding : problem.holdings) {
      const std::vector<Tensors> own = of_rank(holding);
      gradients += is_owner(holding) ? elements_of(own) : holding.share;
      others += is_owner(holding) ? elements_of(own) - hidden_elements_of(own) : other_share(holding);
    }
    add_clipping(kernels, gradients);
    add_adam(kernels, others, problem.fusion);
    std::vector<Task> tasks = {std::move(first)};
    for (std::size_t i = 0; i < problem.holdings.size(); ++i) {
      const Holding& holding = problem.holdings[i];
      if (is_owner(holding)) {
        add_owned(tasks, problem, i);
      } else if (holding.ranks > 1) {
        add_batches(tasks, holding, i);
      } else {
        for (const Tensors& each : holding.tensors) {
          if (each.is_hidden) add_compiled(tasks.front().pieces.front().kernels, each);
        }
      }
    }
    for (std::size_t i = 0; i < problem.holdings.size(); ++i) {
      const Holding& holding = problem.holdings[i];
      if (!is_owner(holding) || holding.sharing != Sharing::kWhole) continue;
      add_gather(tasks, problem, i, elements_of(of_rank(holding)), holding.elements(), problem.element_bytes);
    }
    return tasks;
  }

  [[nodiscard]] Kept kept(const Problem& problem) const override {
    std::int64_t hidden = 0;
    std::int64_t others = 0;
    for (const Holding& holding : problem.holdings) {
      const std::vector<Tensors> own = of_rank(holding);
      const bool shards = holding.sharing == Sharing::kShards;
      const std::int64_t matrices = shards ? hidden_shards(holding) : hidden_elements_of(own);
      hidden += matrices;
      others += shards ? other_share(holding) : elements_of(own) - matrices;
    }
    return {hidden + others,
            {{"momentum of matrices in 32 bits", kFp32 * hidden},
             {"two moments of other parameters in 32 bits", 2 * kFp32 * others}}};
  }

 private:
  [[nodiscard]] Form form(const Holding& holding) const {
    if (config_.form != Form::kAutomatic) return config_.form;
    return holding.sharing == Sharing::kShards ? Form::kDion : Form::kMegatron;
  }
  /// Whether the rank updates whole tensors that are its own.
  [[nodiscard]] bool is_owner(const Holding& holding) const { return form(holding) == Form::kMegatron; }

  /// Megatron's linear layers have an MLP's gate and its first matrix in one (linear_fc1).
  static std::vector<Tensors> fused(const std::vector<Tensors>& tensors) {
    constexpr std::string_view kGate = "w1_gate";
    constexpr std::string_view kUp = "w3_up";
    std::vector<Tensors> result;
    for (const Tensors& each : tensors) {
      if (each.is_hidden && each.name.ends_with(kUp)) {
        const std::string gate = each.name.substr(0, each.name.size() - kUp.size()) + std::string(kGate);
        const auto found = std::find_if(result.begin(), result.end(), [&](const Tensors& one) {
          return one.name == gate && one.cols == each.cols && one.count == each.count;
        });
        if (found != result.end()) {
          found->rows += each.rows;
          continue;
        }
      }
      result.push_back(each);
    }
    return result;
  }

  [[nodiscard]] std::vector<Tensors> of_rank(const Holding& holding) const {
    if (!is_owner(holding)) return holding.tensors;
    return owned(holding, fused(holding.tensors));
  }

  static std::int64_t hidden_shards(const Holding& holding) {
    std::int64_t sum = 0;
    for (const Tensors& each : holding.tensors) {
      if (each.is_hidden) sum += each.count * share_of(each.rows, holding.ranks) * each.cols;
    }
    return sum;
  }

  static void add(std::vector<Kernel>& kernels, const char* name, std::int64_t elements, Pass pass,
                  std::int64_t times) {
    kernels.push_back({name, Elementwise{elements * times * pass.read, elements * times * pass.written,
                                         static_cast<int>(pass.launches * times)}});
  }

  // In 32 bits: gradient, momentum and parameter; the update in 16. Compiled, as dion has it and where all is fused,
  // the momentum and the cast are one pass, and so is what the update does.
  static constexpr Pass kMomentum{4 + 4, 4 + 2, 1};
  static constexpr Pass kNorm{2 + 2, 2, 2};  // the norm, and the division by it
  static constexpr Pass kApply{2 + 4, 4, 1};
  // By operator (emerging_optimizers' OrthogonalizedOptimizer): the mean; the norm, the division and the cast; the cast
  // back, the scale, the decay and the step.
  static constexpr Pass kMomentumByOperator{4 + 4, 4, 1};
  static constexpr Pass kNormByOperator{4 + 4 + 4, 4 + 2, 3};
  static constexpr Pass kApplyByOperator{2 + 4 + 4 + 8, 4 + 4 + 4 + 4, 4};

  void add_iterations(std::vector<Kernel>& kernels, std::int64_t rows, std::int64_t cols) const {
    for (const Gemm& product : newton_schulz_products(rows, cols, config_.iterations, config_.symmetric)) {
      kernels.push_back({"newton_schulz", product});
    }
  }

  /// All of a matrix's update, `count` times.
  void add_compiled(std::vector<Kernel>& kernels, const Tensors& each) const {
    add(kernels, "muon.momentum", each.elements() * each.count, kMomentum, 1);
    add(kernels, "muon.norm", each.elements(), kNorm, each.count);
    for (std::int64_t n = 0; n < each.count; ++n) add_iterations(kernels, each.rows, each.cols);
    add(kernels, "muon.update", each.elements() * each.count, kApply, 1);
  }

  void add_by_operator(std::vector<Kernel>& kernels, const Tensors& each) const {
    add(kernels, "muon.momentum", each.elements(), kMomentumByOperator, each.count);
    add(kernels, "muon.norm", each.elements(), kNormByOperator, each.count);
    for (std::int64_t n = 0; n < each.count; ++n) add_iterations(kernels, each.rows, each.cols);
    add(kernels, "muon.update", each.elements(), kApplyByOperator, each.count);
  }

  void add_owned(std::vector<Task>& tasks, const Problem& problem, std::size_t index) const {
    const bool is_fused = problem.fusion == Fusion::kFused;
    for (const Tensors& each : of_rank(problem.holdings[index])) {
      if (!each.is_hidden) continue;
      if (each.cuts() > 1 && config_.tensor_parallel != Cuts::kBlockwise) {
        for (std::int64_t n = 0; n < each.count; ++n) tasks.push_back(task_of_cut(each, is_fused, index));
      } else if (is_fused) {
        add_compiled(tasks.front().pieces.front().kernels, each);
      } else {
        add_by_operator(tasks.front().pieces.front().kernels, each);
      }
    }
  }

  [[nodiscard]] Task task_of_cut(const Tensors& each, bool is_fused, std::size_t index) const {
    Task task;
    std::vector<Kernel> kernels;
    add(kernels, "muon.momentum", each.elements(), is_fused ? kMomentum : kMomentumByOperator, 1);
    const Pass norm = is_fused ? kNorm : kNormByOperator;
    const Pass apply = is_fused ? kApply : kApplyByOperator;
    if (config_.tensor_parallel == Cuts::kDuplicated) {
      task.pieces.push_back(
          {each.name, kernels, Exchange{Operation::kAllgather, each.elements() * each.cuts() * kBf16, index, true}});
      kernels.clear();
      add(kernels, "muon.norm", each.elements() * each.cuts(), norm, 1);
      add_iterations(kernels, each.rows * each.row_cuts, each.cols * each.col_cuts);
    } else {
      // Cut along the sums of A, whichever dimension that is.
      const std::int64_t rows = each.row_cuts > 1 ? each.cols : each.rows;
      const std::int64_t cols = each.row_cuts > 1 ? each.rows : each.cols;
      add(kernels, "muon.norm", each.elements(), norm, 1);
      for (int i = 0; i < config_.iterations; ++i) {
        kernels.push_back({"newton_schulz", gram(rows, cols, config_.symmetric)});
        task.pieces.push_back({each.name, kernels, Exchange{Operation::kAllReduce, rows * rows * kBf16, index, true}});
        kernels.clear();
        kernels.push_back({"newton_schulz", gram(rows, rows, config_.symmetric)});
        kernels.push_back({"newton_schulz", Gemm{1, rows, cols, rows, kBf16}});
      }
    }
    add(kernels, "muon.update", each.elements(), apply, 1);
    task.pieces.push_back({each.name, std::move(kernels), {}});
    return task;
  }

  /// Matrices of one shape, as many at a time as there are ranks.
  void add_batches(std::vector<Task>& tasks, const Holding& holding, std::size_t index) const {
    std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> shapes;
    for (const Tensors& each : holding.tensors) {
      if (each.is_hidden) shapes[{each.rows, each.cols}] += each.count;
    }
    const bool shards = holding.sharing == Sharing::kShards;
    for (const auto& [shape, count] : shapes) {
      const auto [rows, cols] = shape;
      const std::int64_t shard = shards ? share_of(rows, holding.ranks) : rows;
      for (std::int64_t done = 0; done < count; done += holding.ranks) {
        // What is there to update, without what pads the batch.
        const std::int64_t elements = std::min(holding.ranks, count - done) * shard * cols;
        Task task;
        std::vector<Kernel> kernels;
        add(kernels, "muon.momentum", elements, kMomentum, 1);
        std::optional<Exchange> there;
        if (shards) there = Exchange{Operation::kAllToAll, shard * holding.ranks * cols * kBf16, index};
        if (there) {
          task.pieces.push_back({"matrices", std::move(kernels), there});
          kernels = {};
        }
        add(kernels, "muon.norm", rows * cols, kNorm, 1);
        add_iterations(kernels, rows, cols);
        const Exchange back =
            shards ? *there : Exchange{Operation::kAllgather, rows * cols * holding.ranks * kBf16, index};
        task.pieces.push_back({"results", std::move(kernels), back});
        kernels = {};
        add(kernels, "muon.update", elements, kApply, 1);
        task.pieces.push_back({"update", std::move(kernels), {}});
        tasks.push_back(std::move(task));
      }
    }
  }

  MuonConfig config_;
};

}  // namespace

std::vector<Gemm> newton_schulz_products(std::int64_t rows, std::int64_t cols, int iterations, bool symmetric) {
  const std::int64_t m = std::min(rows, cols);
  const std::int64_t n = std::max(rows, cols);
  std::vector<Gemm> products;
  for (int i = 0; i < iterations; ++i) {
    products.push_back(gram(m, n, symmetric));
    products.push_back(gram(m, m, symmetric));
    products.push_back({1, m, n, m, kBf16});
  }
  return products;
}

Method muon_method() {
  return {.name = "muon",
          .doc = "momentum made orthogonal by Newton-Schulz iterations on blocks' matrices, AdamW on all else",
          .config = MuonConfig(),
          .config_doc = "workload.optimizer muon",
          .make = [](const AnyConfig& config) { return std::make_unique<Muon>(config.as<MuonConfig>()); }};
}

}  // namespace weft::optimizers
