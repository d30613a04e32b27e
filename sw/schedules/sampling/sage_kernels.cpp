// SPDX-License-Identifier: Apache-2.0
#include "sw/schedules/sampling/sage_kernels.h"

#include "hw/accelerator/kernel.h"

namespace weft::schedules {

namespace {

constexpr std::int64_t kFloat = 4;
constexpr std::int64_t kHalf = 2;
constexpr std::int64_t kIndex = 8;
constexpr std::int64_t kMask = 1;  // of dropout, a byte for each value
constexpr std::int64_t kSortPasses = 8;

/// Kernels in the order in which they are launched.
class Sequence {
 public:
  explicit Sequence(const accelerator::ComputeConfig& compute) : compute_(compute) {}

  void pass(const char* label, std::int64_t elements, std::int64_t read, std::int64_t written) {
    add(label,
        accelerator::kernel_work(
            compute_, accelerator::Elementwise{.elements = elements, .read = Bytes(read), .written = Bytes(written)}));
  }
  void product(const char* label, std::int64_t m, std::int64_t n, std::int64_t k) {
    add(label, accelerator::kernel_work(
                   compute_, accelerator::Gemm{.m = m, .n = n, .k = k, .type = accelerator::DataType::kFp32}));
  }
  /// A row for each edge is read, of `rows` rows the sum is written.
  void aggregate(const char* label, std::int64_t edges, std::int64_t rows, std::int64_t columns) {
    pass(label, edges * columns, edges * (columns * kFloat + kIndex) + rows * kIndex, rows * columns * kFloat);
  }
  void adam(std::int64_t parameters) {
    add("adam", accelerator::kernel_work(compute_, accelerator::Optimiser{.parameters = parameters}));
  }
  std::vector<PlannedKernel> take() { return std::move(kernels_); }

 private:
  void add(const char* label, const accelerator::KernelWork& work) { kernels_.push_back({label, work}); }

  const accelerator::ComputeConfig& compute_;
  std::vector<PlannedKernel> kernels_;
};

void forward(Sequence& sequence, const SageLayer& layer, bool is_last) {
  const std::int64_t values = layer.hop.targets * layer.out;
  sequence.aggregate("mean of neighbours", layer.hop.edges, layer.hop.targets, layer.in);
  sequence.product("product of neighbours", layer.hop.targets, layer.out, layer.in);
  sequence.product("product of nodes", layer.hop.targets, layer.out, layer.in);
  sequence.pass("sum", values, 2 * kFloat * values, kFloat * values);
  if (is_last) return sequence.pass("log-softmax", values, kFloat * values, kFloat * values);
  sequence.pass("relu", values, kFloat * values, kFloat * values);
  sequence.pass("dropout", values, kFloat * values, (kFloat + kMask) * values);
}

void backward(Sequence& sequence, const SageLayer& layer, bool is_last, bool is_first) {
  const std::int64_t values = layer.hop.targets * layer.out;
  if (is_last) {
    sequence.pass("gradient of log-softmax", values, 2 * kFloat * values, kFloat * values);
  } else {
    sequence.pass("gradient of dropout", values, (kFloat + kMask) * values, kFloat * values);
    sequence.pass("gradient of relu", values, 2 * kFloat * values, kFloat * values);
  }
  sequence.product("gradient of weights", layer.in, layer.out, layer.hop.targets);
  sequence.product("gradient of weights", layer.in, layer.out, layer.hop.targets);
  if (is_first) return;
  sequence.product("gradient of means", layer.hop.targets, layer.in, layer.out);
  sequence.product("gradient of nodes", layer.hop.targets, layer.in, layer.out);
  const std::int64_t pairs = layer.hop.edges * 2 * kIndex;
  for (std::int64_t pass = 0; pass < kSortPasses; ++pass) sequence.pass("transpose", layer.hop.edges, pairs, pairs);
  sequence.aggregate("gradient of neighbours", layer.hop.edges, layer.hop.sources, layer.in);
  // The part of the targets is written among zeros, and added.
  const std::int64_t inputs = layer.hop.sources * layer.in;
  const std::int64_t own = layer.hop.targets * layer.in;
  sequence.pass("zeros", inputs, 0, kFloat * inputs);
  sequence.pass("part of the targets", own, kFloat * own, kFloat * own);
  sequence.pass("sum of gradients", inputs, 2 * kFloat * inputs, kFloat * inputs);
}

}  // namespace

std::vector<SageLayer> sage_layers(const SamplingConfig& config, const std::vector<Hop>& hops) {
  std::vector<SageLayer> layers;
  for (std::size_t i = 0; i < hops.size(); ++i) {
    layers.push_back({hops[hops.size() - 1 - i], i == 0 ? config.graph.features : config.hidden,
                      i + 1 == hops.size() ? config.graph.classes : config.hidden});
  }
  return layers;
}

std::int64_t sage_parameters(const SamplingConfig& config) {
  std::int64_t parameters = 0;
  for (const SageLayer& layer : sage_layers(config, std::vector<Hop>(config.fan_outs.size()))) {
    parameters += 2 * layer.in * layer.out;
  }
  return parameters;
}

SageKernels sage_kernels(const accelerator::ComputeConfig& compute, const SamplingConfig& config,
                         const std::vector<Hop>& hops) {
  Sequence sequence(compute);
  const std::vector<SageLayer> layers = sage_layers(config, hops);
  const std::int64_t inputs = hops.back().sources * config.graph.features;
  sequence.pass("float32 features", inputs, kHalf * inputs, kFloat * inputs);
  for (std::size_t i = 0; i < layers.size(); ++i) forward(sequence, layers[i], i + 1 == layers.size());
  for (std::size_t i = layers.size(); i-- > 0;) backward(sequence, layers[i], i + 1 == layers.size(), i == 0);
  SageKernels kernels;
  kernels.passes = sequence.take();
  for (const SageLayer& layer : layers) {
    sequence.adam(layer.in * layer.out);
    sequence.adam(layer.in * layer.out);
  }
  kernels.optimizer = sequence.take();
  return kernels;
}

}  // namespace weft::schedules
