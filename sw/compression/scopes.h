// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "sw/compression/config.h"

namespace weft::compression {

/// What a message is for, as far as compression tells it apart. The names are those of scopes, and of the attribute
/// `traffic` of nodes of execution graphs.
enum class Traffic : std::uint8_t { kTensor, kContext, kExpert, kPipeline, kGradients, kParameters, kOther };
inline EnumNames<Traffic> enum_names(Traffic /*tag*/) {
  return {{"tensor", Traffic::kTensor},     {"context", Traffic::kContext},     {"expert", Traffic::kExpert},
          {"pipeline", Traffic::kPipeline}, {"gradients", Traffic::kGradients}, {"parameters", Traffic::kParameters},
          {"other", Traffic::kOther}};
}
inline constexpr std::size_t kScopes = 6;  ///< all but `other`
inline constexpr std::size_t kTraffics = kScopes + 1;

/// A compressor, or that of all traffic.
class ScopedCompressor : public NameOf<Compressor> {
 public:
  ScopedCompressor() : NameOf(kSame) {}
  using NameOf::NameOf;

  [[nodiscard]] bool is_same() const { return text() == kSame; }

  static constexpr std::string_view kSame = "same";
};
inline EnumNames<ScopedCompressor> enum_names(const ScopedCompressor& /*tag*/) {
  EnumNames<ScopedCompressor> names = {{ScopedCompressor::kSame, {}}};
  for (const auto& [name, value] : enum_names(CompressorName())) names.emplace_back(name, name);
  return names;
}

/// How messages of one traffic are compressed.
struct ScopeConfig {
  ScopedCompressor method;
  CompressionConfig how;  ///< its method aside

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("method", method,
          "same: as all traffic, with its fields; none: all; or a compressor as for all traffic, with the fields here");
    how.fields_but_method(visit);
    how.method = method.is_same() ? CompressorName() : CompressorName(method.text());
  }
};

/// How messages of a run are compressed: of all traffic, and of some of it in another way.
struct MessageCompression : CompressionConfig {
  template <typename Visitor>
  void fields(Visitor&& visit) {
    CompressionConfig::fields(visit);
    // Communicators have a copy each of what most leave as it is.
    if (scopes_.use_count() != 1) scopes_ = std::make_shared<Scopes>(*scopes_);
    constexpr std::array<const char*, kScopes> kDocs = {
        "Messages between ranks that share a layer's tensors (tp)",
        "Messages between ranks that share a sequence (cp)",
        "Messages between ranks that share experts (ep)",
        "Messages between stages of a pipeline (pp)",
        "Gradients that are summed over ranks with the same parameters: AllReduces and ReduceScatters",
        "Parameters that are gathered from their shards"};
    for (std::size_t i = 0; i < kScopes; ++i) {
      const std::string key(name_of(static_cast<Traffic>(i)));
      visit(key.c_str(), (*scopes_)[i], kDocs[i]);
    }
  }

  [[nodiscard]] const ScopeConfig* scope(Traffic traffic) const {
    return traffic == Traffic::kOther ? nullptr : &(*scopes_)[static_cast<std::size_t>(traffic)];
  }
  /// Whether traffic has a method of its own.
  [[nodiscard]] bool has_own(Traffic traffic) const {
    return traffic != Traffic::kOther && !scope(traffic)->method.is_same();
  }
  [[nodiscard]] const CompressionConfig& of(Traffic traffic) const {
    return has_own(traffic) ? scope(traffic)->how : *this;
  }
  /// Where the fields of it stand.
  [[nodiscard]] std::string path(Traffic traffic, const std::string& all = "collectives.compression") const {
    return has_own(traffic) ? all + "." + std::string(name_of(traffic)) : all;
  }
  /// Whether any traffic is compressed.
  [[nodiscard]] bool is_used() const {
    for (std::size_t i = 0; i < kTraffics; ++i) {
      if (of(static_cast<Traffic>(i)).on()) return true;
    }
    return false;
  }

 private:
  using Scopes = std::array<ScopeConfig, kScopes>;
  std::shared_ptr<Scopes> scopes_ = std::make_shared<Scopes>();
};

}  // namespace weft::compression
