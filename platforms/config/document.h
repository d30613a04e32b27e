// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hw/core/fields.h"
#include "platforms/config/catalogue.h"
#include "platforms/config/field_visitor.h"
#include "platforms/config/input_error.h"

/// Reading a platform. A value comes, in falling order of precedence, from `--set` on the command line, from a patch,
/// from the file, from a part of the catalogue, or it is the Config's default; which of them is recorded for each.
///
///     Document document("platform.json", overrides);
///     AcceleratorConfig accelerator;
///     document.root().read_part("accelerator", accelerator);
///     document.check_unused();
///     write(out / "config.json", document.configuration());
///
/// What a run wrote, configuration(), is read as the platform that it ran.
///
/// A platform, a patch and a part are JSON in which comments, `//` and `/* */`, may stand, and at the top `$schema`.
/// All that is wrong with the input is thrown as InputError. Paths are dotted, an array's elements are numbers:
/// "ports.0.rate".
namespace weft::platforms {

class Document;
class EarlierRun;

/// A place in a platform. It may be absent, and then reads as nothing but defaults. It must not outlive its Document.
class Node {
 public:
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] bool exists() const { return !layers_.empty(); }
  [[nodiscard]] bool is_array() const;
  [[nodiscard]] bool is_object() const;
  [[nodiscard]] bool is_string() const;

  /// Whether the object has the key. Unlike `child`, asking does not count as using it.
  [[nodiscard]] bool has(std::string_view key) const;
  [[nodiscard]] Node child(std::string_view key) const;
  /// The elements of an array; none if absent. Throws if it is no array.
  [[nodiscard]] std::vector<Node> elements() const;
  /// The keys of an object whose names are the user's, and what stands at each; counts as using them.
  [[nodiscard]] std::vector<std::pair<std::string, Node>> members() const;

  /// Fills the members of a Config, or of one field, that are given here; the others keep their values as defaults. A
  /// nested Config can be given as an object or as the name of a part of its kind.
  template <ConfigStruct C>
  void read(C& config) const {
    read_fields([&config](FieldVisitor& visitor) { config.fields(visitor); });
  }
  template <ConfigStruct C>
  void read(std::string_view key, C& config) const {
    read_part(key, config);
  }
  template <typename T>
  requires(!ConfigStruct<T>) void read(std::string_view key, T& value, Range range = {}) const {
    child(key).read_scalar(make_scalar(value), range);
  }
  /// The value at the key, or the fallback, recorded as default.
  template <typename T>
  [[nodiscard]] T get(std::string_view key, T fallback, Range range = {}) const {
    read(key, fallback, range);
    return fallback;
  }
  /// The value at the key, which must be given.
  template <typename T>
  [[nodiscard]] T require(std::string_view key, Range range = {}) const {
    T value{};
    const Node node = child(key);
    if (!node.exists()) node.fail(expectation(make_scalar(value), range));
    node.read_scalar(make_scalar(value), range);
    return value;
  }

  /// Reads "PART", {"part": "PART", overriding fields} or {fields}. The kind is by default the Config's `kPartKind`, or
  /// else the key.
  template <ConfigStruct C>
  void read_part(std::string_view key, C& config, std::string_view kind = {}) const {
    child(key).as_part(kind.empty() ? part_kind<C>(key) : kind).read(config);
  }
  /// This place with the part that it names, and the part that this is derived from, put beneath.
  [[nodiscard]] Node as_part(std::string_view kind) const;

  using IsThere = std::function<bool(const std::filesystem::path&)>;
  /// The file, or files of a prefix, that the string here names: beside the document, or the part, that it stands in.
  /// On the command line a name counts from where the command runs, if `is_there` finds it so; elsewhere it may, if
  /// nothing is beside the document. configuration() then has the whole path, so that a run of it finds the same.
  [[nodiscard]] std::filesystem::path file(const IsThere& is_there) const;

  /// The JSON here as the uppermost source gives it, all of it counted as used; null if absent.
  [[nodiscard]] const nlohmann::json& raw() const;

