// SPDX-License-Identifier: Apache-2.0
#include "sw/models/json_layers.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace weft::models {

using nlohmann::json;

JsonLayers::JsonLayers(std::string_view text, const std::filesystem::path& file,
                       const std::vector<std::string_view>& keys)
    : file_(file), root_(std::make_unique<json>(parse_model(text, file))) {
  root().expect_object("an object with layers");
  root().expect_keys({"name", "batch", "layers"});
  if (!root_->contains("layers") || !root_->at("layers").is_array()) root().fail("layers", "an array");
  for (std::size_t i = 0; i < size(); ++i) {
    (*this)[i].expect_object("an object");
    (*this)[i].expect_keys(keys);
  }
}

JsonLayers::~JsonLayers() = default;

JsonRow JsonLayers::root() const {
  return {*root_, file_};
}

std::size_t JsonLayers::size() const {
  return root_->at("layers").size();
}

JsonRow JsonLayers::operator[](std::size_t index) const {
  return {root_->at("layers")[index], file_, fmt::format("layers[{}]", index)};
}

std::string JsonLayers::name() const {
  if (!root_->contains("name")) return file_.stem().string();
  const json& name = root_->at("name");
  if (!name.is_string() || name.get_ref<const std::string&>().empty()) root().fail("name", "a name");
  return name.get<std::string>();
}

std::int64_t JsonLayers::batch(std::int64_t most) const {
  return root().integer_or("batch", 1, 1, most);
}

}  // namespace weft::models
