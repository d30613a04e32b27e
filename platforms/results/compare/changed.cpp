// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/compare/changed.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "platforms/config/text.h"
#include "platforms/results/format.h"

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;

/// Values by path as the tree that they are of.
struct Place {
  const ordered_json* value = nullptr;
  std::string source;
  std::map<std::string, Place> parts;

  [[nodiscard]] bool exists() const { return value != nullptr || !parts.empty(); }
};

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

/// Objects, and lists of them, become parts.
void put(Place& place, const ordered_json& value, const std::string& source) {
  const bool has_objects = value.is_array() && std::any_of(value.begin(), value.end(),
                                                           [](const ordered_json& each) { return each.is_object(); });
  if (!value.is_object() && !has_objects) {
    place.value = &value;
    place.source = source;
    return;
  }
  for (const auto& [key, part] : value.items()) put(place.parts[key], part, source);
}

Place tree_of(const ordered_json& values) {
  Place root;
  for (const auto& [path, each] : values.items()) {
    if (!each.is_object() || !each.contains("value")) continue;
    Place* place = &root;
    for (std::size_t from = 0; from <= path.size();) {
      const std::size_t to = std::min(path.find('.', from), path.size());
      place = &place->parts[path.substr(from, to - from)];
      from = to + 1;
    }
    const auto source = each.find("source");
    put(*place, each["value"], source != each.end() && source->is_string() ? source->get<std::string>() : "");
  }
  return root;
}

/// The farther down, the less it is what somebody asked for.
int rank_of(const std::string& source) {
  if (source == "default") return 3;
  if (source.starts_with("part ")) return 2;
  return source == "file" ? 1 : 0;
}

bool is_list(const Place& place) {
  if (place.parts.empty()) return place.value != nullptr && place.value->is_array();
  return std::all_of(place.parts.begin(), place.parts.end(), [](const auto& each) { return is_number(each.first); });
}

/// In their order, each with its number.
std::vector<std::pair<std::string, const Place*>> elements_of(const Place& list) {
  std::vector<std::pair<std::string, const Place*>> all;
  for (const auto& [number, element] : list.parts) all.emplace_back(number, &element);
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return std::pair(a.first.size(), a.first) < std::pair(b.first.size(), b.first);
  });
  return all;
}

/// Values below a place, by their path from there.
void collect(const Place& place, const std::string& path, std::vector<std::pair<std::string, const Place*>>& leaves) {
  if (place.value != nullptr) leaves.emplace_back(path, &place);
  for (const auto& [key, part] : place.parts) collect(part, join_path(path, key), leaves);
}
std::vector<std::pair<std::string, const Place*>> leaves_of(const Place& place) {
  std::vector<std::pair<std::string, const Place*>> leaves;
  collect(place, "", leaves);
  return leaves;
}

std::string digest_of(const Place& element) {
  std::string text;
  for (const auto& [path, leaf] : leaves_of(element)) text += path + "=" + leaf->value->dump() + "\n";
  return text;
}

/// Fields that people know an element by, the first of them that somebody gave it.
constexpr const char* kNames[] = {"name", "between", "link", "switch", "first"};

/// Null if it has none of them.
ordered_json identity_of(const Place& element) {
  for (const char* key : kNames) {
    const auto found = element.parts.find(key);
    if (found != element.parts.end() && found->second.value != nullptr && found->second.source != "default")
      return {{key, *found->second.value}};
  }
  return nullptr;
}

/// What somebody gave an element, what it is known by first; of one that is a value, that.
ordered_json given(const Place& element) {
  if (element.parts.empty() && element.value != nullptr) return *element.value;
  ordered_json values = identity_of(element);
  if (values.is_null()) values = ordered_json::object();
  for (const auto& [path, leaf] : leaves_of(element)) {
    if (rank_of(leaf->source) < 2) values[path] = *leaf->value;
  }
  return values;
}