  /// Throws InputError for this place; `got` is what is wrong within it.
  [[noreturn]] void fail(const std::string& expected) const;
  [[noreturn]] void fail(const std::string& expected, const std::string& got) const;

 private:
  friend class Document;
  /// What one source says about this place. A part has its own file, and its own path within it.
  struct Layer {
    const nlohmann::json* value;
    const Part* part;  ///< Null: the document with the command line.
    std::string path;
  };
  class Reader;

  Node(Document& document, std::string path, std::vector<Layer> layers)
      : document_(&document), path_(std::move(path)), layers_(std::move(layers)) {}

  void read_fields(const std::function<void(FieldVisitor&)>& fields) const;
  void read_scalar(const Scalar& scalar, Range range) const;
  /// A list comes whole from the uppermost source that has one, or the name of a JSON file with it; what stands above
  /// as an object of numbers ("--set list.0.rate=...") overrides elements.
  void read_list(const ListRef& list) const;
  [[nodiscard]] Layer included(const Layer& layer, const nlohmann::json& name) const;
  /// See file(); `name` is the string, at the layer or in it.
  [[nodiscard]] std::filesystem::path locate(const Layer& layer, const nlohmann::json& name,
                                             const IsThere& is_there) const;
  /// With what a string stands for: an object that has it at `key`.
  void expand(std::string_view key) const;
  [[noreturn]] void fail(const Layer& layer, const std::string& expected, const std::string& got) const;
  [[noreturn]] void fail(const Layer& layer, const std::string& expected) const;
  void require_object() const;
  [[nodiscard]] const Part& find_part(const Layer& layer, const std::string& name, std::string_view kind) const;

  Document* document_;
  std::string path_;
  std::vector<Layer> layers_;  // The first has precedence.
};

/// A value that an option of a command stands for.
struct OptionValue {
  std::string path;
  std::string text;    ///< as an override has it
  std::string option;  ///< for messages: "--seed"
};

class Document {
 public:
  /// Loads the file and applies "path=value" overrides in order. A value that parses as JSON is taken so, else as a
  /// string. Before them come `patches`, files that hold a part of a platform each: every value in them that is no
  /// object is such an override. `by_option` comes last.
  explicit Document(const std::string& file, std::span<const std::string> overrides = {},
                    Catalogue catalogue = Catalogue(), std::span<const std::string> patches = {},
                    std::span<const OptionValue> by_option = {});
  /// The same from text that is not in a file; `name` stands for the file in messages.
  static Document from_text(const std::string& text, const std::string& name,
                            std::span<const std::string> overrides = {}, Catalogue catalogue = Catalogue(),
                            std::span<const std::string> patches = {});
  ~Document();
  // Nodes point here.
  Document(const Document&) = delete;
  Document& operator=(const Document&) = delete;

  [[nodiscard]] const std::string& file() const { return file_; }
  /// The file beside which the names of other files in it are looked for: where what a run wrote came from, else
  /// file().
  [[nodiscard]] const std::string& origin() const { return origin_; }
  [[nodiscard]] Catalogue& catalogue() { return catalogue_; }
  [[nodiscard]] Node root();

  /// Throws InputError for a key, of the document or of a part it names, that nobody has asked for. Call it after all
  /// reading.
  void check_unused() const;

  /// Every value read so far: {PATH: {"value": ..., "source": "default", "part NAME", "file", "patch FILE" or "command
  /// line"}}. What a run wrote keeps the last two of that run.
  [[nodiscard]] nlohmann::json effective() const;

  /// {"file": the origin, "platform": the file with all that came before it in precedence, "values": effective()}.
  /// Parts and lists of other files are in it by their names.
  [[nodiscard]] nlohmann::json configuration() const;
  /// A line each: parts of the user's own that bear a name of the catalogue; of what a run wrote, parts that have
  /// changed since, and those that are no longer there and for which the values stand in that they had.
  [[nodiscard]] std::vector<std::string> remarks() const;

