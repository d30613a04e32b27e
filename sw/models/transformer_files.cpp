// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "sw/models/json_row.h"
#include "sw/models/transformer.h"
#include "traces/csv.h"
#include "traces/files/data_path.h"
#include "traces/files/text_file.h"
#include "traces/json/json_text.h"

namespace weft::models {
namespace {

/// Beyond any real model: with these, counts of parameters stay within 63 bits.
constexpr std::int64_t kMaxWidth = 1 << 20;
constexpr std::int64_t kMaxCount = 1 << 12;

/// What a model must say of itself; the row is one of a table, or a JSON file.
template <typename Row>
Transformer read_row(const Row& row, std::string name) {
  Transformer model;
  model.name = std::move(name);
  model.layers = row.integer("layers", 1, kMaxCount);
  model.d_model = row.integer("d_model", 1, kMaxWidth);
  model.ffn = row.integer("ffn", 1, kMaxWidth);
  model.heads = row.integer("heads", 1, kMaxCount);
  model.vocab = row.integer("vocab", 1, kMaxWidth);
  model.sequence = row.integer("sequence", 1, kMaxWidth);
  return model;
}

/// What a JSON file may leave out. Of a table all columns are there, and their fields have something in them.
template <typename Row>
void read_rest(const Row& row, bool is_whole, Transformer& model) {
  const auto says = [&](std::string_view key) { return is_whole || row.has(key); };
  model.kv_heads = says("kv_heads") ? row.integer("kv_heads", 1, model.heads) : model.heads;
  if (model.heads % model.kv_heads != 0) row.fail("kv_heads", fmt::format("a divisor of {} heads", model.heads));
  if (!row.has("head_dim") && model.d_model % model.heads != 0) {
    row.fail("head_dim", "a width, because d_model is no multiple of heads");
  }
  model.head_dim = row.integer_or("head_dim", model.d_model / model.heads, 1, kMaxCount);
  if (says("gated")) model.gated = row.boolean("gated");
  if (says("tied")) model.tied = row.boolean("tied");
  if (says("positions")) model.positions = row.integer("positions", 0, kMaxWidth);
  if (says("bias")) model.bias = row.boolean("bias");
  if (says("norm")) {
    const std::string norm = row.text("norm");
    if (norm != "rms" && norm != "layer") row.fail("norm", "rms or layer");
    model.norm = norm == "rms" ? Norm::kRms : Norm::kLayer;
  }
  if (model.positions > 0 && model.sequence > model.positions) {
    row.fail("sequence", fmt::format("at most the {} positions", model.positions));
  }
  if (row.has("encoder")) model.encoder = row.integer("encoder", 0, kMaxCount);
  if (row.has("relative")) model.relative = row.integer("relative", 0, kMaxWidth);
  if (row.has("dropout")) model.dropout = row.boolean("dropout");
}

bool may_be_transformers(traces::FileKind kind) {
  return kind == traces::FileKind::kTransformer || kind == traces::FileKind::kJson || traces::is_unknown_text(kind);
}

std::vector<Transformer> read_table(std::string_view text, const std::filesystem::path& file) {
  const traces::CsvTable table = traces::CsvTable::parse(text, file.string());
  table.expect_columns({"name", "layers", "d_model", "ffn", "heads", "kv_heads", "head_dim", "vocab", "gated", "tied",
                        "positions", "bias", "norm", "sequence"},
                       {"encoder", "relative", "dropout"});
  std::vector<Transformer> models;
  for (const traces::CsvTable::Row row : table) {
    Transformer model = read_row(row, row.required("name"));
    read_rest(row, true, model);
    const bool is_known =
        std::any_of(models.begin(), models.end(), [&](const Transformer& known) { return known.name == model.name; });
    if (is_known) row.fail("name", "a name that no other row has");
    models.push_back(std::move(model));
  }
  return models;
}

Transformer read_object(std::string_view text, const std::filesystem::path& file) {
  const nlohmann::json json = parse_model(text, file);
  const JsonRow row(json, file);
  row.expect_object("a transformer, an object");
  row.expect_keys({"name", "layers", "d_model", "ffn", "heads", "kv_heads", "head_dim", "vocab", "gated", "tied",
                   "positions", "bias", "norm", "sequence", "encoder", "relative", "dropout"});
  const std::filesystem::path unpacked = file.extension() == ".gz" ? file.stem() : file.filename();
  Transformer model = read_row(row, json.contains("name") ? row.required("name") : unpacked.stem().string());
  read_rest(row, false, model);
  return model;
}

}  // namespace

std::vector<Transformer> load_transformers() {
  return load_transformers(traces::find_data("models/transformers.csv"));
}

std::vector<Transformer> load_transformers(const std::filesystem::path& file) {
  const std::string text =
      traces::read_text(file, "a transformer in JSON, or a table of them in CSV", may_be_transformers);
  if (traces::begins_as_json(text)) return {read_object(text, file)};
  return read_table(text, file);
}

const Transformer& find_transformer(const std::vector<Transformer>& models, std::string_view name) {
  std::string names;
  for (const Transformer& model : models) {
    if (model.name == name) return model;
    names += (names.empty() ? "" : ", ") + model.name;
  }
  throw std::invalid_argument(fmt::format("no transformer '{}', expected one of {}", name, names));
}

bool is_decoder(const Transformer& model) {
  return model.encoder == 0 && model.relative == 0 && !model.dropout;
}

const Transformer& find_decoder(const std::vector<Transformer>& models, std::string_view name) {
  const Transformer& found = find_transformer(models, name);
  if (is_decoder(found)) return found;
  std::string names;
  for (const Transformer& model : models) {
    if (is_decoder(model)) names += (names.empty() ? "" : ", ") + model.name;
  }
  throw std::invalid_argument(
      fmt::format("{} has an encoder, relative positions or dropout, expected one of {}", name, names));
}

}  // namespace weft::models
