// SPDX-License-Identifier: Apache-2.0
#include "platforms/commands/kernel/shapes.h"

#include <fmt/format.h>

#include <algorithm>

#include "platforms/commands/command.h"
#include "platforms/config/choices.h"
#include "platforms/config/text.h"

namespace weft::platforms {
namespace {

using accelerator::Cholesky;
using accelerator::ComputeConfig;
using accelerator::Convolution;
using accelerator::ConvolutionPass;
using accelerator::Copy;
using accelerator::DataType;
using accelerator::Elementwise;
using accelerator::Embedding;
using accelerator::FlashAttention;
using accelerator::Gemm;
using accelerator::GemmPlan;
using accelerator::Inverse;
using accelerator::Norm;
using accelerator::NormKind;
using accelerator::Optimiser;
using accelerator::OptimiserKind;
using accelerator::SymmetricEigen;

template <typename E>
std::string listed() {
  return join(names_of<E>(), ", ");
}

template <typename E>
E parse_enum(const std::string& text, const std::string& option) {
  for (const auto& [name, value] : enum_names(E{})) {
    if (name == text) return value;
  }
  throw UsageError(option + ": expected one of " + listed<E>() + ", got " + in_quotes(text));
}

/// The types of which tensors in memory are; int8, fp64 and fp4 are for matrix products alone.
const std::vector<std::string>& plain_types() {
  static const std::vector<std::string> types = {"bf16", "fp16", "fp8", "tf32", "fp32"};
  return types;
}
const std::vector<std::string>& attention_types() {
  static const std::vector<std::string> types = {"bf16", "fp16", "fp8"};
  return types;
}

DataType parse_type(const std::string& text, const std::string& option,
                    const std::vector<std::string>& types = plain_types()) {
  if (std::find(types.begin(), types.end(), text) == types.end()) {
    throw UsageError(option + ": expected one of " + join(types, ", ") + ", got " + in_quotes(text));
  }
  return parse_enum<DataType>(text, option);
}

void add_type(const Arguments& app, std::string& type, const std::string& option = "--type",
              const std::string& doc = "Type of the operands", const std::string& types = join(plain_types(), ", ")) {
  app.add_option(option, type, doc + ": " + types).shows_default().type_name("TYPE");
}

double product(const KernelKind::Values& values) {
  double all = 1;
  for (const auto& [name, value] : values) all *= static_cast<double>(std::max<std::int64_t>(1, value));
  return all;
}

nlohmann::ordered_json to_json(const std::string& kind, const KernelKind& of, const KernelKind::Values& values) {
  nlohmann::ordered_json json = {{"kind", kind}};
  for (const KernelKind::Dimension& dimension : of.dimensions()) {
    std::string key = dimension.name;
    std::replace(key.begin(), key.end(), '-', '_');
    json[key] = values.at(dimension.name);
  }
  return json;
}

/// A kernel without a plan.
template <typename Shape>
auto work_of(const Shape& shape) {
  return [shape](const ComputeConfig& config, GemmPlan*) { return kernel_work(config, shape); };
}

class GemmKind final : public KernelKind {
 public:
  [[nodiscard]] std::string name() const override { return "gemm"; }
  [[nodiscard]] std::string doc() const override { return "Product of an m x k and a k x n matrix"; }
  [[nodiscard]] std::vector<Dimension> dimensions() const override {
    return {{"batch", "Products in one kernel", 1},
            {"m", "Rows of the result", 0},
            {"n", "Columns of the result", 0},
            {"k", "Inner dimension, which is summed over", 0}};
  }
  void add_options(const Arguments& app) override {
    add_type(app, type_, "--type", "Type of the operands", listed<DataType>());
    app.add_flag("--sparse", sparse_, "The first operand has 2:4 structured sparsity");
    app.add_flag("--full-accumulation", full_, "fp8 operands are summed in full float32, as gradients often are");
  }
  [[nodiscard]] KernelShape shape(const Values& values) const override {
    limit_operations(2 * product(values), "gemm", "");
    const DataType type = parse_product_type(type_, "--type");
    if (full_ && type != DataType::kFp8) {
      throw UsageError("--full-accumulation: expected --type fp8, the only type whose sums it changes, got " +
                       in_quotes(type_));
    }
    return shape_of(Gemm{values.at("batch"), values.at("m"), values.at("n"), values.at("k"), type, sparse_, !full_});
  }

