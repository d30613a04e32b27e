// SPDX-License-Identifier: Apache-2.0
#include "platforms/jobs/model_list.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <system_error>
#include <variant>

#include "platforms/jobs/job_kind.h"
#include "traces/files/format_error.h"
#include "traces/files/kind/file_kind.h"

namespace weft::platforms {
namespace {

namespace fs = std::filesystem;
using models::Network;
using models::Transformer;

/// Of one file, under the names that lead to it.
void add_file(const fs::path& file, std::vector<ListedModel>& list) {
  if (!models::has_model(file)) return;
  if (traces::guess(file).kind != traces::FileKind::kTransformer) {
    list.push_back({file.stem().string(), models::load_network(file)});
    return;
  }
  const bool is_table = file.extension() == ".csv";
  for (Transformer& model : models::load_transformers(file)) {
    const std::string name = is_table ? file.filename().string() + ":" + model.name : file.stem().string();
    list.push_back({name, std::move(model)});
  }
}

void add_folder(const fs::path& folder, std::vector<ListedModel>& list) {
  std::set<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const fs::path extension = entry.path().extension();
    if (extension == ".json" || extension == ".csv") files.insert(entry.path());
  }
  for (const fs::path& file : files) {
    try {
      add_file(file, list);
    } catch (const traces::FormatError&) {
      // One that nobody has named keeps nobody from anything.
    }
  }
}

}  // namespace

std::int64_t ListedModel::parameters() const {
  const auto* transformer = std::get_if<Transformer>(&model);
  return transformer != nullptr ? models::total_parameters(*transformer)
                                : models::totals(std::get<Network>(model)).parameters;
}

std::int64_t ListedModel::active() const {
  const auto* transformer = std::get_if<Transformer>(&model);
  return transformer != nullptr && transformer->has_experts() ? models::active_parameters(*transformer) : 0;
}

std::int64_t ListedModel::layers() const {
  const auto* transformer = std::get_if<Transformer>(&model);
  return transformer != nullptr ? transformer->blocks() : models::totals(std::get<Network>(model)).layers_with_factors;
}

std::int64_t ListedModel::hidden() const {
  const auto* transformer = std::get_if<Transformer>(&model);
  return transformer != nullptr ? transformer->d_model : 0;
}

std::vector<std::string> ListedModel::kinds() const {
  std::vector<std::string> names;
  for (const JobKind& kind : job_kinds()) {
    if (kind.takes_model && kind.takes_model(model)) names.push_back(kind.name);
  }
  return names;
}

std::vector<ListedModel> list_models(const Catalogue& catalogue) {
  std::vector<ListedModel> list;
  for (Transformer& model : models::load_transformers()) {
    const std::string name = model.name;
    list.push_back({name, std::move(model)});
  }
  for (const std::string& name : models::network_names()) list.push_back({name, models::find_network(name)});
  for (const fs::path& folder : catalogue.own_folders()) add_folder(folder, list);
  return list;
}

ListedModel read_model(const std::string& name, const std::string& found) {
  const std::vector<std::string> networks = models::network_names();
  const bool is_network = std::find(networks.begin(), networks.end(), found) != networks.end();
  if (is_network || models::is_layers_file(found)) return {name, models::named_network(found)};
  return {name, models::named_transformer(found)};
}

nlohmann::ordered_json to_json(const ListedModel& listed) {
  nlohmann::ordered_json json = {{"name", listed.name}, {"kinds", listed.kinds()}, {"parameters", listed.parameters()}};
  if (const auto* network = std::get_if<Network>(&listed.model)) {
    json.update({{"layers", listed.layers()}, {"batch", network->batch}});
    return json;
  }
  const auto& model = std::get<Transformer>(listed.model);
  if (listed.active() > 0) json["active_parameters"] = listed.active();
  json["flops_per_token"] = models::megatron_flops_per_token(model, model.sequence);
  json.update({{"layers", model.layers},
               {"d_model", model.d_model},
               {"ffn", model.ffn},
               {"heads", model.heads},
               {"kv_heads", model.kv_heads},
               {"head_dim", model.head_dim},
               {"vocab", model.vocab},
               {"gated", model.gated},
               {"tied", model.tied},
               {"positions", model.positions},
               {"bias", model.bias},
               {"norm", model.norm == models::Norm::kRms ? "rms" : "layer"},
               {"sequence", model.sequence},
               {"encoder", model.encoder},
               {"relative", model.relative},
               {"dropout", model.dropout}});
  if (model.has_experts()) {
    json.update({{"experts", model.experts},
                 {"top_k", model.top_k},
                 {"expert_ffn", model.expert_ffn},
                 {"shared_experts", model.shared_ffn / model.expert_ffn},
                 {"dense_layers", model.dense_layers}});
  }
  if (model.is_latent()) {
    json.update({{"q_lora_rank", model.q_lora_rank},
                 {"kv_lora_rank", model.kv_lora_rank},
                 {"qk_nope_head_dim", model.qk_nope_head_dim},
                 {"qk_rope_head_dim", model.qk_rope_head_dim},
                 {"v_head_dim", model.v_head_dim}});
  }
  if (model.window > 0) json.update({{"window", model.window}, {"full_every", model.full_every}});
  if (model.qk_norm) json["qk_norm"] = true;
  return json;
}

}  // namespace weft::platforms
