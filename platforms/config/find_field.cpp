// SPDX-License-Identifier: Apache-2.0
#include "platforms/config/find_field.h"

namespace weft::platforms {
namespace {

/// Finds one field by its path.
class FieldFinder : public FieldVisitor {
 public:
  explicit FieldFinder(std::string_view path) : path_(path) {}

  std::optional<FoundField> found;

 protected:
  void scalar(std::string_view name, std::string_view, const Scalar& member, Range range) override {
    if (name != path_) return;
    found = FoundField{member, range};
  }
  void nested(std::string_view name, std::string_view, std::string_view, const Fields& fields) override {
    if (!path_.starts_with(name) || path_.size() <= name.size() || path_[name.size()] != '.') return;
    const std::string_view outer = path_;
    path_.remove_prefix(name.size() + 1);
    fields(*this);
    path_ = outer;
  }
  void list(std::string_view, std::string_view, const ListRef&) override {}

 private:
  std::string_view path_;
};

}  // namespace

std::optional<FoundField> find_field(const std::function<void(FieldVisitor&)>& fields, std::string_view path) {
  FieldFinder finder(path);
  fields(finder);
  return finder.found;
}

}  // namespace weft::platforms