 private:
  std::string type_ = "bf16";
  bool sparse_ = false;
  bool full_ = false;
};

class AttentionKind final : public KernelKind {
 public:
  [[nodiscard]] std::string name() const override { return "attention"; }
  [[nodiscard]] std::string doc() const override { return "Attention without stored scores (FlashAttention)"; }
  [[nodiscard]] std::vector<Dimension> dimensions() const override {
    return {{"batch", "Sequences", 1},
            {"heads", "Heads of queries", 0},
            {"kv-heads", "Heads of keys and values; as many as of queries if left out", -1},
            {"seq", "Queries of a sequence", 0},
            {"keys", "Keys and values of a sequence; as many as queries if left out", -1},
            {"head-dim", "Size of a head", 128}};
  }
  void add_options(const Arguments& app) override {
    add_type(app, type_, "--type", "Type of queries, keys and values", join(attention_types(), ", "));
    app.add_flag("--causal", causal_, "Attention to earlier tokens only; the last query sees all keys");
    app.add_flag("--backward", backward_, "The gradient");
    app.add_flag("--synchronous", synchronous_, "A kernel that waits for each product, as FlashAttention-2");
  }
  [[nodiscard]] KernelShape shape(const Values& values) const override {
    const std::int64_t kv_heads = values.at("kv-heads") == -1 ? values.at("heads") : values.at("kv-heads");
    if (values.at("heads") % kv_heads != 0) {
      throw UsageError(
          fmt::format("--kv-heads: expected a number that divides the {} heads, got {}", values.at("heads"), kv_heads));
    }
    const std::int64_t keys = values.at("keys") == -1 ? values.at("seq") : values.at("keys");
    if (causal_ && keys < values.at("seq")) {
      throw UsageError(
          fmt::format("--keys: expected at least the {} causal queries, else the first would see no keys, got {}",
                      values.at("seq"), keys));
    }
    const DataType type = parse_type(type_, "--type", attention_types());
    if (type == DataType::kFp8 && backward_) {
      throw UsageError("--type: expected bf16 or fp16 with --backward, got \"fp8\"");
    }
    limit_operations(10 * static_cast<double>(values.at("batch")) * static_cast<double>(values.at("heads")) *
                         static_cast<double>(values.at("seq")) * static_cast<double>(keys) *
                         static_cast<double>(values.at("head-dim")),
                     "attention", "");
    return shape_of(FlashAttention{values.at("batch"), values.at("heads"), kv_heads, values.at("seq"),
                                   values.at("head-dim"), causal_, backward_, synchronous_,
                                   keys == values.at("seq") ? 0 : keys, type});
  }

 private:
  std::string type_ = "bf16";
  bool causal_ = false;
  bool backward_ = false;
  bool synchronous_ = false;
};

class ConvolutionKind final : public KernelKind {
 public:
  [[nodiscard]] std::string name() const override { return "conv"; }
  [[nodiscard]] std::string doc() const override { return "Convolution of a batch of images, or one of its gradients"; }
  [[nodiscard]] std::vector<Dimension> dimensions() const override {
    return {{"batch", "Images", 1},
            {"in", "Channels in", 0},
            {"out", "Channels out", 0},
            {"size", "Height and width of the image", 0},
            {"kernel", "Height and width of the kernel", 1},
            {"stride", "Pixels from one place of the kernel to the next", 1},
            {"pad", "Pixels of 0 around the image", 0, true},
            {"groups", "Groups of channels; as many as channels for a depthwise convolution", 1}};
  }
  void add_options(const Arguments& app) override {
    add_type(app, type_);
    app.add_option("--pass", pass_, listed<ConvolutionPass>()).shows_default().type_name("PASS");
  }
  [[nodiscard]] KernelShape shape(const Values& values) const override {
    const std::int64_t size = values.at("size");
    const std::int64_t kernel = values.at("kernel");
    const std::int64_t pad = values.at("pad");
    const double area = static_cast<double>(size) + 2 * static_cast<double>(pad);
    limit_operations(2 * static_cast<double>(values.at("batch")) * static_cast<double>(values.at("in")) *
                         static_cast<double>(values.at("out")) * area * area * static_cast<double>(kernel) *
                         static_cast<double>(kernel),
                     "conv", "");
    Convolution shape{values.at("batch"),
                      values.at("in"),
                      values.at("out"),
                      size,
                      size,
                      kernel,
                      kernel,
                      values.at("stride"),
                      pad,
                      pad,
                      values.at("groups"),
                      parse_enum<ConvolutionPass>(pass_, "--pass"),
                      parse_type(type_, "--type")};
    KernelShape result;
    result.text = fmt::format("conv {} batch {}, {} to {} channels, {}x{}, kernel {}x{}, stride {}, groups {} {}",
                              pass_, shape.batch, shape.channels_in, shape.channels_out, size, size, kernel, kernel,
                              shape.stride, shape.groups, type_);
    result.json = to_json("conv", *this, values);
    result.json["pass"] = pass_;
    result.json["type"] = type_;
    result.units = shape.type;
    result.product = true;
    result.work = [shape](const ComputeConfig& config, GemmPlan* plan) { return kernel_work(config, shape, plan); };
    return result;
  }

