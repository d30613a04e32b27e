// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hw/fabric/topology/plan.h"
#include "hw/nic/any_nic.h"
#include "hw/nic/nic_config.h"

/// How long packets and their answers take through a network in which nothing else is under way.
namespace weft::platforms {

/// From one end to another, as the first of the ways that routes allow leads.
struct Way {
  Time time;                    ///< of a first byte: links and switches
  Rate rate = Rate(INT64_MAX);  ///< of the slowest link
  Time full;                    ///< what the input buffers on the way hold, each at the rate of its link

  Way(const fabric::Plan& plan, std::uint32_t from, std::uint32_t to);
};

/// Until the answer to a segment is back, between an end that is farthest from the first one and the one that is
/// farthest from it.
struct RoundTrip {
  Time idle;  ///< without the interfaces' own time: a bound from below
  Time full;  ///< behind full buffers, there and back

  explicit RoundTrip(const fabric::Plan& plan);
};

/// Makes what congestion control needs of a network fit it, if the interface controls congestion: the round trip that
/// the interface counts on, with `memory` as the time of a read, and switches that measure load where its scheme
/// follows that. Before the network is built.
void fit_congestion(nic::NicConfig& config, fabric::Plan& plan, Time memory);

/// Throws ConfigError for an `ack_timeout` whose repeats are all over before any answer of the farthest end can be
/// back.
void check_ack_timeout(const nic::NicConfig& config, const fabric::Plan& plan, const std::string& interface);

/// An `ack_timeout` below the round trip, which sends again what is still on its way: one line for people, or nothing.
[[nodiscard]] std::vector<std::string> describe_hasty_repeats(const nic::NicConfig& config, const fabric::Plan& plan,
                                                              const std::string& interface);

/// Whether a link of some switch is lossy.
[[nodiscard]] bool has_lossy_links(const fabric::Plan& plan);

/// A `reorder` with which a queue pair holds what comes until a gap is filled: a gap waits up to two
/// `reorder_wait` until it is asked for, since the next one begins with the end of the one before, and one more if what
/// is sent again is lost; each time a round trip. Whole units of 64KiB.
[[nodiscard]] Bytes fitting_reorder(const nic::NicConfig& config, const fabric::Plan& plan);

/// A `reorder` that had no place for `dropped` packets which came ahead of their turn: one line for people, or nothing.
[[nodiscard]] std::vector<std::string> describe_short_reorder(const nic::NicConfig& config, const fabric::Plan& plan,
                                                              std::int64_t dropped, const std::string& interface);

/// Makes ports of networks of that plan, one behind the other, carry what has no payload with what has
/// (Nic::post_stores). Not where links have faults, which would have to tell when it comes.
void post_stores(const std::vector<std::unique_ptr<nic::AnyNic>>& ports, const fabric::Plan& plan);

/// What helps where answers came too late although no packet was lost: "expected ...".
[[nodiscard]] std::string longer_ack_timeout(const nic::NicConfig& config, const fabric::Plan& plan);

}  // namespace weft::platforms
