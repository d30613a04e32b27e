// SPDX-License-Identifier: Apache-2.0
#include "sw/models/json_layers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "traces/json/json_text.h"

namespace weft::models {

using nlohmann::json;
using traces::FormatError;

namespace {

json parse(std::string_view text, const std::filesystem::path& file) {
  try {
    return traces::parse_json(text);
  } catch (const traces::JsonError& error) {
    throw FormatError(file.string(), 0, error.what());
  }
}

std::string path_of(std::size_t index, std::string_view key) {
  return fmt::format("layers[{}]{}{}", index, key.empty() ? "" : ".", key);
}

}  // namespace

JsonLayers::JsonLayers(std::string_view text, const std::filesystem::path& file,
                       const std::vector<std::string_view>& keys)
    : file_(file), root_(std::make_unique<json>(parse(text, file))) {
  const auto expect_keys = [this](const json& object, const std::string& path, const auto& known) {
    for (const auto& [key, value] : object.items()) {
      if (std::find(known.begin(), known.end(), key) != known.end()) continue;
      fail(path + key, fmt::format("one of {}", fmt::join(known, ", ")), nullptr);
    }
  };
  if (!root_->is_object()) fail("", "an object with layers", root_.get());
  expect_keys(*root_, "", std::vector<std::string_view>{"name", "batch", "layers"});
  if (!root_->contains("layers") || !root_->at("layers").is_array()) {
    fail("layers", "an array", root_->contains("layers") ? &root_->at("layers") : nullptr);
  }
  for (std::size_t i = 0; i < size(); ++i) {
    const json& layer = root_->at("layers")[i];
    if (!layer.is_object()) fail(path_of(i, ""), "an object", &layer);
    expect_keys(layer, path_of(i, "") + ".", keys);
  }
}

JsonLayers::~JsonLayers() = default;

std::size_t JsonLayers::size() const {
  return root_->at("layers").size();
}

std::string JsonLayers::name() const {
  if (!root_->contains("name")) return file_.stem().string();
  const json& name = root_->at("name");
  if (!name.is_string() || name.get_ref<const std::string&>().empty()) fail("name", "a name", &name);
  return name.get<std::string>();
}

std::int64_t JsonLayers::batch(std::int64_t most) const {
  if (!root_->contains("batch")) return 1;
  const json& batch = root_->at("batch");
  if (!batch.is_number_integer() || batch.get<std::int64_t>() < 1 || batch.get<std::int64_t>() > most) {
    fail("batch", fmt::format("a whole number from 1 to {}", most), &batch);
  }
  return batch.get<std::int64_t>();
}

void JsonLayers::fail(const std::string& path, std::string_view expected, const json* value) const {
  throw FormatError(file_.string(), 0,
                    fmt::format("{}{}expected {}{}", path, path.empty() ? "" : ": ", expected,
                                value == nullptr ? "" : ", got " + value->dump().substr(0, 60)));
}

std::string JsonLayers::Row::text(std::string_view key) const {
  const json& layer = layers_->root_->at("layers")[index_];
  const auto found = layer.find(key);
  if (found == layer.end()) return "";
  return found->is_string() ? found->get<std::string>() : found->dump();
}

std::string JsonLayers::Row::required(std::string_view key) const {
  const json& layer = layers_->root_->at("layers")[index_];
  const auto found = layer.find(key);
  if (found == layer.end() || !found->is_string() || text(key).empty()) fail(key, "a text");
  return text(key);
}

std::int64_t JsonLayers::Row::integer(std::string_view key, std::int64_t min, std::int64_t max) const {
  const json& layer = layers_->root_->at("layers")[index_];
  const auto found = layer.find(key);
  if (found == layer.end() || !found->is_number_integer() || found->get<std::int64_t>() < min ||
      found->get<std::int64_t>() > max) {
    fail(key, fmt::format("a whole number from {} to {}", min, max));
  }
  return found->get<std::int64_t>();
}

bool JsonLayers::Row::boolean(std::string_view key) const {
  const json& layer = layers_->root_->at("layers")[index_];
  const auto found = layer.find(key);
  if (found == layer.end() || !found->is_boolean()) fail(key, "true or false");
  return found->get<bool>();
}

void JsonLayers::Row::fail(std::string_view key, std::string_view expected) const {
  const json& layer = layers_->root_->at("layers")[index_];
  const auto found = layer.find(key);
  layers_->fail(path_of(index_, key), expected, found == layer.end() ? nullptr : &*found);
}

}  // namespace weft::models
