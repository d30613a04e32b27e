// SPDX-License-Identifier: Apache-2.0
#include "platforms/results/why/check_why.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <exception>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "hw/core/quantity.h"
#include "platforms/config/input_error.h"
#include "platforms/results/why/resources.h"

namespace weft::platforms {
namespace {

using nlohmann::ordered_json;

/// A value of a file, with where it stands there.
class Checked {
 public:
  Checked(const ordered_json& value, const std::string& file, std::string path)
      : value_(&value), file_(&file), path_(std::move(path)) {}

  /// A member that has to be there.
  [[nodiscard]] Checked operator[](const std::string& key) const {
    const auto found = value_->find(key);
    const std::string path = below(key);
    if (found == value_->end()) throw InputError(*file_, path, "a value", "none");
    return {*found, *file_, path};
  }
  /// Calls `check` with a member that may be missing.
  template <typename Check>
  void may_have(const std::string& key, const Check& check) const {
    if (value_->contains(key)) check((*this)[key]);
  }

  const Checked& text() const { return is(value_->is_string(), "a string"); }
  const Checked& flag() const { return is(value_->is_boolean(), "true or false"); }
  const Checked& object() const { return is(value_->is_object(), "an object"); }
  const Checked& number() const {
    return is(value_->is_number() && std::isfinite(value_->get<double>()) && value_->get<double>() >= 0,
              "a number that is not negative");
  }
  /// Not negative: a time in picoseconds, or a count.
  [[nodiscard]] std::int64_t count() const {
    const bool is_large = value_->is_number_unsigned() &&
                          value_->get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()};
    is(value_->is_number_integer() && !is_large && value_->get<std::int64_t>() >= 0, "an integer that is not negative");
    return value_->get<std::int64_t>();
  }
  void positive() const { is(count() > 0, "a positive integer"); }
  template <typename Check>
  void each_of_list(const Check& check) const {
    is(value_->is_array(), "a list");
    for (std::size_t i = 0; i < value_->size(); ++i) check(Checked((*value_)[i], *file_, below(std::to_string(i))));
  }
  /// With its key.
  template <typename Check>
  void each_of_object(const Check& check) const {
    object();
    for (const auto& [key, value] : value_->items()) check(key, Checked(value, *file_, below(key)));
  }
  [[nodiscard]] double value() const { return value_->get<double>(); }
  [[nodiscard]] const std::string& words() const { return value_->get_ref<const std::string&>(); }
  [[nodiscard]] bool is_empty() const { return value_->empty(); }
  const Checked& is(bool right, const char* expected) const {
    if (!right) fail(expected, value_->dump(-1, ' ', true, ordered_json::error_handler_t::replace));
    return *this;
  }
  [[noreturn]] void fail(const std::string& expected, std::string got) const {
    constexpr std::size_t kShown = 40;
    if (got.size() > kShown) got = got.substr(0, kShown) + "...";
    throw InputError(*file_, path_, expected, got);
  }

 private:
  [[nodiscard]] std::string below(const std::string& key) const { return path_.empty() ? key : path_ + "." + key; }

