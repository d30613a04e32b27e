// SPDX-License-Identifier: Apache-2.0
#include "platforms/import/astra_algorithms.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>

#include "sw/analytical/collectives.h"
#include "sw/collectives/line/group_shape.h"
#include "sw/dimensions/workload.h"
#include "traces/chakra/involved.h"

namespace weft::platforms::astra {
namespace {

using analytical::AnalyticalConfig;
using dimensions::Algorithm;
using dimensions::Operation;

/// Rings and direct exchanges do everything among any number of ranks.
bool always_fits(Algorithm algorithm) {
  const Algorithm alone = in_one_dimension(algorithm);
  return alone == Algorithm::kRing || alone == Algorithm::kDirect;
}

bool is_unordered(const dimensions::CollectiveConfig& collectives) {
  return collectives.inter_dimension == dimensions::InterDimension::kThemis &&
         collectives.optimization == dimensions::Optimization::kBaseline;
}

bool may_not_fit(const AnalyticalConfig& config) {
  if (is_unordered(config.collectives)) return true;
  for (analytical::DimensionConfig dimension : config.dimensions) {
    for (const auto& [name, operation] : enum_names(Operation{})) {
      if (!always_fits(dimension.algorithm(operation))) return true;
    }
  }
  return false;
}

/// What refuses a collective, by the rules of who runs it.
using Check = std::function<void(const UsedCollective&)>;

class NoListener final : public analytical::Listener {
  void collective_done(Time /*now*/, std::uint32_t /*rank*/, std::uint64_t /*token*/) override {}
};

/// ASTRA-sim's arithmetic.
class Arithmetic {
 public:
  explicit Arithmetic(const AnalyticalConfig& config)
      : dispatcher_("import"),
        network_(dispatcher_, config.network(), analytical::Congestion::kUnaware, "analytical", false, config.segment),
        collectives_(network_, config.whole_collectives(), listener_) {}

  void check(const UsedCollective& used) const {
    const analytical::Group group{used.members.empty() ? analytical::Collectives::kEverybody : 1, used.members};
    const std::vector<bool> involved = chakra::involved_in(used.involved, network_.dimensions().size()).dimensions;
    std::uint32_t bits = 0;
    for (std::size_t d = 0; d < involved.size(); ++d) bits |= involved[d] ? 1U << d : 0;
    const bool all = !used.members.empty() || std::find(involved.begin(), involved.end(), false) == involved.end();
    collectives_.expect(group, used.operation, all ? analytical::Collectives::kAllDimensions : bits);
  }

 private:
  Dispatcher dispatcher_;
  NoListener listener_;
  analytical::Network network_;
  analytical::Collectives collectives_;
};

/// Weft's machine.
class Firmware {
 public:
  explicit Firmware(const AnalyticalConfig& config) {
    config_.optimization = config.collectives.optimization;
    config_.inter_dimension = config.collectives.inter_dimension;
    const std::pair<Operation, std::vector<Algorithm>*> lists[] = {{Operation::kAllReduce, &config_.all_reduce},
                                                                   {Operation::kAllgather, &config_.all_gather},
                                                                   {Operation::kReduceScatter, &config_.reduce_scatter},
                                                                   {Operation::kAllToAll, &config_.all_to_all}};
    for (const auto& [operation, list] : lists) list->clear();
    for (analytical::DimensionConfig dimension : config.dimensions) {
      config_.sizes.push_back(dimension.size);
      for (const auto& [operation, list] : lists) list->push_back(dimension.algorithm(operation));
    }
  }

  void check(const UsedCollective& used) const {
    std::vector<int> ranks(used.members.begin(), used.members.end());
    if (ranks.empty()) ranks = across(used);
    if (ranks.size() > 1) collectives::expect_possible(config_, ranks, used.operation);
  }

 private:
  /// Those that differ from rank 0 in involved dimensions alone.
  [[nodiscard]] std::vector<int> across(const UsedCollective& used) const {
    std::vector<bool> involved = chakra::involved_in(used.involved, config_.sizes.size()).dimensions;
    if (joins_dimensions(config_.algorithm(used.operation, 0))) involved.assign(involved.size(), true);
    std::vector<int> ranks = {0};
    int stride = 1;
    for (std::size_t d = 0; d < config_.sizes.size(); stride *= config_.sizes[d++]) {
      if (!involved[d]) continue;
      const std::size_t before = ranks.size();
      for (int at = 1; at < config_.sizes[d]; ++at) {
        for (std::size_t i = 0; i < before; ++i) ranks.push_back(ranks[i] + at * stride);
      }
    }
    return ranks;
  }

  collectives::DimensionsConfig config_;
};

/// The key of system.json that a field comes from.
std::string key_of_field(const std::string& path, Operation operation) {
  if (path.ends_with("inter_dimension")) return "inter-dimension-scheduling";
  for (const auto& [name, each] : enum_names(Operation{})) {
    if (path.ends_with("." + std::string(name))) return key_of(each);
  }
  return key_of(operation);
}

std::string members_text(const UsedCollective& used) {
  if (!used.members.empty()) return "a group of " + std::to_string(used.members.size());
  return "everybody";
}

}  // namespace

void expect_algorithms(const System& system, const std::filesystem::path& file, bool is_machine,
                       const std::function<std::set<UsedCollective>()>& traces) {
  const AnalyticalConfig& config = system.config;
  if (config.end.replay_only || !may_not_fit(config)) return;
  constexpr const char* kOrder =
      "baseline, or collective-optimization localBWAware beside it: themis orders what that splits";
  // A machine joins all ranks by it whatever the traces have.
  if (is_machine && is_unordered(config.collectives)) {
    throw InputError(file.string(), "inter-dimension-scheduling", kOrder, "themis");
  }
  const std::set<UsedCollective> used = traces();
  if (used.empty()) return;
  const std::optional<Arithmetic> arithmetic =
      is_machine ? std::nullopt : std::optional<Arithmetic>(std::in_place, config);
  const Firmware firmware(config);
  for (const UsedCollective& each : used) {
    try {
      if (is_machine) {
        firmware.check(each);
      } else {
        arithmetic->check(each);
      }
    } catch (const ConfigError& error) {
      std::string expected = error.expected();
      constexpr std::string_view kExpected = "expected ";
      if (expected.starts_with(kExpected)) expected.erase(0, kExpected.size());
      if (is_unordered(config.collectives)) expected = kOrder;
      throw InputError(
          file.string(), key_of_field(error.path(), each.operation),
          expected + "; the traces have " + std::string(name_of(each.operation)) + " of " + members_text(each), "");
    }
  }
}

}  // namespace weft::platforms::astra
