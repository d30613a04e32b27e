// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "platforms/config/document.h"
#include "platforms/config/text.h"
#include "traces/csv.h"
#include "traces/json/json_depth.h"
#include "traces/json/json_text.h"
#include "traces/nearest_names.h"

namespace weft::platforms {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

std::optional<std::size_t> index_of(const std::string& key) {
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), index);
  if (error != std::errc() || end != key.data() + key.size()) return std::nullopt;
  return index;
}

bool may_be_list(traces::FileKind kind) {
  return may_be_json(kind) || kind == traces::FileKind::kEdges;
}

/// The member of a table's element that a column is named for. What a column "link" says of it beside one "link.rate"
/// is the name of a part, which the other overrides.
json& member_of(json& element, const std::string& column, const std::string& file, int line) {
  json* at = &element;
  for (std::size_t start = 0, dot = 0; dot != std::string::npos; start = dot + 1) {
    dot = column.find('.', start);
    if (at->is_string()) *at = json{{"part", *at}};
    if (!at->is_object() && !at->is_null()) {
      throw InputError(file + ":" + std::to_string(line), column.substr(0, start - 1),
                       "the name of a part beside column " + in_quotes(column), got_text(*at));
    }
    at = &(*at)[column.substr(start, dot - start)];
  }
  return at->is_object() ? (*at)["part"] : *at;
}

/// Whether its values are texts, some of which read as numbers: names of releases, for one.
bool is_text(const Scalar& scalar) {
  return std::holds_alternative<EnumRef>(scalar) || std::holds_alternative<std::string*>(scalar);
}

/// Of names that users add to: those like the one that was given, as a question. Of a number in place of a name: that
/// it may not be what was written.
std::string remark_on(const Scalar& scalar, const json& given) {
  if (is_text(scalar) && given.is_number_float()) return ", a number, which keeps no last zero: put it in quotes";
  const EnumRef* const names = std::get_if<EnumRef>(&scalar);
  if (names == nullptr || !names->open || !given.is_string()) return "";
  traces::NearestNames near(given.get_ref<const std::string&>());
  for (const std::string_view name : names->names) near.look_at(name);
  return near.question();
}

/// A list of objects from text in CSV, whose columns are named for their fields ("link.rate"); empty cells say nothing.
json load_table(const std::string& content, const std::string& file, std::vector<int>& lines) {
  const traces::CsvTable table = traces::CsvTable::parse(content, file);
  json list = json::array();
  for (const traces::CsvTable::Row row : table) {
    json element = json::object();
    for (const std::string& column : table.columns()) {
      const std::string& text = row.text(column);
      if (text.empty()) continue;
      json& member = member_of(element, column, file, row.line());
      json value = traces::too_deep_at(text) ? json(text) : json::parse(text, nullptr, /*allow_exceptions=*/false);
      member = value.is_number() || value.is_boolean() ? value : json(text);
    }
    list.push_back(std::move(element));
    lines.push_back(row.line());
  }
  return list;
}

}  // namespace

/// Reads the fields of one Config, and of those within it, from a node.
class Node::Reader : public FieldVisitor {
 public:
  explicit Reader(const Node& node) : node_(node) {}

 protected:
  void scalar(std::string_view name, std::string_view, const Scalar& member, Range range) override {
    node_.child(name).read_scalar(member, range);
  }
  void nested(std::string_view name, std::string_view, std::string_view kind, const Fields& fields) override {
    node_.child(name).as_part(kind).read_fields(fields);
  }
  void list(std::string_view name, std::string_view, const ListRef& member) override {
    node_.child(name).read_list(member);
  }

 private:
  const Node& node_;
};

bool Node::is_array() const {
  return exists() && layers_.front().value->is_array();
}
bool Node::is_object() const {
  return exists() && layers_.front().value->is_object();
}
bool Node::is_string() const {
  return exists() && layers_.front().value->is_string();
}

bool Node::has(std::string_view key) const {
  return std::any_of(layers_.begin(), layers_.end(), [key](const Layer& layer) {
    return layer.value->is_object() && layer.value->contains(std::string(key));
  });
}

