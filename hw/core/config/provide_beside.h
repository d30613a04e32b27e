// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "hw/core/config/any_config.h"
#include "hw/core/config/field_visitor.h"
#include "hw/core/config/own_fields.h"
#include "hw/core/config/registry.h"

namespace weft {

/// Provides a user's entry, whose fields stand among those of Place, under a key of their own. `what` it is and the
/// `path` of Place are for messages. Throws std::invalid_argument if a field there has the key already, if the entry
/// has no `make`, and as check_own_fields() and Registry::provide() do.
template <ConfigStruct Place, typename Entry>
void provide_beside(Registry<Entry>& registry, Entry entry, const std::string& what, const std::string& path) {
  class Finder final : public FieldVisitor {
   public:
    explicit Finder(std::string key) : key_(std::move(key)) {}
    bool found = false;

   protected:
    void scalar(std::string_view name, std::string_view, const Scalar&, Range) override { look_at(name); }
    void nested(std::string_view name, std::string_view, std::string_view, const Fields&) override { look_at(name); }
    void list(std::string_view name, std::string_view, const ListRef&) override { look_at(name); }

   private:
    void look_at(std::string_view name) { found = found || name == key_; }

    std::string key_;
  };
  const std::string key = detail::section_key(entry.name);
  // A second entry of one name has its own key beside it, which is not what is wrong with it.
  if (entry.config.exists() && registry.find(entry.name) == nullptr) {
    Finder finder(key);
    FieldVisitor& visitor = finder;
    Place place;
    place.fields(visitor);
    if (finder.found) {
      throw std::invalid_argument(what + ": expected a name that no field of " + path + " has, got \"" + entry.name +
                                  "\"");
    }
  }
  if (!entry.make) throw std::invalid_argument(what + " \"" + entry.name + "\": expected a make, got none");
  check_own_fields(path + "." + key, entry.config);
  registry.provide(std::move(entry));
}

}  // namespace weft