 private:
  std::string type_ = "bf16";
  std::string pass_ = "forward";
};

class NormKindOf final : public KernelKind {
 public:
  [[nodiscard]] std::string name() const override { return "norm"; }
  [[nodiscard]] std::string doc() const override { return "Layer, RMS or batch normalisation of a matrix"; }
  [[nodiscard]] std::vector<Dimension> dimensions() const override {
    return {{"rows", "Tokens, or pixels of all images", 0}, {"columns", "Size of a token, or channels", 0}};
  }
  void add_options(const Arguments& app) override {
    add_type(app, type_);
    app.add_option("--kind", kind_, listed<NormKind>()).shows_default().type_name("KIND");
    app.add_flag("--backward", backward_, "The gradient");
  }
  [[nodiscard]] KernelShape shape(const Values& values) const override {
    limit_operations(12 * product(values), "norm", "");
    const Norm shape{parse_enum<NormKind>(kind_, "--kind"), values.at("rows"), values.at("columns"), backward_,
                     parse_type(type_, "--type")};
    KernelShape result;
    result.text =
        fmt::format("{} norm {}x{}{} {}", kind_, shape.rows, shape.columns, backward_ ? " backward" : "", type_);
    result.json = to_json("norm", *this, values);
    result.json["norm"] = kind_;
    result.json["backward"] = backward_;
    result.json["type"] = type_;
    result.json["passes"] = passes(shape);
    result.work = work_of(shape);
    return result;
  }

 private:
  std::string type_ = "bf16";
  std::string kind_ = "layer";
  bool backward_ = false;
};

class ElementwiseKind final : public KernelKind {
 public:
  [[nodiscard]] std::string name() const override { return "elementwise"; }
  [[nodiscard]] std::string doc() const override { return "A pass over memory with a little arithmetic"; }
  [[nodiscard]] std::vector<Dimension> dimensions() const override {
    return {{"elements", "Elements of a tensor", 0},
            {"reads", "Tensors that are read", 1, true},
            {"writes", "Tensors that are written", 1, true},
            {"flops", "Operations for each element", 1, true}};
  }
  void add_options(const Arguments& app) override { add_type(app, type_); }
  [[nodiscard]] KernelShape shape(const Values& values) const override {
    limit_operations(8 * product(values), "elementwise", "");
    const Bytes tensor = element_size(parse_type(type_, "--type")) * values.at("elements");
    const Elementwise shape{values.at("elements"), tensor * values.at("reads"), tensor * values.at("writes"),
                            static_cast<double>(values.at("flops"))};
    KernelShape result;
    result.text = fmt::format("elementwise {} {}, {} read, {} written", shape.elements, type_, values.at("reads"),
                              values.at("writes"));
    result.json = to_json("elementwise", *this, values);
    result.json["type"] = type_;
    result.work = work_of(shape);
    return result;
  }