Node Node::child(std::string_view key) const {
  require_object();
  std::vector<Layer> found;
  for (const Layer& layer : layers_) {
    document_->asked_[layer.value].emplace(key);
    const auto member = layer.value->find(std::string(key));
    if (member != layer.value->end()) found.push_back({&*member, layer.part, join_path(layer.path, key)});
  }
  return {*document_, join_path(path_, key), std::move(found)};
}

std::vector<Node> Node::elements() const {
  std::vector<Node> nodes;
  if (!exists()) return nodes;
  const Layer& top = layers_.front();
  if (!top.value->is_array()) fail(top, "an array");
  for (std::size_t i = 1; i < layers_.size(); ++i) document_->whole_.insert(layers_[i].value);
  for (std::size_t i = 0; i < top.value->size(); ++i) {
    const std::string index = std::to_string(i);
    nodes.push_back(
        Node(*document_, join_path(path_, index), {{&(*top.value)[i], top.part, join_path(top.path, index)}}));
  }
  return nodes;
}

std::vector<std::pair<std::string, Node>> Node::members() const {
  require_object();
  std::set<std::string> keys;
  for (const Layer& layer : layers_) {
    for (const auto& [key, value] : layer.value->items()) keys.insert(key);
  }
  std::vector<std::pair<std::string, Node>> nodes;
  nodes.reserve(keys.size());
  for (const std::string& key : keys) nodes.emplace_back(key, child(key));
  return nodes;
}

void Node::read_fields(const std::function<void(FieldVisitor&)>& fields) const {
  require_object();
  Reader reader(*this);
  fields(reader);
}

void Node::read_scalar(const Scalar& scalar, Range range) const {
  const double usual = std::max(weight_of(scalar), 1.0);
  if (exists()) {
    const Layer& top = layers_.front();
    const std::string* const typed = top.part == nullptr ? document_->typed(top.path) : nullptr;
    if (!(typed != nullptr && is_text(scalar) && assign(scalar, range, *typed)) && !assign(scalar, range, *top.value)) {
      fail(top, expectation(scalar, range, *top.value),
           typed != nullptr ? *typed : got_text(*top.value) + remark_on(scalar, *top.value));
    }
  }
  // What an upper source replaces is still known and no mistake, even if it has another shape.
  for (std::size_t i = 1; i < layers_.size(); ++i) document_->whole_.insert(layers_[i].value);
  document_->record(path_, value_of(scalar), exists() ? &layers_.front() : nullptr, weight_of(scalar) / usual);
}

void Node::read_list(const ListRef& list) const {
  // What stands above the list overrides elements of it.
  std::vector<Layer> above;
  std::optional<Layer> whole;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    if (whole) {
      document_->whole_.insert(layer.value);
      continue;
    }
    if (layer.value->is_array()) {
      whole = layer;
    } else if (layer.value->is_string()) {
      whole = included(layer, *layer.value);
    } else if (layer.value->is_object() && layer.part == nullptr) {
      above.push_back(layer);
      // Document::set put the name of a file aside.
      const auto name = layer.value->find("part");
      if (name != layer.value->end() && name->is_string()) {
        document_->asked_[layer.value].emplace("part");
        whole = included(layer, *name);
      }
    } else {
      fail(layer, "a list, or the name of a JSON or CSV file with one");
    }
  }
  if (!above.empty() && !whole) {
    const Layer& top = above.front();
    if (top.value->empty()) fail(top, "a list, or the name of a JSON or CSV file with one");
    const std::string key = top.value->begin().key();
    fail(Layer{&*top.value->begin(), nullptr, join_path(top.path, key)}, "a list that has it at " + path_,
         in_quotes(key));
  }
  if (!whole && list.fields == nullptr) {
    json values = json::array();
    for (std::size_t i = 0; i < list.size(); ++i) values.push_back(value_of(list.scalar(i)));
    document_->record(path_, values, nullptr);
    return;
  }
  const std::size_t size = whole ? whole->value->size() : list.size();
  if (size == 0) document_->record(path_, json::array(), whole ? &*whole : nullptr);
  if (whole) list.resize(size);
  for (const Layer& layer : above) {
    for (const auto& [key, value] : layer.value->items()) {
      const auto index = index_of(key);
      if (key == "part" || (index && *index < size)) continue;
      fail(Layer{&value, nullptr, join_path(layer.path, key)}, "an index below " + std::to_string(size),
           in_quotes(key));
    }
  }
  for (std::size_t i = 0; i < size; ++i) {
    const std::string index = std::to_string(i);
    std::vector<Layer> layers;
    for (const Layer& layer : above) {
      const auto element = layer.value->find(index);
      if (element == layer.value->end()) continue;
      document_->asked_[layer.value].emplace(index);
      layers.push_back({&*element, nullptr, join_path(layer.path, index)});
    }
    if (whole) layers.push_back({&(*whole->value)[i], whole->part, join_path(whole->path, index)});
    const Node element(*document_, join_path(path_, index), std::move(layers));
    if (list.scalar) {
      element.read_scalar(list.scalar(i), list.range);
      continue;
    }
    if (!list.shorthand.empty()) element.expand(list.shorthand);
    element.read_fields([&list, i](FieldVisitor& visitor) { list.fields(i, visitor); });
  }
}