  const ordered_json* value_;
  const std::string* file_;
  std::string path_;
};

void check_text(const Checked& value) {
  value.text();
}
void check_number(const Checked& value) {
  value.number();
}
void check_count(const Checked& value) {
  static_cast<void>(value.count());
}
void check_texts(const Checked& list) {
  list.each_of_list(check_text);
}

/// Their times add up to less than 2^64 for so many as a file has: each is below 2^63 and the sum is checked.
std::int64_t checked_sum(const Checked& pieces) {
  std::int64_t sum = 0;
  pieces.each_of_list([&sum](const Checked& piece) {
    piece.object();
    for (const char* key : {"of", "about", "kind", "place"}) piece[key].text();
    piece.may_have("network", check_text);
    piece["on_link"].flag();
    piece.may_have("memory_share", check_number);
    for (const char* key : {"times", "step"}) piece.may_have(key, check_count);
    const std::int64_t ps = piece["ps"].count();
    piece["ps"].is(ps <= std::numeric_limits<std::int64_t>::max() - sum, "a time that the sum of all can hold");
    sum += ps;
  });
  return sum;
}
void check_pieces(const Checked& pieces) {
  static_cast<void>(checked_sum(pieces));
}

void check_rate(const Checked& rate) {
  const auto is_rate = [](const std::string& text) {
    try {
      static_cast<void>(parse_rate(text));
      return true;
    } catch (const std::exception&) {
      return false;
    }
  };
  rate.is(is_rate(rate.text().words()), "a rate");
}

void check_share(const Checked& of, const char* name) {
  of.object()[name].text();
  of["share"].number();
}

void check_carried(const Checked& carried) {
  carried.object().may_have(
      "jobs", [](const Checked& jobs) { jobs.each_of_list([](const Checked& job) { check_share(job, "job"); }); });
  carried.may_have("flows", [&carried](const Checked& flows) {
    check_count(carried["flow_count"]);
    flows.each_of_list([](const Checked& flow) {
      check_share(flow, "from");
      flow["to"].text();
    });
  });
}

void check_link(const Checked& link) {
  link.object();
  link["joins"].text();
  check_rate(link["rate"]);
  link["utilisation"].number();
  for (const char* key : {"network", "path"}) link.may_have(key, check_text);
  for (const char* key : {"had", "fills", "payload"}) link.may_have(key, check_number);
  link.may_have("fills", [&link](const Checked& /*fills*/) {
    for (const char* key : {"propagation", "buffer"}) link[key].text();
  });
  link.may_have("faults", check_texts);
  const Checked alike = link["alike"];
  alike.object()["links"].positive();
  alike["median"].number();
  for (const char* key : {"least", "most"}) alike.may_have(key, check_number);
  alike.may_have("as_busy", check_texts);
  alike.may_have("busy", check_count);
  alike.may_have("rate", check_rate);
  link.may_have("carried", check_carried);
}

/// How long places on the path have done something, beside the median of all and of each job's.
void check_beside_median(const Checked& times) {
  if (times.object().is_empty()) return;
  check_count(times["median_ps"]);
  times.may_have("of", check_count);
  times["on_path"].each_of_object([](const std::string& /*place*/, const Checked& ps) { check_count(ps); });
  times.may_have("jobs", [](const Checked& jobs) {
    jobs.each_of_object([](const std::string& /*job*/, const Checked& job) {
      check_count(job.object()["median_ps"]);
      job.may_have("of", check_count);
    });
  });
  times.may_have("job_of", [&times](const Checked& jobs) {
    jobs.each_of_object([&times](const std::string& /*place*/, const Checked& job) {
      if (!job.text().words().empty()) static_cast<void>(times["jobs"][job.words()]);
    });
  });
}

void check_collective(const Checked& collective) {
  collective.object();
  for (const char* key : {"group", "operation"}) collective[key].text();
  for (const char* key : {"members", "calls"}) collective[key].positive();
  for (const char* key : {"bytes", "ps", "late_ps"}) check_count(collective[key]);
  check_pieces(collective["transfer"]);
  collective.may_have("lateness", check_pieces);
  collective["last"].each_of_list([](const Checked& last) {
    for (const char* key : {"rank", "times", "ps"}) check_count(last.object()[key]);
  });
}

void check_resource(const std::string& name, const Checked& value) {
  for (const Resource& resource : resources()) {
    if (resource.name == name) return;
  }
  value.fail("the name of a resource", name);
}

void check_used(const Checked& used) {
  used.each_of_object([](const std::string& name, const Checked& ps) {
    check_resource(name, ps);
    check_count(ps);
  });
}

void check_part(const Checked& part) {
  const Checked memory = part.object()["memory"];
  const auto check_above_0 = [](const Checked& value) { value.number().is(value.value() > 0, "a number above 0"); };
  check_above_0(memory.object()["rate"]);
  for (const char* key : {"interconnect_rate", "core_rate"}) memory.may_have(key, check_above_0);
  part.may_have("clock_cap", check_above_0);
  part["power_cap"].flag();
  for (const char* key : {"first", "count"}) part.may_have(key, check_count);
  part.may_have("used_ps", check_used);
}

}  // namespace

