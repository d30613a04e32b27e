// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "platforms/config/catalogue.h"
#include "platforms/config/field_visitor.h"

/// What Node reads as JSON Schema (draft 2020-12), from the same lists of fields: for editors, and for whoever writes
/// platforms by a program.
///
///     Catalogue catalogue;
///     SchemaBuilder builder(catalogue);
///     print(builder.finish(builder.object("", [](FieldVisitor& visitor) { MachineConfig().fields(visitor); }), ...));
///
/// What no schema can say is left to the reader: limits of quantities, which stand in the description, what a number of
/// fields have to be together, and whether there is a part or a file of a name.
namespace weft::platforms {

class SchemaBuilder {
 public:
  using Json = nlohmann::ordered_json;
  using Fields = std::function<void(FieldVisitor&)>;

  explicit SchemaBuilder(Catalogue& catalogue) : catalogue_(&catalogue) {}

  /// An object that has these fields and no others. `path` is where it stands in a platform.
  [[nodiscard]] Json object(const std::string& path, const Fields& fields);
  /// A place that takes a part of the kind by name, or an object that may name one: a reference to a definition, which
  /// places share that are equal, with their defaults.
  [[nodiscard]] Json part(const std::string& path, const std::string& kind, const Fields& fields);
  /// A list of what `item` describes, as JSON or in a file, or in a patch an object of its elements by their numbers.
  [[nodiscard]] Json list(const Json& item);
  [[nodiscard]] Json scalar(const Scalar& member, Range range);

  /// Puts a definition of that name, or of one like it where another has it, and gives a reference to it.
  Json define(std::string name, Json schema);
  /// What parts of each kind that was described so far can have: several forms where places of one kind have different
  /// fields.
  [[nodiscard]] std::map<std::string, Json> kinds() const;

  /// A whole schema: `root` with the definitions that it refers to.
  [[nodiscard]] Json finish(const std::string& title, const std::string& description, const Json& root) const;

 private:
  class Visitor;
  struct Form {
    Json reference;
    std::vector<std::string> keys;
  };

  void add_kind(const std::string& kind, const Json& reference, std::vector<std::string> keys);

  Catalogue* catalogue_;
  Json definitions_ = Json::object();
  std::map<std::string, std::vector<Form>> kinds_;
};

/// With what the value means, ahead of all else.
nlohmann::ordered_json with_description(std::string_view text, const nlohmann::ordered_json& schema);

}  // namespace weft::platforms
