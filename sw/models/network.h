// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "sw/models/transformer.h"

/// Feed-forward networks as tables of layers, in the order of the forward pass.
///
///     const Network network = find_network("resnet50");
///     for (const Layer& layer : network.layers) ...
///
/// A network of one's own is a CSV file with these columns, one row for each layer; `load_network` reads it:
///
///     layer                        a name that no other row has
///     kind                         conv, linear, norm (batch normalisation, followed by an activation) or
///                                  residual-norm (to which what skipped the layers before it is added ahead of the
///                                  activation); or what moves data ahead of the next layer: max-pool, average-pool,
///                                  concat (several results become one) and branches (one goes to several layers,
///                                  whose gradients are added up)
///     channels_in, channels_out    of a linear layer its inputs and outputs; of branches those of one and of all;
///                                  otherwise both the same, but for a conv
///     kernel_height, kernel_width, stride, pad_height, pad_width    of a conv or a pool only, otherwise empty
///     height, width                of the image that comes in; for a linear layer, positions that it is applied to,
///                                  1 where they are left out
///     bias                         yes or no; of a norm always yes, of what has no parameters no
///
/// A table of linear layers alone needs no column of images and kernels. Or it is a JSON file with `layers`, an array
/// of objects with these members, in which what a table has empty is left out and `bias` is true or false; and, if one
/// likes, `batch` and `name`:
///
///     { "batch": 16, "layers": [
///       { "layer": "hidden", "kind": "linear", "channels_in": 784, "channels_out": 256, "bias": true },
///       ... ] }
///
/// Left out: grouped and dilated convolutions.
namespace weft::models {

enum class LayerKind { kConv, kLinear, kNorm };

/// What only moves data, and has neither parameters nor factors.
enum class MoveKind { kMaxPool, kAveragePool, kConcat, kBranches };

/// Of one sample.
struct Move {
  MoveKind kind = MoveKind::kConcat;
  std::int64_t elements_in = 0;
  std::int64_t elements_out = 0;  ///< of branches, of all of them
};

struct Layer {
  std::string name;
  LayerKind kind = LayerKind::kLinear;
  std::int64_t channels_in = 0;
  std::int64_t channels_out = 0;
  std::int64_t kernel_height = 1;
  std::int64_t kernel_width = 1;
  std::int64_t stride = 1;
  std::int64_t pad_height = 0;
  std::int64_t pad_width = 0;
  std::int64_t height = 1;
  std::int64_t width = 1;
  bool bias = false;
  bool residual = false;       ///< of a norm: something is added to it
  std::vector<Move> before{};  ///< ahead of it in the forward pass, in order

  [[nodiscard]] std::int64_t out_height() const { return (height + 2 * pad_height - kernel_height) / stride + 1; }
  [[nodiscard]] std::int64_t out_width() const { return (width + 2 * pad_width - kernel_width) / stride + 1; }
  /// Results of one sample, each of `channels_out`: rows of the matrices whose products are the factors.
  [[nodiscard]] std::int64_t positions() const { return out_height() * out_width(); }
  [[nodiscard]] std::int64_t kernel_inputs() const { return channels_in * kernel_height * kernel_width; }
};

/// A norm has no factors; it is trained by plain gradients.
[[nodiscard]] bool has_factors(const Layer& layer);
[[nodiscard]] std::int64_t parameters(const Layer& layer);
/// In how many tensors they are: weights and biases, or a norm's scales and shifts.
[[nodiscard]] int tensors(const Layer& layer);
/// Multiplications of a forward pass over one sample. A norm counts as none.
[[nodiscard]] std::int64_t multiplications(const Layer& layer);

/// Sides of the two Kronecker factors: of the inputs (and a constant 1 where there is a bias), and of the gradients of
/// the outputs. 0 for a norm.
[[nodiscard]] std::int64_t factor_a(const Layer& layer);
[[nodiscard]] std::int64_t factor_g(const Layer& layer);
/// Elements of the upper triangle of a symmetric matrix, which are those that must be sent.
[[nodiscard]] constexpr std::int64_t triangle(std::int64_t side) {
  return side * (side + 1) / 2;
}

struct Network {
  std::string name;
  std::int64_t batch = 1;  ///< samples for each accelerator, the default of a run
  std::vector<Layer> layers;
};

/// Names of networks.csv.
[[nodiscard]] std::vector<std::string> network_names();
/// Those of networks.csv, with the batch that was measured, and transformers by network_of, with one sequence. Throws
/// std::invalid_argument that lists the names there are, and traces::FormatError.
[[nodiscard]] Network find_network(std::string_view name);
/// A file as above, maybe packed with gzip: what it holds tells CSV from JSON. Without a name it is named after the
/// file, without a batch it has 1. Throws traces::FormatError.
[[nodiscard]] Network load_network(const std::filesystem::path& file);
/// Whether a network given by this text is a file: it has a slash or the extension of one, or there is a file of that
/// name with a dot.
[[nodiscard]] bool is_network_file(std::string_view name);
/// The matrices of all blocks, applied to each token of a sequence. Without embedding and head, whose factors would be
/// as wide as the vocabulary and which implementations leave to plain gradients; without norms, which are small.
[[nodiscard]] Network network_of(const Transformer& model);

struct NetworkTotals {
  std::int64_t layers_with_factors = 0;
  std::int64_t parameters = 0;
  std::int64_t multiplications = 0;  ///< of a forward pass over one sample
  std::int64_t triangles_a = 0;      ///< elements of all upper triangles
  std::int64_t triangles_g = 0;
  std::int64_t largest_side = 0;
  std::int64_t factor_flops = 0;  ///< of the products that give the factors, for one sample; the whole square
};
[[nodiscard]] NetworkTotals totals(const Network& network);

}  // namespace weft::models