 private:
  std::string type_ = "bf16";
};

class EmbeddingKind final : public KernelKind {
 public:
  [[nodiscard]] std::string name() const override { return "embedding"; }
  [[nodiscard]] std::string doc() const override { return "Rows of a table by index, or the sum of gradients into it"; }
  [[nodiscard]] std::vector<Dimension> dimensions() const override {
    return {{"tokens", "Indices", 0}, {"rows", "Rows of the table", 0}, {"columns", "Columns of the table", 0}};
  }
  void add_options(const Arguments& app) override {
    add_type(app, type_);
    app.add_flag("--backward", backward_, "Scatter-add of gradients");
    app.add_flag("--sparse-gradient", sparse_, "The backward pass touches only rows in use and sets none to 0");
  }
  [[nodiscard]] KernelShape shape(const Values& values) const override {
    limit_operations(8 * product(values), "embedding", "");
    const Embedding shape{values.at("tokens"), values.at("rows"), values.at("columns"),
                          backward_,           !sparse_,          parse_type(type_, "--type")};
    KernelShape result;
    result.text = fmt::format("embedding {} of {} rows of {}{} {}", shape.tokens, shape.rows, shape.columns,
                              backward_ ? " backward" : "", type_);
    result.json = to_json("embedding", *this, values);
    result.json["backward"] = backward_;
    result.json["type"] = type_;
    result.work = work_of(shape);
    return result;
  }

 private:
  std::string type_ = "bf16";
  bool backward_ = false;
  bool sparse_ = false;
};

/// Cholesky, Inverse and SymmetricEigen, of so many n^3 operations at most.
template <typename Shape>
class FactorisationKind final : public KernelKind {
 public:
  FactorisationKind(std::string name, std::string doc, double operations = 3)
      : name_(std::move(name)), doc_(std::move(doc)), operations_(operations) {}
  [[nodiscard]] std::string name() const override { return name_; }
  [[nodiscard]] std::string doc() const override { return doc_; }
  [[nodiscard]] std::vector<Dimension> dimensions() const override {
    return {{"batch", "Matrices side by side", 1}, {"n", "Rows and columns", 0}};
  }
  void add_options(const Arguments& app) override { add_type(app, type_); }
  [[nodiscard]] KernelShape shape(const Values& values) const override {
    const auto n = static_cast<double>(values.at("n"));
    limit_operations(operations_ * static_cast<double>(values.at("batch")) * n * n * n, name_, "");
    const Shape shape{values.at("batch"), values.at("n"), parse_type(type_, "--type")};
    KernelShape result;
    result.text = fmt::format("{} {}x{}{} {}", name_, shape.n, shape.n,
                              shape.batch > 1 ? fmt::format(" batch {}", shape.batch) : "", type_);
    result.json = to_json(name_, *this, values);
    result.json["type"] = type_;
    result.units = shape.type;
    result.product = true;
    result.work = work_of(shape);
    return result;
  }

 private:
  std::string name_;
  std::string doc_;
  double operations_;
  std::string type_ = "fp32";
};

class OptimiserKindOf final : public KernelKind {
 public:
  [[nodiscard]] std::string name() const override { return "optimizer"; }
  [[nodiscard]] std::string doc() const override { return "One fused step of an optimizer"; }
  [[nodiscard]] std::vector<Dimension> dimensions() const override {
    return {{"parameters", "Parameters to update", 0}};
  }
  void add_options(const Arguments& app) override {
    app.add_option("--kind", kind_, listed<OptimiserKind>()).shows_default().type_name("KIND");
    add_type(app, type_, "--type", "Type of the parameters");
    add_type(app, gradient_, "--gradient", "Type of the gradients");
    app.add_flag("--no-master", no_master_, "Keep no float32 copy of narrower parameters");
  }
  [[nodiscard]] KernelShape shape(const Values& values) const override {
    limit_operations(64 * product(values), "optimizer", "");
    const Optimiser shape{parse_enum<OptimiserKind>(kind_, "--kind"), values.at("parameters"),
                          parse_type(type_, "--type"), parse_type(gradient_, "--gradient"), !no_master_};
    KernelShape result;
    result.text = fmt::format("{} {} parameters {}, gradients {}", kind_, shape.parameters, type_, gradient_);
    result.json = to_json("optimizer", *this, values);
    result.json["optimizer"] = kind_;
    result.json["type"] = type_;
    result.json["gradient"] = gradient_;
    result.json["bytes_per_parameter"] = (read_per_parameter(shape) + written_per_parameter(shape)).count();
    result.work = work_of(shape);
    return result;
  }

