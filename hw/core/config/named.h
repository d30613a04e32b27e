// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <concepts>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hw/core/config/any_config.h"
#include "hw/core/config/field_visitor.h"

/// How a configuration names an entry of a Registry (hw/core/config/registry.h): a field of type NameOf<Entry> says
/// which, and Sections hold the fields that each entry has for itself. Both know entries by `registered`, which a
/// header of the kind declares beside the incomplete type:
///
///     struct Algorithm;
///     const Names& registered(const Algorithm*);
namespace weft {

/// The fields of one entry, at KEY beside the field that names it.
struct Section {
  std::string name;  ///< the entry's
  std::string key;   ///< its name with _ for -
  std::string doc;
  AnyConfig config;
};

/// What a configuration needs of a Registry, whatever its entries are.
class Names {
 public:
  virtual ~Names() = default;

  [[nodiscard]] virtual std::size_t size() const = 0;
  /// In the order in which they were provided, Weft's own first. They stay where they are.
  [[nodiscard]] virtual const std::string& name(std::size_t index) const = 0;
  /// "ring: one ring through all; tree: ...", for the reference of the field.
  [[nodiscard]] virtual std::string doc() const = 0;
  /// Of all entries that have fields, with their defaults.
  [[nodiscard]] virtual std::vector<Section> sections() const = 0;

 protected:
  Names() = default;
  Names(const Names&) = default;
  Names(Names&&) = default;
  Names& operator=(const Names&) = default;
  Names& operator=(Names&&) = default;
};

/// The registry of this kind of entry.
template <typename Entry>
[[nodiscard]] const Names& names_for() {
  return registered(static_cast<const Entry*>(nullptr));
}

/// An entry by its name: as a field it is read, checked and documented like an enum.
template <typename Entry>
class NameOf {
 public:
  /// The first one.
  NameOf() : name_(names_for<Entry>().name(0)) {}
  template <std::convertible_to<std::string_view> Text>
  NameOf(const Text& name) : name_(std::string_view(name)) {}

  [[nodiscard]] const std::string& text() const { return name_; }
  bool operator==(const NameOf&) const = default;

 private:
  std::string name_;
};

/// In the order in which they were provided, Weft's own first.
template <typename Entry>
EnumNames<NameOf<Entry>> enum_names(const NameOf<Entry>& /*tag*/) {
  EnumNames<NameOf<Entry>> names;
  const Names& all = names_for<Entry>();
  for (std::size_t i = 0; i < all.size(); ++i) names.emplace_back(all.name(i), all.name(i));
  return names;
}

/// The fields that entries of a registry have for themselves, all of them, whichever is named.
class Sections {
 public:
  /// With the defaults.
  explicit Sections(const Names& names) : names_(&names), entries_(names.size()), all_(names.sections()) {}

  /// The fields of this type.
  template <typename C>
  [[nodiscard]] const C& of() const {
    for (const Section& section : all_) {
      if (section.config.is<C>()) return section.config.as<C>();
    }
    throw std::logic_error("nothing that is registered has fields of this type");
  }
  template <typename C>
  [[nodiscard]] C& of() {
    return const_cast<C&>(std::as_const(*this).of<C>());
  }

  /// Those of the entry of this name, which may have none.
  [[nodiscard]] const AnyConfig& of(std::string_view name) const {
    static const AnyConfig kNone;
    const auto found =
        std::find_if(all_.begin(), all_.end(), [name](const Section& each) { return each.name == name; });
    return found == all_.end() ? kNone : found->config;
  }

  template <typename Visitor>
  void fields(Visitor&& visit) {
    add_new();
    for (Section& section : all_) visit(section.key, section.config, section.doc);
  }
  [[nodiscard]] auto begin() { return all_.begin(); }
  [[nodiscard]] auto end() { return all_.end(); }
  [[nodiscard]] auto begin() const { return all_.begin(); }
  [[nodiscard]] auto end() const { return all_.end(); }

 private:
  /// A configuration that a registry keeps, such as that of a kind of workload, may be older than some entries.
  void add_new() {
    if (entries_ == names_->size()) return;
    entries_ = names_->size();
    for (Section& section : names_->sections()) {
      const auto known = [&section](const Section& each) { return each.key == section.key; };
      if (std::none_of(all_.begin(), all_.end(), known)) all_.push_back(std::move(section));
    }
  }

  const Names* names_;
  std::size_t entries_;  ///< that it knows
  std::vector<Section> all_;
};

}  // namespace weft