class Changes {
 public:
  void compare(const std::string& path, const Place& one, const Place& other) {
    if ((is_list(one) && (is_list(other) || !other.exists())) || (is_list(other) && !one.exists())) {
      compare_lists(path, one, other);
      return;
    }
    if (one.value != nullptr || other.value != nullptr) compare_values(path, one, other);
    std::set<std::string> keys;
    for (const Place* place : {&one, &other}) {
      for (const auto& [key, part] : place->parts) keys.insert(key);
    }
    for (const std::string& key : keys) compare(join_path(path, key), part_of(one, key), part_of(other, key));
  }
  [[nodiscard]] ChangedFields fields() && {
    std::stable_sort(rows_.begin(), rows_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    ChangedFields changed{ordered_json::array(), defaults_of_one_};
    for (auto& [rank, row] : rows_) changed.rows.push_back(std::move(row));
    return changed;
  }

 private:
  static const Place& part_of(const Place& place, const std::string& key) {
    static const Place kNone;
    const auto found = place.parts.find(key);
    return found == place.parts.end() ? kNone : found->second;
  }
  static ordered_json value_of(const Place& place) { return place.value == nullptr ? ordered_json() : *place.value; }
  /// Of what two places have, the rank of what comes first.
  static int rank_in(const Place& one, const Place& other) {
    int rank = 3;
    for (const Place* place : {&one, &other}) {
      for (const auto& [path, leaf] : leaves_of(*place)) rank = std::min(rank, rank_of(leaf->source));
    }
    return rank;
  }

  void compare_values(const std::string& path, const Place& one, const Place& other) {
    const ordered_json before = value_of(one);
    const ordered_json after = value_of(other);
    if (before == after) return;
    if (path == "name" || path == "description") return;
    if (one.value == nullptr || other.value == nullptr) {
      if ((one.value == nullptr ? other : one).source == "default") {
        ++defaults_of_one_;
        return;
      }
    }
    rows_.emplace_back(rank_in(one, other), ordered_json{{"field", path}, {"before", before}, {"after", after}});
  }

  void add_element(const std::string& path, const char* what, const Place& element) {
    const bool is_new = std::string_view(what) == "added";
    rows_.emplace_back(rank_in(element, element), ordered_json{{"field", path},
                                                               {"element", what},
                                                               {"before", is_new ? ordered_json() : given(element)},
                                                               {"after", is_new ? given(element) : ordered_json()}});
  }

  /// Those that are left, a row each; of a whole list that is long, one of all.
  void add_elements(const std::string& path, const char* what,
                    const std::vector<std::pair<std::string, const Place*>>& elements) {
    constexpr std::size_t kMany = 4;
    const bool is_new = std::string_view(what) == "added";
    if (elements.size() > kMany && std::all_of(elements.begin(), elements.end(), is_left)) {
      const ordered_json all = counted(elements.size(), "element");
      rows_.emplace_back(rank_in(*elements.front().second, *elements.back().second),
                         ordered_json{{"field", path},
                                      {"element", what},
                                      {"before", is_new ? ordered_json() : all},
                                      {"after", is_new ? all : ordered_json()}});
      return;
    }
    for (const auto& [number, element] : elements) {
      if (element != nullptr) add_element(join_path(path, number), what, *element);
    }
  }
  static bool is_left(const std::pair<std::string, const Place*>& element) { return element.second != nullptr; }

  /// One row: a value, or what differs in several.
  void compare_elements(const std::string& path, const Place& one, const Place& other) {
    Changes within;
    within.compare("", one, other);
    defaults_of_one_ += within.defaults_of_one_;
    if (within.rows_.empty()) return;
    std::stable_sort(within.rows_.begin(), within.rows_.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    const int rank = within.rows_.front().first;
    if (within.rows_.size() == 1) {
      ordered_json row = within.rows_.front().second;
      row["field"] = join_path(path, row["field"].get<std::string>());
      rows_.emplace_back(rank, std::move(row));
      return;
    }
    ordered_json before = ordered_json::object();
    ordered_json after = ordered_json::object();
    for (const auto& [its_rank, row] : within.rows_) {
      before[row["field"].get<std::string>()] = row["before"];
      after[row["field"].get<std::string>()] = row["after"];
    }
    rows_.emplace_back(rank,
                       ordered_json{{"field", path}, {"element", "changed"}, {"before", before}, {"after", after}});
  }

  void compare_lists(const std::string& path, const Place& one, const Place& other) {
    auto before = elements_of(one);
    auto after = elements_of(other);
    const auto are_values = [](const auto& elements) {
      return std::all_of(elements.begin(), elements.end(), [](const auto& each) { return each.second->parts.empty(); });
    };
    if (are_values(before) && are_values(after)) {
      compare_plain_lists(path, one, other);
      return;
    }
    const bool are_as_many = before.size() == after.size();
    bool is_in_order = true;
    // Those that are the same, wherever they stand.
    std::multimap<std::string, std::size_t> by_digest;
    for (std::size_t i = 0; i < after.size(); ++i) by_digest.emplace(digest_of(*after[i].second), i);
    for (std::size_t i = 0; i < before.size(); ++i) {
      const auto found = by_digest.find(digest_of(*before[i].second));
      if (found == by_digest.end()) continue;
      is_in_order = is_in_order && found->second == i;
      after[found->second].second = nullptr;
      before[i].second = nullptr;
      by_digest.erase(found);
    }
    if (are_as_many && !is_in_order && std::none_of(before.begin(), before.end(), is_left)) {
      rows_.emplace_back(rank_in(one, other), ordered_json{{"field", path},
                                                           {"element", "order"},
                                                           {"before", "its elements"},
                                                           {"after", "the same in another order"}});
      return;
    }
    // Those that bear one name, and of lists as long, those at one place.
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (before[i].second == nullptr) continue;
      const ordered_json name = identity_of(*before[i].second);
      auto found = std::find_if(after.begin(), after.end(), [&](const auto& each) {
        return each.second != nullptr && !name.is_null() && identity_of(*each.second) == name;
      });
      if (found == after.end() && are_as_many && after[i].second != nullptr)
        found = after.begin() + static_cast<std::ptrdiff_t>(i);
      if (found == after.end()) continue;
      compare_elements(join_path(path, found->first), *before[i].second, *found->second);
      before[i].second = nullptr;
      found->second = nullptr;
    }
    add_elements(path, "removed", before);
    add_elements(path, "added", after);
  }

  /// Of values, or with none at all.
  void compare_plain_lists(const std::string& path, const Place& one, const Place& other) {
    const auto whole = [](const Place& place) {
      if (place.value != nullptr) return *place.value;
      ordered_json list = place.parts.empty() ? ordered_json() : ordered_json::array();
      for (const auto& [number, element] : elements_of(place)) list.push_back(value_of(*element));
      return list;
    };
    const ordered_json before = whole(one);
    const ordered_json after = whole(other);
    if (before == after) return;
    const int rank = rank_in(one, other);
    if ((before.is_null() || after.is_null()) && rank == 3) {
      ++defaults_of_one_;
      return;
    }
    rows_.emplace_back(rank, ordered_json{{"field", path}, {"before", before}, {"after", after}});
  }

  std::vector<std::pair<int, ordered_json>> rows_;
  std::size_t defaults_of_one_ = 0;
};

const ordered_json& member(const ordered_json& object, const char* key) {
  static const ordered_json kNone;
  const auto found = object.is_object() ? object.find(key) : object.end();
  return object.is_object() && found != object.end() ? *found : kNone;
}

std::string text_in(const ordered_json& object, const char* key) {
  const ordered_json& value = member(object, key);
  return value.is_string() ? value.get<std::string>() : "";
}

bool is_collective(const RunResults& run) {
  return text_in(member(run.summary, "workload"), "kind") == "collective";
}

/// "1.0 MiB, 64.0 MiB"
ordered_json sizes_of(const ordered_json& summary) {
  ordered_json sizes = ordered_json::array();
  for (const ordered_json& row : member(summary, "rows")) {
    const ordered_json& bytes = member(row, "bytes");
    if (bytes.is_number()) sizes.push_back(short_bytes(bytes.get<double>()));
  }
  return sizes.empty() ? ordered_json() : sizes;
}

/// Whether a collective ran once before; null where results are too old to say.
ordered_json warms_up(const RunResults& run) {
  if (const ordered_json& told = member(run.summary, "warm_up"); told.is_boolean()) return told;
  const ordered_json& command = member(run.why, "command");
  if (!command.is_array()) return nullptr;
  return std::find(command.begin(), command.end(), ordered_json("--no-warmup")) == command.end();
}

}  // namespace

