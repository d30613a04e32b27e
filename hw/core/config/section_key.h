// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "hw/core/config/any_config.h"
#include "hw/core/config/field_visitor.h"

namespace weft {

/// The fields of a new entry called `name` stand among those of `place`, under a key of their own: throws
/// std::invalid_argument if a field there has it already.
template <ConfigStruct C>
void check_new_key(const std::string& name, const AnyConfig& own, C place) {
  if (!own.exists()) return;
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
  std::string key = name;
  std::replace(key.begin(), key.end(), '-', '_');
  Finder finder(key);
  FieldVisitor& visitor = finder;
  place.fields(visitor);
  if (!finder.found) return;
  throw std::invalid_argument("expected a name that no field beside its own has, got \"" + name + "\"");
}

}  // namespace weft
