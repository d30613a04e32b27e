// SPDX-License-Identifier: Apache-2.0
#include "sw/models/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include "sw/models/json_layers.h"
#include "traces/csv.h"
#include "traces/files/data_path.h"
#include "traces/files/text_file.h"
#include "traces/json/json_text.h"

namespace weft::models {
namespace {

/// Beyond any real layer.
constexpr std::int64_t kMaxChannels = 1 << 18;
constexpr std::int64_t kMaxKernel = 1 << 6;
constexpr std::int64_t kMaxImage = 1 << 14;
constexpr std::int64_t kMaxSide = 1 << 20;
constexpr std::int64_t kMaxBatch = 1 << 20;
constexpr std::int64_t kMaxBranches = 1 << 10;
/// Of a sample, in the passes through all layers and the products that give factors: counts stay within 63 bits.
constexpr double kMaxOperations = 1e18;

const std::initializer_list<std::string_view> kColumns = {
    "layer",  "kind",       "channels_in", "channels_out", "kernel_height", "kernel_width",
    "stride", "pad_height", "pad_width",   "height",       "width",         "bias"};
const std::initializer_list<std::string_view> kShapeColumns = {"layer", "kind", "channels_in", "channels_out", "bias"};
/// That a table of linear layers has no use for.
const std::initializer_list<std::string_view> kImageColumns = {"kernel_height", "kernel_width", "stride", "pad_height",
                                                               "pad_width",     "height",       "width"};

// Rows are those of a table or of a JSON file.
template <typename Row>
void expect_empty(const Row& row, std::initializer_list<const char*> columns, const char* of) {
  for (const char* column : columns) {
    if (row.has(column)) row.fail(column, fmt::format("nothing for a {} layer", of));
  }
}

template <typename Row>
void read_convolution(const Row& row, Layer& layer) {
  layer.kernel_height = row.integer("kernel_height", 1, kMaxKernel);
  layer.kernel_width = row.integer("kernel_width", 1, kMaxKernel);
  layer.stride = row.integer("stride", 1, kMaxKernel);
  layer.pad_height = row.integer("pad_height", 0, kMaxKernel);
  layer.pad_width = row.integer("pad_width", 0, kMaxKernel);
  if (layer.kernel_height > layer.height + 2 * layer.pad_height) {
    row.fail("kernel_height",
             fmt::format("at most the {} rows of the padded image", layer.height + 2 * layer.pad_height));
  }
  if (layer.kernel_width > layer.width + 2 * layer.pad_width) {
    row.fail("kernel_width",
             fmt::format("at most the {} columns of the padded image", layer.width + 2 * layer.pad_width));
  }
}

std::optional<MoveKind> move_kind(std::string_view kind) {
  if (kind == "max-pool") return MoveKind::kMaxPool;
  if (kind == "average-pool") return MoveKind::kAveragePool;
  if (kind == "concat") return MoveKind::kConcat;
  if (kind == "branches") return MoveKind::kBranches;
  return std::nullopt;
}

/// What all rows have.
template <typename Row>
Layer read_shape(const Row& row, bool has_kernel) {
  Layer layer;
  layer.name = row.required("layer");
  layer.channels_in = row.integer("channels_in", 1, kMaxChannels);
  layer.channels_out = row.integer("channels_out", 1, kMaxChannels);
  const bool once = row.text("kind") == "linear";
  if (!once || row.has("height")) layer.height = row.integer("height", 1, kMaxImage);
  if (!once || row.has("width")) layer.width = row.integer("width", 1, kMaxImage);
  layer.bias = row.boolean("bias");
  if (has_kernel) {
    read_convolution(row, layer);
  } else {
    expect_empty(row, {"kernel_height", "kernel_width", "stride", "pad_height", "pad_width"}, row.text("kind").c_str());
  }
  return layer;
}

template <typename Row>
void expect_same_channels(const Row& row, const Layer& layer) {
  if (layer.channels_out == layer.channels_in) return;
  row.fail("channels_out", fmt::format("the {} channels that come in", layer.channels_in));
}

template <typename Row>
Move read_move(const Row& row, MoveKind kind) {
  const Layer shape = read_shape(row, kind == MoveKind::kMaxPool || kind == MoveKind::kAveragePool);
  if (shape.bias) row.fail("bias", "no for what has no parameters");
  if (kind != MoveKind::kBranches) {
    expect_same_channels(row, shape);
  } else if (shape.channels_out % shape.channels_in != 0) {
    row.fail("channels_out", fmt::format("a multiple of the {} channels that come in", shape.channels_in));
  } else if (shape.channels_out / shape.channels_in > kMaxBranches) {
    row.fail("channels_out", fmt::format("at most {} branches of {} channels", kMaxBranches, shape.channels_in));
  }
  return {kind, shape.channels_in * shape.height * shape.width, shape.channels_out * shape.positions()};
}

template <typename Row>
Layer read_layer(const Row& row) {
  const std::string& kind = row.text("kind");
  const bool residual = kind == "residual-norm";
  const bool norm = residual || kind == "norm";
  if (kind != "conv" && kind != "linear" && !norm) {
    row.fail("kind", "conv, linear, norm, residual-norm, max-pool, average-pool, concat or branches");
  }
  Layer layer = read_shape(row, kind == "conv");
  layer.kind = norm ? LayerKind::kNorm : kind == "conv" ? LayerKind::kConv : LayerKind::kLinear;
  layer.residual = residual;
  if (norm) {
    expect_same_channels(row, layer);
    if (!layer.bias) row.fail("bias", "yes for a norm");
  }
  if (factor_a(layer) > kMaxSide) {
    row.fail("channels_in", fmt::format("a factor of at most {} rows, not {}", kMaxSide, factor_a(layer)));
  }
  return layer;
}

double operations(const Layer& layer) {
  const auto a = static_cast<double>(factor_a(layer));
  const auto g = static_cast<double>(factor_g(layer));
  return 2 * static_cast<double>(layer.positions()) * (3 * a * g + a * a + g * g);
}

template <typename Rows>
std::vector<Layer> read_layers(const Rows& rows) {
  std::vector<Layer> layers;
  std::vector<Move> moves;
  std::set<std::string> names;
  double sum = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!names.insert(rows[i].required("layer")).second) rows[i].fail("layer", "a name that no other row has");
    if (const std::optional<MoveKind> kind = move_kind(rows[i].text("kind"))) {
      moves.push_back(read_move(rows[i], *kind));
      if (i + 1 == rows.size()) rows[i].fail("kind", "a layer behind what moves data");
      continue;
    }
    layers.push_back(read_layer(rows[i]));
    layers.back().before = std::exchange(moves, {});
    sum += operations(layers.back());
    if (sum > kMaxOperations) {
      rows[i].fail(
          "channels_in",
          fmt::format("layers of at most {:.0e} operations a sample, this one and those before it having {:.1e}",
                      kMaxOperations, sum));
    }
  }
  return layers;
}