void check_why(const ordered_json& object, const std::string& file) {
  const Checked why(object, file, "");
  const std::int64_t from = why["from_ps"].count();
  const std::int64_t until = why["until_ps"].count();
  why["until_ps"].is(until >= from, "a time that is not before from_ps");
  const std::int64_t sum = checked_sum(why["pieces"]);
  if (sum != until - from) {
    why["pieces"].fail("pieces that add up to until_ps less from_ps, " + std::to_string(until - from) + " ps",
                       std::to_string(sum) + " ps");
  }
  for (const char* key : {"command", "kernels_ignore"}) why.may_have(key, check_texts);
  why.may_have("left_out_us", check_number);
  why.may_have("steps", check_count);
  why.may_have("training_steps_ps", [](const Checked& ends) { ends.each_of_list(check_count); });
  why.may_have("lowest_voltage", check_number);
  why.may_have("idle_share", [](const Checked& share) { share.number().is(share.value() < 1, "a share below 1"); });
  why.may_have("power_cap", [](const Checked& cap) { cap.flag(); });
  why.may_have("copy_engines", [](const Checked& engines) {
    for (const char* key : {"of", "used"}) check_count(engines.object()[key]);
  });
  why.may_have("parts", [](const Checked& parts) { parts.each_of_list(check_part); });
  why.may_have("links", [](const Checked& links) {
    links.each_of_object([](const std::string& /*name*/, const Checked& link) { check_link(link); });
  });
  why.may_have("lossy", [](const Checked& lossy) {
    lossy.each_of_list([](const Checked& link) {
      link.object()["link"].text();
      link.may_have("network", check_text);
      link["packets"].positive();
      check_count(link["lost"]);
    });
  });
  why.may_have("computed", check_beside_median);
  why.may_have("hosts", [](const Checked& hosts) {
    hosts.each_of_object([](const std::string& /*kind*/, const Checked& times) { check_beside_median(times); });
  });
  why.may_have("jobs", [](const Checked& jobs) {
    jobs.object()["ends_with"].text();
    jobs["shares"].each_of_list([](const Checked& share) {
      share.object()["job"].text();
      check_count(share["ps"]);
    });
  });
  why.may_have("stages", [](const Checked& networks) {
    networks.each_of_object([](const std::string& /*name*/, const Checked& stages) {
      stages.each_of_object([](const std::string& name, const Checked& rate) {
        check_resource(name, rate);
        rate.number();
      });
    });
  });
  why.may_have("used_ps", check_used);
  why.may_have("waits", [](const Checked& waits) {
    waits.each_of_list([](const Checked& wait) {
      wait.object()["place"].text();
      check_count(wait["ps"]);
      check_pieces(wait["for"]);
    });
  });
  for (const char* key : {"collectives", "overlapping"}) {
    why.may_have(key, [](const Checked& all) { all.each_of_list(check_collective); });
  }
}

void check_config(const ordered_json& object, const std::string& file) {
  const Checked config(object, file, "");
  config.may_have("values", [](const Checked& values) {
    values.each_of_object([](const std::string& /*field*/, const Checked& field) {
      static_cast<void>(field.object()["value"]);
      field.may_have("source", check_text);
    });
  });
}

std::vector<std::string> missing_in_why(const ordered_json& why) {
  std::vector<std::string> missing;
  for (const char* const key : {"left_out_us", "links", "computed", "hosts", "used_ps", "copy_engines", "stages",
                                "parts", "waits", "collectives", "overlapping", "kernels_ignore"}) {
    if (!why.contains(key)) missing.emplace_back(key);
  }
  const auto lacks = [](const ordered_json& list, const char* key, const auto& is_its) {
    return std::any_of(list.begin(), list.end(),
                       [&](const ordered_json& each) { return is_its(each) && !each.contains(key); });
  };
  const auto any = [](const ordered_json&) { return true; };
  for (const char* const key : {"path", "fills", "payload"}) {
    if (lacks(member_of(why, "links"), key, any)) missing.push_back("links' " + std::string(key));
  }
  if (lacks(why["pieces"], "network", any)) missing.emplace_back("pieces' network");
  if (lacks(why["pieces"], "memory_share", [](const ordered_json& piece) { return piece["of"] == "kernel"; }))
    missing.emplace_back("pieces' memory_share");
  return missing;
}

}  // namespace weft::platforms