std::string kind_of_run(const RunResults& run) {
  if (is_collective(run)) return "weft collective";
  const std::string kind = text_in(member(run.summary, "workload"), "kind");
  const bool is_analytical = !run.summary.contains("simulated_us") && run.summary.contains("last_finish_ns");
  return "weft run" + (kind.empty() ? "" : fmt::format(" (workload {})", kind)) +
         (is_analytical ? " on an analytical network" : "");
}

ordered_json changed_work(const RunResults& base, const RunResults& other) {
  ordered_json rows = ordered_json::array();
  const auto add = [&rows](const std::string& what, const ordered_json& before, const ordered_json& after) {
    if (before != after) rows.push_back({{"what", what}, {"before", before}, {"after", after}});
  };
  const auto weft = [](const RunResults& run) {
    const ordered_json& its = member(run.summary, "weft");
    const std::string text = text_in(its, "version") + " " + text_in(its, "commit");
    return text == " " ? ordered_json() : ordered_json(text);
  };
  const auto command = [](const RunResults& run) { return is_collective(run) ? "weft collective" : "weft run"; };
  add("command", command(base), command(other));
  if (is_collective(base) && is_collective(other)) {
    add("operation", member(base.summary, "op"), member(other.summary, "op"));
    add("element type", member(base.summary, "type"), member(other.summary, "type"));
    add("sizes", sizes_of(base.summary), sizes_of(other.summary));
    const ordered_json before = warms_up(base);
    const ordered_json after = warms_up(other);
    if (!before.is_null() && !after.is_null()) add("warm-up", before, after);
    if (base.values().empty() || other.values().empty())
      add("algorithm", member(base.summary, "algorithm"), member(other.summary, "algorithm"));
  } else if (!is_collective(base) && !is_collective(other)) {
    const ordered_json one = base.summary.value("workload", ordered_json::object());
    const ordered_json its = other.summary.value("workload", ordered_json::object());
    std::set<std::string> keys;
    for (const ordered_json* each : {&one, &its}) {
      if (!each->is_object()) continue;
      for (const auto& [key, value] : each->items()) keys.insert(key);
    }
    // What config.json has of the workload is among the fields.
    const auto is_field = [](const RunResults& run, const std::string& key) {
      const std::string path = "workload." + key;
      const ordered_json& values = run.values();
      const ordered_json& raw = member(member(values, "workload"), "value");
      return (raw.is_object() && raw.contains(key)) ||
             std::any_of(values.items().begin(), values.items().end(), [&path](const auto& each) {
               return each.key() == path || each.key().starts_with(path + ".");
             });
    };
    for (const std::string& key : keys) {
      if (is_field(base, key) || is_field(other, key)) continue;
      add("workload." + key, member(one, key.c_str()), member(its, key.c_str()));
    }
  }
  add("Weft", weft(base), weft(other));
  return rows;
}