fs::path Node::locate(const Layer& layer, const json& name, const IsThere& is_there) const {
  const std::string& from = layer.part != nullptr ? layer.part->file : document_->origin_;
  const fs::path here = name.get<std::string>();
  fs::path beside = fs::path(from).parent_path() / here;
  const fs::path whole = fs::absolute(here).lexically_normal();
  if (layer.part != nullptr || fs::absolute(beside).lexically_normal() == whole) return beside;
  const bool is_override = !document_->overrider(layer.path).empty();
  if (!is_there(here) || (!is_override && is_there(beside))) return beside;
  // Every element belongs to its Document, which is ours to write.
  const_cast<json&>(name) = whole.string();
  return here;
}

fs::path Node::file(const IsThere& is_there) const {
  const Layer& top = layers_.front();
  fs::path found = locate(top, *top.value, is_there);
  document_->record(path_, *top.value, &top);
  return found;
}

Node::Layer Node::included(const Layer& layer, const json& name_here) const {
  const std::string name = name_here;
  std::error_code unreadable;
  const std::string file =
      locate(layer, name_here, [&unreadable](const fs::path& at) { return fs::exists(at, unreadable); }).string();
  std::unique_ptr<const Part>& part = document_->lists_[file];
  if (part == nullptr) {
    std::error_code ignored;
    if (!fs::exists(file, ignored)) fail(layer, "a list, or the name of a file with one in JSON or CSV");
    auto loaded = std::make_unique<Part>();
    loaded->name = name;
    loaded->kind = Document::kListFile;
    loaded->file = file;
    const std::string text = load_document(file, "a list in JSON or CSV", may_be_list);
    json value = traces::begins_as_json(text) ? parse_own_json(text, file) : load_table(text, file, loaded->lines);
    if (!value.is_array()) throw InputError(file, "", "a list in JSON", got_text(value));
    loaded->fields = std::make_unique<json>(std::move(value));
    part = std::move(loaded);
  }
  document_->list_places_[path_] = part.get();
  return {part->fields.get(), part.get(), ""};
}

void Node::expand(std::string_view key) const {
  for (const Layer& layer : layers_) {
    // Every element belongs to its Document, which is ours to write. It keeps its place, which is how it is known.
    auto& value = const_cast<json&>(*layer.value);
    const std::string name(key);
    if (value.is_string()) {
      value = json{{name, value}};
    } else if (value.is_object() && value.contains("part") && !value.contains(name)) {
      // Document::set put the string aside.
      value[name] = value["part"];
      value.erase("part");
    } else if (!value.is_object()) {
      fail(layer, "an object, or a string for its " + name);
    }
  }
}

