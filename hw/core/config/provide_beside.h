// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "hw/core/config/any_config.h"
#include "hw/core/config/field_visitor.h"
#include "hw/core/config/registry.h"

namespace weft {

/// Provides an entry whose fields stand among those of Place, under a key of their own: throws std::invalid_argument if
/// a field there has it already, or as Registry::provide() does.
template <ConfigStruct Place, typename Entry>
void provide_beside(Registry<Entry>& registry, Entry entry) {
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
  // A second entry of one name has its own key beside it, which is not what is wrong with it.
  if (entry.config.exists() && registry.find(entry.name) == nullptr) {
    Finder finder(detail::section_key(entry.name));
    FieldVisitor& visitor = finder;
    Place place;
    place.fields(visitor);
    if (finder.found) {
      throw std::invalid_argument("expected a name that no field beside its own has, got \"" + entry.name + "\"");
    }
  }
  registry.provide(std::move(entry));
}

}  // namespace weft