ChangedFields changed_fields(const RunResults& base, const RunResults& other) {
  Place places[2] = {tree_of(base.values()), tree_of(other.values())};
  // Nothing of it runs.
  if (is_collective(base)) places[0].parts.erase("workload");
  if (is_collective(other)) places[1].parts.erase("workload");
  Changes changes;
  changes.compare("", places[0], places[1]);
  return std::move(changes).fields();
}

std::string changed_text(const ordered_json& value) {
  constexpr std::size_t kMostValues = 4;
  constexpr std::size_t kMostLetters = 60;
  if (value.is_null()) return "(none)";
  if (value.is_string()) return value.get<std::string>();
  std::vector<std::string> words;
  if (value.is_object()) {
    for (const auto& [key, each] : value.items()) words.push_back(key + " " + changed_text(each));
    if (words.empty()) return "defaults";
  } else if (value.is_array() && !value.empty() && value.front().is_string()) {
    for (const ordered_json& each : value) words.push_back(each.get<std::string>());
  } else {
    const std::string text = value.dump();
    return text.size() <= kMostLetters ? text : text.substr(0, kMostLetters - 2) + "..";
  }
  if (words.size() > kMostValues + 1) {
    words[kMostValues] = fmt::format("{} others", words.size() - kMostValues);
    words.resize(kMostValues + 1);
  }
  return join(words, ", ");
}

std::vector<std::vector<std::string>> changed_lines(const ordered_json& work, const ordered_json& fields,
                                                    std::size_t most) {
  std::vector<std::vector<std::string>> lines;
  for (const ordered_json& row : work) {
    lines.push_back({"  " + row["what"].get<std::string>(), changed_text(row["before"]), changed_text(row["after"])});
  }
  for (std::size_t i = 0; i < std::min(fields.size(), most); ++i) {
    const ordered_json& row = fields[i];
    const std::string field = "  " + row["field"].get<std::string>();
    const std::string element = row.value("element", std::string());
    if (element == "added") {
      lines.push_back({field + ": " + changed_text(row["after"]), "", "added"});
    } else if (element == "removed") {
      lines.push_back({field + ": " + changed_text(row["before"]), "", "removed"});
    } else {
      lines.push_back({field, changed_text(row["before"]), changed_text(row["after"])});
    }
  }
  if (fields.size() > most) lines.push_back({fmt::format("  {} others", fields.size() - most)});
  return lines;
}

}  // namespace weft::platforms