Node Node::as_part(std::string_view kind) const {
  std::vector<Layer> resolved;
  std::vector<const Part*> lineage;
  std::size_t next = 0;
  const auto replaced_from = [&](std::size_t first) {
    for (std::size_t i = first; i < layers_.size(); ++i) document_->whole_.insert(layers_[i].value);
    next = layers_.size();
  };
  // Layers are taken from the top. One that names a part is followed by that part alone.
  while (next < layers_.size()) {
    Layer layer = layers_[next++];
    for (bool first = true;; first = false) {
      const json* name = nullptr;
      std::string name_path = layer.path;
      if (layer.value->is_string()) {
        name = layer.value;
      } else if (layer.value->is_object()) {
        resolved.push_back(layer);
        document_->asked_[layer.value].emplace("part");
        if (const auto member = layer.value->find("part"); member != layer.value->end()) name = &*member;
        name_path = join_path(layer.path, "part");
      } else {
        fail(layer, document_->catalogue_.names(kind).empty()
                        ? "an object"
                        : "an object or the name of a part of kind " + std::string(kind));
      }
      if (name == nullptr) break;
      if (first) replaced_from(next);
      const Layer name_layer{name, layer.part, name_path};
      if (!name->is_string()) fail(name_layer, "the name of a part of kind " + std::string(kind));
      const Part& part = find_part(name_layer, name->get<std::string>(), kind);
      if (lineage.empty()) document_->record(join_path(path_, "part"), *name, &name_layer);
      if (std::find(lineage.begin(), lineage.end(), &part) != lineage.end()) {
        fail(name_layer, "a part that is not derived from itself");
      }
      lineage.push_back(&part);
      document_->parts_used_.insert(&part);
      layer = {part.fields.get(), &part, "fields"};
    }
  }
  return {*document_, path_, std::move(resolved)};
}

const Part& Node::find_part(const Layer& layer, const std::string& name, std::string_view kind) const {
  Catalogue& catalogue = document_->catalogue_;
  const Part* part = catalogue.find(name);
  if (part != nullptr && part->kind == kind) return *part;
  if (const Part* before = part == nullptr ? document_->part_before(path_, name, kind) : nullptr) return *before;
  const std::vector<std::string> known = catalogue.names(kind);
  if (known.empty()) {
    fail(layer, "an object (the catalogue has no part of kind " + std::string(kind) + ")", in_quotes(name));
  }
  std::string got = in_quotes(name);
  if (part != nullptr) {
    got += ", which is of kind " + part->kind;
    if (!part->hidden.empty()) got += " in " + part->file + ", which hides the catalogue's of that name";
  } else if (const std::string why = catalogue.why_not(name); !why.empty()) {
    got += ": " + why;
  } else if (constexpr std::string_view kEnding = ".json"; name.ends_with(kEnding)) {
    got += ": a part is named without " + std::string(kEnding);
  } else if (const std::string near = nearest(name, known); !near.empty()) {
    got += ". Did you mean " + in_quotes(near) + "?";
  }
  fail(layer, "a part of kind " + std::string(kind) + ", one of " + join(known, ", "), got);
}

const json& Node::raw() const {
  static const json null;
  for (const Layer& layer : layers_) document_->whole_.insert(layer.value);
  if (!exists()) return null;
  document_->record(path_, *layers_.front().value, &layers_.front());
  return *layers_.front().value;
}

void Node::require_object() const {
  for (const Layer& layer : layers_) {
    if (!layer.value->is_object()) fail(layer, "an object");
  }
}

void Node::fail(const std::string& expected) const {
  if (exists()) fail(layers_.front(), expected);
  throw InputError(document_->file_, path_, expected, "nothing");
}

void Node::fail(const std::string& expected, const std::string& got) const {
  if (exists()) fail(layers_.front(), expected, got);
  throw InputError(document_->file_, path_, expected, got);
}

void Node::fail(const Layer& layer, const std::string& expected) const {
  fail(layer, expected, got_text(*layer.value));
}

void Node::fail(const Layer& layer, const std::string& expected, const std::string& got) const {
  throw InputError(layer.part != nullptr ? layer.part->place(layer.path) : document_->file_of(layer.path), layer.path,
                   expected, got);
}

}  // namespace weft::platforms