 private:
  std::string kind_ = "adam";
  std::string type_ = "fp32";
  std::string gradient_ = "fp32";
  bool no_master_ = false;
};

class CopyKind final : public KernelKind {
 public:
  [[nodiscard]] std::string name() const override { return "copy"; }
  [[nodiscard]] std::string doc() const override { return "Device memory to device memory"; }
  [[nodiscard]] std::vector<Dimension> dimensions() const override { return {{"bytes", "Bytes to copy", 0}}; }
  void add_options(const Arguments& /*app*/) override {}
  [[nodiscard]] KernelShape shape(const Values& values) const override {
    limit_operations(64 * product(values), "copy", "");
    KernelShape result;
    result.text = "copy " + to_text(Bytes(values.at("bytes")));
    result.json = to_json("copy", *this, values);
    result.work = work_of(Copy{Bytes(values.at("bytes"))});
    return result;
  }
};

}  // namespace

DataType parse_product_type(const std::string& text, const std::string& option) {
  return parse_enum<DataType>(text, option);
}

void limit_operations(double operations, const std::string& option, const std::string& text) {
  constexpr double kMost = 1e18;
  if (operations <= kMost) return;
  throw UsageError(option + ": expected at most 1e18 operations, got " +
                   (text.empty() ? fmt::format("{:.3g}", operations) : in_quotes(text)));
}

KernelShape shape_of(const Gemm& gemm) {
  KernelShape result;
  const std::string_view type = name_of(gemm.type);
  result.text = fmt::format("gemm {}x{}x{}{} {}{}{}", gemm.m, gemm.n, gemm.k,
                            gemm.batch > 1 ? fmt::format(" batch {}", gemm.batch) : "", type,
                            gemm.sparse ? " sparse" : "", gemm.fast_accumulation ? "" : " full accumulation");
  result.json = {{"kind", "gemm"}, {"batch", gemm.batch}, {"m", gemm.m}, {"n", gemm.n}, {"k", gemm.k}, {"type", type}};
  if (gemm.sparse) result.json["sparse"] = true;
  if (!gemm.fast_accumulation) result.json["full_accumulation"] = true;
  result.units = gemm.type;
  result.product = true;
  result.work = [gemm](const ComputeConfig& config, GemmPlan* plan) { return kernel_work(config, gemm, plan); };
  return result;
}

KernelShape shape_of(const FlashAttention& attention) {
  KernelShape result;
  result.text =
      fmt::format("attention {},{},{},{},{}{}{}{}{}{}", attention.batch, attention.heads, attention.kv_heads,
                  attention.seq, attention.head_dim, attention.keys > 0 ? fmt::format(" keys {}", attention.keys) : "",
                  attention.type == DataType::kBf16 ? "" : fmt::format(" {}", name_of(attention.type)),
                  attention.causal ? " causal" : "", attention.backward ? " backward" : "",
                  attention.synchronous ? " synchronous" : "");
  result.json = {{"kind", "attention"},        {"batch", attention.batch},
                 {"heads", attention.heads},   {"kv_heads", attention.kv_heads},
                 {"seq", attention.seq},       {"head_dim", attention.head_dim},
                 {"causal", attention.causal}, {"backward", attention.backward}};
  if (attention.synchronous) result.json["synchronous"] = true;
  if (attention.keys > 0) result.json["keys"] = attention.keys;
  if (attention.type != DataType::kBf16) result.json["type"] = name_of(attention.type);
  result.units = attention.type;
  result.product = true;
  result.work = work_of(attention);
  return result;
}

std::vector<std::shared_ptr<KernelKind>> kernel_kinds() {
  return {std::make_shared<GemmKind>(),
          std::make_shared<AttentionKind>(),
          std::make_shared<ConvolutionKind>(),
          std::make_shared<NormKindOf>(),
          std::make_shared<ElementwiseKind>(),
          std::make_shared<EmbeddingKind>(),
          std::make_shared<FactorisationKind<Cholesky>>("cholesky", "Cholesky factors of symmetric matrices"),
          std::make_shared<FactorisationKind<Inverse>>("inverse", "Inverses of symmetric positive definite matrices"),
          std::make_shared<FactorisationKind<SymmetricEigen>>("eigen",
                                                              "Eigenvalues and eigenvectors of symmetric matrices", 5),
          std::make_shared<OptimiserKindOf>(),
          std::make_shared<CopyKind>()};
}

}  // namespace weft::platforms
