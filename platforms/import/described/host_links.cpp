// SPDX-License-Identifier: Apache-2.0
#include "platforms/import/described/host_links.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "platforms/import/described/parts.h"

namespace weft::platforms::described {
namespace {

constexpr double kGigabytes = 1e3;  // of the file's MB

class Matrix {
 public:
  Matrix(const Host& host, const std::vector<const PciDevice*>& accelerators)
      : host_(host), accelerators_(accelerators), values_(accelerators.size()) {
    for (std::size_t i = 0; i < size(); ++i) {
      for (const PciDevice* to : accelerators_) values_[i].push_back(to == accelerators_[i] ? 0 : rate(i, to->ids));
    }
  }

  HostLinks read() {
    std::vector<double> sums;
    std::vector<double> pairs;
    for (std::size_t i = 0; i < size(); ++i) {
      const double to_switches = rate(i, switches());
      made_.by_switches = made_.by_switches || to_switches > 0;
      double to_others = 0;
      for (const double value : values_[i]) to_others += value;
      sums.push_back(to_switches > 0 ? to_switches : to_others);
      pairs.insert(pairs.end(), values_[i].begin(), values_[i].end());
    }
    const double pair = most_frequent(pairs);
    made_.pair = pair / kGigabytes;
    find_missing();
    const bool is_full = made_.missing.empty() && !made_.by_switches;
    const double sum = is_full ? pair * static_cast<double>(size() - 1) : most_frequent(sums);
    made_.rate = sum / kGigabytes;
    if (!is_full) compare_sums(sums, sum);
    if (!made_.by_switches) compare_pairs(is_full ? pair : 0);
    return std::move(made_);
  }

 private:
  [[nodiscard]] std::size_t size() const { return accelerators_.size(); }
  [[nodiscard]] const std::string& bus(std::size_t i) const { return accelerators_[i]->bus; }

  [[nodiscard]] double rate(std::size_t from, const std::vector<std::uint64_t>& to) const {
    double sum = 0;
    for (const std::uint64_t a : accelerators_[from]->ids) {
      for (const std::uint64_t b : to) {
        const auto found = host_.links.find({a, b});
        if (found != host_.links.end()) sum += found->second;
      }
    }
    return sum;
  }

  [[nodiscard]] std::vector<std::uint64_t> switches() const {
    std::vector<std::uint64_t> ids;
    for (const PciDevice& device : host_.devices) {
      if (device.subtype == "NVSwitch") ids.insert(ids.end(), device.ids.begin(), device.ids.end());
    }
    return ids;
  }

  void find_missing() {
    for (std::size_t i = 0; i < size(); ++i) {
      for (std::size_t j = i + 1; j < size(); ++j) {
        if (values_[i][j] > 0 || values_[j][i] > 0) continue;
        made_.missing = bus(i) + " and " + bus(j);
        return;
      }
    }
  }

  void compare_sums(const std::vector<double>& sums, double most) {
    for (std::size_t i = 0; i < size() && most > 0; ++i) {
      if (sums[i] == most) continue;
      made_.uneven.push_back(
          fmt::format("{} has {:.0f} MB/s in all, where most accelerators have {:.0f} MB/s", bus(i), sums[i], most));
    }
  }

  /// `most`: what the pairs have; 0 where they need not be alike.
  void compare_pairs(double most) {
    for (std::size_t i = 0; i < size(); ++i) {
      for (std::size_t j = i + 1; j < size(); ++j) {
        const double there = values_[i][j];
        const double back = values_[j][i];
        if (there == back && (most == 0 || there == most)) continue;
        const std::string rates = there == back ? fmt::format("{:.0f} MB/s", there)
                                                : fmt::format("{:.0f} MB/s there and {:.0f} MB/s back", there, back);
        made_.uneven.push_back(fmt::format("{} and {} have {} between them{}", bus(i), bus(j), rates,
                                           most == 0 ? "" : fmt::format(", where most pairs have {:.0f} MB/s", most)));
      }
    }
  }

  const Host& host_;
  const std::vector<const PciDevice*>& accelerators_;
  std::vector<std::vector<double>> values_;  ///< from one to another, MB/s
  HostLinks made_;
};

}  // namespace

HostLinks links_of(const Host& host, const std::vector<const PciDevice*>& accelerators) {
  return Matrix(host, accelerators).read();
}

}  // namespace weft::platforms::described