traces::CsvTable load_networks() {
  traces::CsvTable table = traces::CsvTable::read(traces::find_data("models/networks.csv"));
  table.expect_columns({"name", "batch"});
  return table;
}

void append_matrices(const Transformer& model, std::int64_t block, std::vector<Layer>& layers) {
  for (const Tensor& tensor : unit_tensors(model, UnitKind::kBlock)) {
    if (tensor.cols == 1) continue;  // biases, which belong to the matrix before, and norms
    Layer layer;
    layer.name = fmt::format("{}.{}", block, tensor.name);
    layer.channels_in = tensor.cols;
    layer.channels_out = tensor.rows;
    layer.height = model.sequence;
    layer.bias = model.bias;
    layers.push_back(std::move(layer));
  }
}

}  // namespace

bool has_factors(const Layer& layer) {
  return layer.kind != LayerKind::kNorm;
}

std::int64_t parameters(const Layer& layer) {
  if (layer.kind == LayerKind::kNorm) return 2 * layer.channels_out;
  return layer.channels_out * (layer.kernel_inputs() + (layer.bias ? 1 : 0));
}

int tensors(const Layer& layer) {
  return layer.kind == LayerKind::kNorm || layer.bias ? 2 : 1;
}

std::int64_t multiplications(const Layer& layer) {
  return layer.kind == LayerKind::kNorm ? 0 : layer.positions() * layer.channels_out * layer.kernel_inputs();
}

