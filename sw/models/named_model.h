// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "sw/models/network.h"
#include "sw/models/transformer.h"

/// Models by what a platform calls them:
///
///     llama3-8b                a row of transformers.csv or of networks.csv
///     models/my-70b.json       a file of one's own: a transformer (load_transformers), or layers (load_network)
///     my-models.csv:my-70b     a row of such a table of transformers; of a table with one row the file alone
///
/// Where a file lies that is given without a folder is the caller's affair.
namespace weft::models {

/// What a name can stand for.
using AnyModel = std::variant<Transformer, Network>;

/// A file that a name stands for.
struct ModelFile {
  std::filesystem::path file;
  std::string row;  ///< of a table; may be empty

  /// As it would be given.
  [[nodiscard]] std::string name() const { return file.string() + (row.empty() ? "" : ":" + row); }
};

/// The name as a file: with a slash, or with the ending of a file of models. None if it is a name of the catalogue.
[[nodiscard]] std::optional<ModelFile> model_file(std::string_view name);
/// Whether there is such a file, and it is one of a transformer or of layers.
[[nodiscard]] bool has_model(const std::filesystem::path& file);

/// These throw std::invalid_argument with the names there are, and traces::FormatError for what is wrong with a file.
[[nodiscard]] Transformer named_transformer(std::string_view name);
/// One that is_decoder().
[[nodiscard]] Transformer named_decoder(std::string_view name);
/// Whether a network of that name is a file of layers.
[[nodiscard]] bool is_layers_file(std::string_view name);
/// Layers, or a transformer by network_of.
[[nodiscard]] Network named_network(std::string_view name);

}  // namespace weft::models
