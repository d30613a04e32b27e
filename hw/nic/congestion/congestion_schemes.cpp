// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "hw/core/config/provide_beside.h"
#include "hw/nic/congestion/congestion_control.h"
#include "hw/nic/congestion/dcqcn.h"
#include "hw/nic/congestion/dctcp.h"
#include "hw/nic/congestion/hpcc.h"
#include "hw/nic/congestion/nscc.h"
#include "hw/nic/congestion/swift.h"
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
  static Registry<CongestionScheme> all(kCongestionControl, {no_scheme, dcqcn_scheme, dctcp_scheme, swift_scheme,
                                                             hpcc_scheme, nscc_scheme, rccc_scheme, nscc_rccc_scheme});
  return all;
}

}  // namespace

std::int64_t CongestionSite::carried() const {
  constexpr std::int64_t kBitPicoseconds = 8'000'000'000'000;
  return std::max(packet.count(), scaled(line.count(), round_trip.count(), kBitPicoseconds));
}

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
