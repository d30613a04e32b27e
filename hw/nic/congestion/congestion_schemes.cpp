// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "hw/core/config/provide_beside.h"
#include "hw/nic/congestion/congestion_control.h"
#include "hw/nic/congestion/dcqcn.h"
#include "hw/nic/nic_config.h"

namespace weft::nic {
namespace {

constexpr const char* kCongestionControl = "congestion control";

CongestionScheme no_scheme() {
  CongestionScheme scheme;
  scheme.name = "none";
  scheme.doc = "packets go as fast as the link takes them";
  return scheme;
}

Registry<CongestionScheme>& known_schemes() {
  static Registry<CongestionScheme> all(kCongestionControl, {no_scheme, dcqcn_scheme});
  return all;
}

}  // namespace

void provide(CongestionScheme scheme) {
  provide_beside<NicConfig>(known_schemes(), std::move(scheme), kCongestionControl, "nic");
}

const Registry<CongestionScheme>& congestion_schemes() {
  return known_schemes();
}

const Names& registered(const CongestionScheme* /*kind*/) {
  return known_schemes();
}

}  // namespace weft::nic