std::int64_t factor_a(const Layer& layer) {
  return layer.kind == LayerKind::kNorm ? 0 : layer.kernel_inputs() + (layer.bias ? 1 : 0);
}

std::int64_t factor_g(const Layer& layer) {
  return layer.kind == LayerKind::kNorm ? 0 : layer.channels_out;
}

bool is_network_file(std::string_view name) {
  if (name.find('/') != std::string_view::npos) return true;
  for (const std::string_view extension : {".csv", ".json", ".txt", ".gz"}) {
    if (name.ends_with(extension)) return true;
  }
  return name.find('.') != std::string_view::npos && traces::is_file(name);
}

Network load_network(const std::filesystem::path& file) {
  const std::string text = traces::read_text(file, "a network in CSV or JSON", [](traces::FileKind kind) {
    return kind == traces::FileKind::kLayers || kind == traces::FileKind::kJson || traces::is_unknown_text(kind);
  });
  if (traces::begins_as_json(text)) {
    const JsonLayers layers(text, file, kColumns);
    return {layers.name(), layers.batch(kMaxBatch), read_layers(layers)};
  }
  const traces::CsvTable table = traces::CsvTable::parse(text, file.string());
  table.expect_columns(kShapeColumns, kImageColumns);
  table.expect_rows("a layer");
  const std::filesystem::path unpacked = file.extension() == ".gz" ? file.stem() : file.filename();
  return {unpacked.stem().string(), 1, read_layers(table)};
}

std::vector<std::string> network_names() {
  const traces::CsvTable table = load_networks();
  std::vector<std::string> names;
  for (const traces::CsvTable::Row row : table) names.push_back(row.required("name"));
  return names;
}

Network find_network(std::string_view name) {
  const traces::CsvTable table = load_networks();
  std::string names;
  for (const traces::CsvTable::Row row : table) {
    if (row.required("name") == name) {
      Network network = load_network(traces::find_data(fmt::format("models/networks/{}.csv", name)));
      network.batch = row.integer("batch", 1, kMaxBatch);
      return network;
    }
    names += (names.empty() ? "" : ", ") + row.text("name");
  }
  for (const Transformer& model : load_transformers()) {
    if (model.encoder > 0 || !has_plain_blocks(model)) continue;
    if (model.name == name) return network_of(model);
    names += ", " + model.name;
  }
  throw std::invalid_argument(fmt::format(
      "no network '{}', expected one of {}, or a file of layers whose name ends in .csv or .json or has a / in it",
      name, names));
}

Network network_of(const Transformer& model) {
  Network network;
  network.name = model.name;
  for (std::int64_t block = 0; block < model.layers; ++block) append_matrices(model, block, network.layers);
  return network;
}

NetworkTotals totals(const Network& network) {
  NetworkTotals sum;
  for (const Layer& layer : network.layers) {
    const std::int64_t a = factor_a(layer);
    const std::int64_t g = factor_g(layer);
    sum.layers_with_factors += has_factors(layer) ? 1 : 0;
    sum.parameters += parameters(layer);
    sum.multiplications += multiplications(layer);
    sum.triangles_a += triangle(a);
    sum.triangles_g += triangle(g);
    sum.largest_side = std::max({sum.largest_side, a, g});
    sum.factor_flops += 2 * layer.positions() * (a * a + g * g);
  }
  return sum;
}

}  // namespace weft::models
