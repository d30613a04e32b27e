// SPDX-License-Identifier: Apache-2.0
#include "sw/models/named_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "traces/files/format_error.h"
#include "traces/files/input_file.h"
#include "traces/files/kind/file_kind.h"

namespace weft::models {
namespace {

using traces::FileKind;

constexpr std::string_view kTable = ".csv";
constexpr std::string_view kPacked = ".gz";

bool is_transformer(const std::filesystem::path& file) {
  return traces::is_file(file) && traces::guess(file).kind == FileKind::kTransformer;
}

Transformer row_of(const ModelFile& own) {
  std::vector<Transformer> models = load_transformers(own.file);
  if (own.row.empty() && models.size() == 1) return models.front();
  std::string names;
  for (Transformer& model : models) {
    if (model.name == own.row) return std::move(model);
    names += (names.empty() ? "" : ", ") + model.name;
  }
  throw traces::FormatError(own.file.string(), 0,
                            fmt::format("expected {}:NAME with one of {}, got {}", own.file.filename().string(), names,
                                        own.row.empty() ? "no name" : "'" + own.row + "'"));
}

}  // namespace

std::optional<ModelFile> model_file(std::string_view name) {
  const std::size_t colon = name.rfind(':');
  if (colon != std::string_view::npos) {
    std::string_view file = name.substr(0, colon);
    if (file.ends_with(kPacked)) file.remove_suffix(kPacked.size());
    if (file.ends_with(kTable)) return ModelFile{name.substr(0, colon), std::string(name.substr(colon + 1))};
  }
  if (name.find('/') != std::string_view::npos) return ModelFile{name, ""};
  std::string_view file = name;
  if (file.ends_with(kPacked)) file.remove_suffix(kPacked.size());
  if (file.ends_with(kTable) || file.ends_with(".json")) return ModelFile{name, ""};
  return std::nullopt;
}

bool has_model(const std::filesystem::path& file) {
  if (!traces::is_file(file)) return false;
  const FileKind kind = traces::guess(file).kind;
  return kind == FileKind::kTransformer || kind == FileKind::kLayers;
}

Transformer named_transformer(std::string_view name) {
  const std::optional<ModelFile> own = model_file(name);
  if (!own) return find_transformer(load_transformers(), name);
  return row_of(*own);
}

Transformer named_decoder(std::string_view name) {
  if (!model_file(name)) return find_decoder(load_transformers(), name);
  Transformer model = named_transformer(name);
  if (is_decoder(model)) return model;
  throw std::invalid_argument(
      fmt::format("{} has an encoder, relative positions or dropout, expected a decoder without these", model.name));
}

bool is_layers_file(std::string_view name) {
  const std::optional<ModelFile> own = model_file(name);
  return is_network_file(name) && !(own && (!own->row.empty() || is_transformer(own->file)));
}

Network named_network(std::string_view name) {
  if (is_layers_file(name)) return load_network(name);
  if (!model_file(name)) return find_network(name);
  const Transformer model = named_transformer(name);
  if (model.encoder == 0 && has_plain_blocks(model)) return network_of(model);
  throw std::invalid_argument(fmt::format(
      "{} has an encoder, experts, latent attention, windows or norms of queries, expected a decoder without "
      "these, or layers",
      model.name));
}

}  // namespace weft::models