  /// Paths that patches and the command line have put a value at.
  [[nodiscard]] std::vector<std::string> overridden() const;
  /// Whether patches and the command line have put several values at the path, of which the last one counts.
  [[nodiscard]] bool is_set_again(const std::string& path) const { return set_again_.contains(path); }
  /// Whether some source gives a value that was read at the path.
  [[nodiscard]] bool gives(const std::string& path) const;

  /// The values by which times and sizes may have become too large, "PATH=VALUE": times, sizes and counts of more than
  /// a thousand times their defaults, rates, clocks and shares of less than a thousandth. The farthest first, three at
  /// the most.
  [[nodiscard]] std::vector<std::string> farthest() const;

  /// Puts the file, and the value if there was one, to an error that hw/ or sw/ found in its configuration.
  [[nodiscard]] InputError explain(const ConfigError& error) const;

 private:
  friend class Node;
  static constexpr std::string_view kListFile = "file";
  struct Record {
    std::unique_ptr<nlohmann::json> value;
    std::string source;
    double times = 1;  ///< its weight_of() to that of the default
  };

  Document(std::unique_ptr<nlohmann::json> tree, std::string file, std::span<const std::string> overrides,
           Catalogue catalogue, std::span<const std::string> patches, std::span<const OptionValue> by_option);

  void set(const std::string& assignment);
  void patch(const nlohmann::json& value, const std::string& path, const std::string& file);
  /// Puts the value of an override.
  void put_text(const std::string& path, const std::string& text);
  /// What was typed at a path, where it reads as a number, true, false or null: "2.30" is 2.3 as a number. Else null.
  [[nodiscard]] const std::string* typed(std::string_view path) const;
  /// Puts a value at a path; `source` is a patch, or kCommandLine.
  void put(const std::string& path, nlohmann::json value, const std::string& source);
  /// What the value at the path of the document was overridden by; empty if it was not.
  [[nodiscard]] std::string overrider(std::string_view path) const;
  [[nodiscard]] std::string file_of(std::string_view path) const;
  /// Of a file that a run wrote: the part that the place had in that run. Null if there was none of that name.
  const Part* part_before(const std::string& path, const std::string& name, std::string_view kind);
  void record(const std::string& path, const nlohmann::json& value, const Node::Layer* layer, double times = 1);
  void check_unused(const nlohmann::json& value, const std::string& path, const Part* part) const;

  std::string file_;
  std::string origin_;
  std::unique_ptr<nlohmann::json> tree_;
  Catalogue catalogue_;
  std::map<std::string, std::string, std::less<>> overridden_;  ///< by which source
  std::set<std::string, std::less<>> set_again_;
  std::map<std::string, std::string, std::less<>> typed_;    ///< by path
  std::map<std::string, std::string, std::less<>> options_;  ///< of those from the command line, other than --set
  /// Of a file that a run wrote: sources of what patches and the command line had set in that run, by path.
  std::map<std::string, std::string, std::less<>> before_;
  std::unique_ptr<const EarlierRun> earlier_;                                     ///< of the same
  std::map<std::string, std::unique_ptr<const Part>, std::less<>> parts_before_;  ///< by place and name
  /// Strings that an override went below ("h100-sxm" became {"part": "h100-sxm"}).
  std::map<std::string, std::string, std::less<>> opened_;
  /// Keys that an override made, and objects around its value.
  std::map<std::string, std::string, std::less<>> made_;
  /// Keys asked of each object, present or not, and values that count as used whatever is in them.
  std::map<const nlohmann::json*, std::set<std::string, std::less<>>> asked_;
  std::set<const nlohmann::json*> whole_;
  std::set<const Part*> parts_used_;
  /// Lists in files of their own, by file. `kind` is kListFile.
  std::map<std::string, std::unique_ptr<const Part>> lists_;
  std::map<std::string, const Part*, std::less<>> list_places_;  ///< by path of the list
  std::map<std::string, Record> records_;
};

}  // namespace weft::platforms
