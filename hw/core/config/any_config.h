// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <any>
#include <concepts>
#include <utility>

#include "hw/core/config/field_visitor.h"

namespace weft {

/// A Config of any type, or none: what is registered under a name brings its own (hw/core/config/registry.h). It is
/// read, printed and documented like any other, and whoever registered it knows its type.
class AnyConfig {
 public:
  AnyConfig() = default;
  template <ConfigStruct C>
  requires(!std::same_as<C, AnyConfig>) AnyConfig(C config)
      : value_(std::move(config)),
        fields_([](std::any& value, FieldVisitor& visitor) { std::any_cast<C&>(value).fields(visitor); }) {}

  [[nodiscard]] bool exists() const { return fields_ != nullptr; }
  template <typename C>
  [[nodiscard]] bool is() const {
    return value_.type() == typeid(C);
  }
  /// Throws std::bad_any_cast if it is of another type.
  template <typename C>
  C& as() {
    return std::any_cast<C&>(value_);
  }
  template <typename C>
  [[nodiscard]] const C& as() const {
    return std::any_cast<const C&>(value_);
  }

  void fields(FieldVisitor& visitor) {
    if (exists()) fields_(value_, visitor);
  }

 private:
  std::any value_;
  void (*fields_)(std::any&, FieldVisitor&) = nullptr;
};

}  // namespace weft
