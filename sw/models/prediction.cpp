// SPDX-License-Identifier: Apache-2.0
// Modules that predict a token after the next (Transformer::mtp).
#include <numeric>

#include "sw/models/kernel_list.h"

namespace weft::models {

void KernelList::prediction() {
  const std::int64_t elements = tokens_ * model_.d_model;
  elementwise("mtp_embedding", elements, {e_, e_});
  norm("mtp_embedding_norm", false);
  norm("mtp_norm", false);
  elementwise("mtp_join", 2 * elements, {e_, e_});
  gemm("mtp_projection", tokens_, model_.d_model, 2 * model_.d_model);
}

void KernelList::prediction_backward() {
  const std::int64_t added = tokens_ * model_.d_model * e_;
  gemm("mtp_projection.dgrad", tokens_, 2 * model_.d_model, model_.d_model);
  gemm("mtp_projection.wgrad", model_.d_model, 2 * model_.d_model, tokens_);
  norm_backward("mtp_norm.grad", 1, false);
  norm_backward("mtp_embedding_norm.grad", 1, false);
  kernels_.push_back({"mtp_embedding.grad", Elementwise{2 * added, added, 1}});
}

std::vector<Tensor> prediction_tensors(const Transformer& model) {
  const std::int64_t d = model.d_model;
  std::vector<Tensor> tensors = {{"mtp_embedding_norm", d}, {"mtp_norm", d}, {"mtp_head_norm", d}};
  tensors.push_back({"mtp_projection", d, 2 * d});
  return tensors;
}

std::vector<Kernel> prediction_kernels(const Transformer& model, const StepShape& shape) {
  KernelList list(model, UnitKind::kBlock, shape);
  list.prediction();
  return list.take();
}

std::vector<Kernel> prediction_backward_kernels(const Transformer& model, const StepShape& shape) {
  KernelList list(model, UnitKind::kBlock, shape);
  list.prediction_backward();
  return list.take();
}

std::int64_t prediction_parameters(const Transformer& model) {
  const std::vector<Tensor> tensors = prediction_tensors(model);
  const std::int64_t of_block = unit_parameters(model, block_kind(model, model.blocks()));
  return std::accumulate(tensors.begin(), tensors.end(), of_block,
                         [](std::int64_t sum, const Tensor& tensor) { return sum + tensor.elements(); });
}

}  // namespace weft::models
