// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "platforms/results/why/field_values.h"
#include "platforms/results/why/parts.h"
#include "platforms/results/why/resources.h"

/// What sets the time of a critical path, by the fields of the configuration that it has.
namespace weft::platforms {

/// A field that sets pieces of a resource.
struct SetBy {
  std::string field;    ///< of the place: "fabric.edges.2.link.rate"
  std::string usually;  ///< of the places that have none of their own: "fabric.link.rate"
  bool is_rate = true;
  std::int64_t ps = 0;  ///< of pieces
};

/// What sets why.json's pieces, by its links and by config.json's `values`. A path has thousands of pieces, and few
/// that are not alike: those of one kind at one place are looked up once. Both have to live as long.
class Settings {
 public:
  Settings(const nlohmann::ordered_json& why, const FieldValues& values);

  /// Pieces of one resource and kind at one place.
  struct Alike {
    const Resource* resource = nullptr;
    std::string_view kind;
    std::string_view place;
    std::int64_t ps = 0;
  };
  /// Of the whole path, in the order of why.json.
  [[nodiscard]] const std::vector<Alike>& pieces() const { return pieces_; }
  /// Those fields of a resource that come first for a piece, those that set most of it first.
  [[nodiscard]] std::vector<SetBy> of(const Resource& resource) const;
  /// What sets a piece first; an empty field: nothing.
  [[nodiscard]] SetBy first_of(const Alike& pieces) const;
  /// Fields of a resource for people: "nic.dma_rate 388Gbps, nic.pcie.lanes 16".
  [[nodiscard]] std::string text(const Resource& resource) const;

 private:
  /// An entry of `others`: accelerators that have fields of their own.
  struct Others {
    std::string path;  ///< "others.0."
    int first = 0;
    int count = 0;
  };
  /// Calls `take` with the first fields of pieces, as many as the resource shows.
  template <typename Take>
  void each_of(const Alike& pieces, const Take& take) const;
  /// The field in place of which the place has one of its own, or the field itself.
  [[nodiscard]] std::string own_field(const std::string& field, std::string_view place) const;
  [[nodiscard]] std::string own_of_accelerator(const std::string& field, std::string_view place) const;
  [[nodiscard]] std::string own_of_link(const std::string& field, std::string_view network,
                                        std::string_view place) const;
  /// Of several rates of a memory, one behind the other, whether it is the one that the pieces wait for.
  [[nodiscard]] bool binds(const Resource::Setting& setting, const Alike& pieces) const;
  /// ", copy_engines 1", where copies may have waited for one.
  [[nodiscard]] std::string engines_text() const;
  /// Where interfaces wait for memory's rate.
  [[nodiscard]] std::vector<SetBy> of_rate(const Resource& latency) const;
  /// Whether interfaces wait for memory far longer than the busiest was in use: for its latency.
  [[nodiscard]] bool waits_for_latency() const;

  const nlohmann::ordered_json& why_;
  const FieldValues& values_;
  Parts parts_;
  std::vector<Others> others_;
  std::vector<Alike> pieces_;
};

/// The same of one resource alone.
[[nodiscard]] std::string settings_text(const nlohmann::ordered_json& why, const FieldValues& values,
                                        const Resource& resource);

}  // namespace weft::platforms
