// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
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
constexpr std::int64_t kMaxExperts = 1 << 22;

/// What a table may leave out.
const std::vector<std::string_view> kOptional = {"encoder",     "relative",     "dropout",          "experts",
                                                 "top_k",       "expert_ffn",   "shared_experts",   "dense_layers",
                                                 "q_lora_rank", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim",
                                                 "v_head_dim",  "window",       "full_every",       "qk_norm"};

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

/// None of these means anything without `needed`.
template <typename Row>
void refuse_without(const Row& row, const char* needed, const char* what, std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    if (row.has(key)) row.fail(needed, fmt::format("{}, because {} is given", what, key));
  }
}

template <typename Row>
void read_experts(const Row& row, Transformer& model) {
  if (row.has("experts")) model.experts = row.integer("experts", 0, kMaxCount);
  if (!model.has_experts()) {
    refuse_without(row, "experts", "a number of experts", {"top_k", "expert_ffn", "shared_experts", "dense_layers"});
    return;
  }
  model.top_k = row.integer("top_k", 1, model.experts);
  model.expert_ffn = row.integer("expert_ffn", 1, kMaxWidth);
  if (row.has("shared_experts")) model.shared_ffn = row.integer("shared_experts", 0, kMaxCount) * model.expert_ffn;
  for (const std::int64_t width : {model.experts * model.expert_ffn, model.shared_ffn}) {
    if (width > kMaxExperts) row.fail("expert_ffn", fmt::format("at most {} columns of all experts", kMaxExperts));
  }
  if (row.has("dense_layers")) model.dense_layers = row.integer("dense_layers", 0, model.layers);
}

template <typename Row>
void read_latent(const Row& row, Transformer& model) {
  if (row.has("kv_lora_rank")) model.kv_lora_rank = row.integer("kv_lora_rank", 0, kMaxWidth);
  if (!model.is_latent()) {
    refuse_without(row, "kv_lora_rank", "a number",
                   {"q_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"});
    return;
  }
  if (model.kv_heads != model.heads) row.fail("kv_heads", "as many as heads, with kv_lora_rank");
  if (row.has("q_lora_rank")) model.q_lora_rank = row.integer("q_lora_rank", 0, kMaxWidth);
  model.qk_nope_head_dim = row.integer("qk_nope_head_dim", 1, kMaxCount);
  model.qk_rope_head_dim = row.integer("qk_rope_head_dim", 1, kMaxCount);
  model.v_head_dim = row.integer("v_head_dim", 1, kMaxCount);
  model.head_dim = model.qk_nope_head_dim + model.qk_rope_head_dim;
}

/// What a JSON file may leave out. Of a table all columns are there, and their fields have something in them.
template <typename Row>
void read_rest(const Row& row, bool is_whole, Transformer& model) {
  const auto says = [&](std::string_view key) { return is_whole || row.has(key); };
  model.kv_heads = says("kv_heads") ? row.integer("kv_heads", 1, model.heads) : model.heads;
  if (model.heads % model.kv_heads != 0) row.fail("kv_heads", fmt::format("a divisor of {} heads", model.heads));
  const bool is_latent = row.has("kv_lora_rank");  // which has parts of heads
  if (!row.has("head_dim") && !is_latent && model.d_model % model.heads != 0) {
    row.fail("head_dim", "a width, because d_model is no multiple of heads");
  }
  model.head_dim = row.integer_or("head_dim", std::max<std::int64_t>(1, model.d_model / model.heads), 1, kMaxCount);
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
  read_experts(row, model);
  read_latent(row, model);
  if (row.has("window")) model.window = row.integer("window", 0, kMaxWidth);
  if (row.has("full_every")) model.full_every = row.integer("full_every", 0, kMaxCount);
  if (model.full_every > 0 && model.window == 0) row.fail("full_every", "a window, because some blocks have none");
  if (row.has("qk_norm")) model.qk_norm = row.boolean("qk_norm");
  if (model.qk_norm && model.is_latent()) row.fail("qk_norm", "no kv_lora_rank");
  if (!has_plain_blocks(model) && !is_decoder(model))
    row.fail("encoder", "a decoder alone, for experts, latent attention and windows");
}

bool may_be_transformers(traces::FileKind kind) {
  return kind == traces::FileKind::kTransformer || kind == traces::FileKind::kJson || traces::is_unknown_text(kind);
}

std::vector<Transformer> read_table(std::string_view text, const std::filesystem::path& file) {
  const traces::CsvTable table = traces::CsvTable::parse(text, file.string());
  table.expect_columns({"name", "layers", "d_model", "ffn", "heads", "kv_heads", "head_dim", "vocab", "gated", "tied",
                        "positions", "bias", "norm", "sequence"},
                       kOptional);
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
  std::vector<std::string_view> keys = {"name",  "layers", "d_model", "ffn",       "heads", "kv_heads", "head_dim",
                                        "vocab", "gated",  "tied",    "positions", "bias",  "norm",     "sequence"};
  keys.insert(keys.end(), kOptional.begin(), kOptional.end());
  row.expect_keys(keys);
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

bool has_plain_blocks(const Transformer& model) {
  return !model.has_experts() && !model.is_latent() && model.window == 0 && !model.qk_norm;
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
