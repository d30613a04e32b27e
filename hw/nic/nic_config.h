// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "hw/core/fields.h"
#include "hw/core/power.h"
#include "hw/nic/congestion/congestion_control.h"
#include "hw/nic/host_link.h"
#include "hw/nic/uet/uet_config.h"

namespace weft::nic {

/// A model of the interface by its name, which is one of nic_models() (nic_model.h).
struct NicModel;
[[nodiscard]] const Names& registered(const NicModel* kind);
using NicName = NameOf<NicModel>;

/// What an interface can do and what that takes; what each field means is said where it is visited.
struct NicConfig {
  static constexpr Bytes kLeastReadAhead = Bytes(64 << 10);

  Time message_cost = Time(20'000);
  Time packet_cost = Time(5'000);
  Rate dma_rate = Rate(55LL * 8'000'000'000);
  Time read_latency = Time(350'000);
  Time write_latency = Time(250'000);
  Bytes read_ahead;
  Bytes turn = Bytes(64 << 10);
  Time rnr_timer = Time(10'000'000);
  Time rnr_limit = Time(10'000'000'000'000);
  bool posted = false;
  Transport transport = Transport::kRoce;
  UetConfig uet;
  bool recovery = false;
  Time ack_timeout = Time(524'288'000);
  double retry_jitter = 0.25;
  int retry_limit = 7;
  Bytes reorder = Bytes(0);
  Time reorder_wait = Time(20'000'000);
  CongestionName congestion;
  Sections sections{names_for<CongestionScheme>()};
  NicName implementation;
  Sections of_implementations{names_for<NicModel>()};
  Rate group_rate = Rate(1'000'000'000'000'000);
  PcieConfig pcie;
  struct ContextCacheConfig {
    int entries = 0;
    Bytes context = Bytes(512);

    template <typename Visitor>
    void fields(Visitor&& visit) {
      visit("entries", entries, "Contexts of queue pairs that the interface holds; 0: all of them",
            Range{0, 100'000'000});
      visit("context", context, "Bytes read from the host for a context that is not held", Range{64, 4096});
    }
  } context_cache;
  struct WorkQueueConfig {
    bool inline_entries = true;
    int fetch = 8;

    template <typename Visitor>
    void fields(Visitor&& visit) {
      visit("inline", inline_entries, "A request posted by itself travels in its doorbell and is not fetched");
      visit("fetch", fetch, "Entries of 64 bytes that are fetched from the host by one read", Range{1, 128});
    }
  } work_queue;
  int send_queue_depth = 0;
  int receive_queue_depth = 0;
  /// CongestionSite::round_trip, which only a network as a whole knows; 0: of a network with one switch. No field.
  Time round_trip;
  struct PowerConfig {
    Energy bit;
    Energy message;
    Power idle;

    template <typename Visitor>
    void fields(Visitor&& visit) {
      visit("bit", bit, "Energy of a bit of payload that it sends or receives");
      visit("message", message, "Energy of a message that it sends or receives, whatever its size");
      visit("idle", idle, "Power drawn all the time, without transceivers");
    }
  } power;

  /// Whether queue pairs live with loss and with packets that overtake each other.
  [[nodiscard]] bool recovers() const { return recovery || reorder > Bytes() || transport == Transport::kUet; }
  /// A `read_ahead` with which a link of this rate is never idle while its payload is read: what the slower of link and
  /// DMA moves from a request until the first packet of its data is here, `memory` being memory's share of that. More
  /// is only begun, and a segment more than this is on its way then.
  [[nodiscard]] Bytes fitting_read_ahead(Rate link, Time memory, Bytes mtu) const {
    const Rate rate = std::min(link, dma_rate);
    const Time away = read_latency + memory + packet_cost + transfer_time(mtu, dma_rate);
    return Bytes(static_cast<std::int64_t>(static_cast<__int128>(away.count()) * rate.count() / 8'000'000'000'000));
  }
  /// Places of a queue of `depth` that are told of together when they are free: firmware may not know yet of one fewer.
  static constexpr int places_together(int depth) { return std::max(1, depth / 4); }
  /// The smallest depth of a queue with so many places that firmware knows to be free whenever all are.
  static constexpr int depth_for(int places) {
    int depth = places;
    while (depth - (places_together(depth) - 1) < places) ++depth;
    return depth;
  }
  /// How congestion is controlled, and the fields of that. Throws ConfigError.
  [[nodiscard]] const CongestionScheme& scheme() const {
    return congestion_schemes().at(congestion.text(), "nic.congestion");
  }
  [[nodiscard]] const AnyConfig& of_scheme() const { return sections.of(congestion.text()); }
  [[nodiscard]] HostLink::Config host_link() const { return {dma_rate, read_latency, write_latency, pcie}; }

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("message_cost", message_cost, "Engine time for each work request", Range{0, 100'000'000});
    visit("packet_cost", packet_cost, "Engine time for each packet of at most an MTU, sending and receiving alike",
          Range{0, 100'000'000});
    visit("dma_rate", dma_rate,
          "Payload rate of the DMA engines in each direction; without pcie also that of the host link",
          Range{1'000'000'000, 1'000'000'000'000'000'000});
    visit("read_latency", read_latency, "Host link's share of a read, request to data", Range{0, 100'000'000});
    visit("write_latency", write_latency, "Host link's share of a write, until it is visible", Range{0, 100'000'000});
    visit("read_ahead", read_ahead,
          "Payload that is read ahead of sending, at least two segments. 0B: what keeps the link busy until memory "
          "answers, at least 64KiB, in a scale-up port 512KiB",
          Range{0, 1LL << 40});
    visit("turn", turn,
          "Wire bytes that a queue pair sends before the next one with work has its turn; at least a segment. With "
          "recovery it is lowered until all have their turn within an eighth of ack_timeout",
          Range{0, 1LL << 40});
    visit("rnr_timer", rnr_timer, "Wait before a message is sent again for which no receive was posted",
          Range{1'000, 1'000'000'000'000});
    visit("rnr_limit", rnr_limit, "Time after which the sender gives up", Range{1'000, 1'000'000'000'000'000});
    visit(
        "posted", posted,
        "For a scale-up port: acknowledgements and messages without bytes travel in the flits of others. They take the "
        "latency of the path, and no bandwidth. Not with recovery, congestion control, a context cache or faults of "
        "the network");
    visit("transport", transport,
          "What carries messages. roce: the packets of a queue pair take one path, in order; uet: Ultra Ethernet, each "
          "packet takes a path of its own, is placed in memory as it comes, and is sent again if it is lost");
    visit("uet", uet, "uet: what it has for itself");
    visit("recovery", recovery,
          "roce: lost packets are sent again; not needed if the fabric loses nothing. uet always does that");
    // 4.096 us * 2^7 of what InfiniBand can express: well above a round trip through full buffers. Drivers ask for
    // 2^14 and more, which would be most of any simulated step.
    visit(
        "ack_timeout", ack_timeout,
        "With recovery: time without progress after which unacknowledged packets are sent again. uet: time after which "
        "a packet is",
        Range{1'000'000, 1'000'000'000'000});
    visit("retry_jitter", retry_jitter,
          "With recovery: an unanswered repeat waits longer by a random time, up to this share of ack_timeout",
          Range{0, 1});
    visit("retry_limit", retry_limit, "With recovery: repeats without progress before the queue pair fails",
          Range{0, 1'000'000});
    visit("reorder", reorder,
          "roce: wire bytes of early packets that a queue pair holds; 0: none, the sender goes back to the missing "
          "packet",
          Range{0, 1LL << 30});
    visit("reorder_wait", reorder_wait,
          "With reorder, and uet: how long a missing packet counts as overtaken instead of lost",
          Range{0, 1'000'000'000'000});
    visit("group_rate", group_rate, "Payload rate of the engine to groups: operands of reductions, and multicast",
          Range{1'000'000'000, 1'000'000'000'000'000'000});
    const std::string schemes = names_for<CongestionScheme>().doc();
    visit("congestion", congestion, schemes);
    sections.fields(visit);
    visit("pcie", pcie, "The link between the interface and memory");
    visit("context_cache", context_cache, "Contexts of queue pairs in the interface");
    visit("work_queue", work_queue, "How work requests come from the host");
    visit("send_queue_depth", send_queue_depth,
          "Requests other than receives that a queue pair holds until they are done; 0: any number",
          Range{0, 1'000'000});
    visit("receive_queue_depth", receive_queue_depth, "Receives that a queue pair holds; 0: any number",
          Range{0, 1'000'000});
    visit("power", power, "Power and energy");
    const std::string implementations = names_for<NicModel>().doc();
    visit("implementation", implementation, implementations);
    of_implementations.fields(visit);
  }
};

struct NicCounters {
  std::int64_t messages_received = 0;
  std::int64_t bytes_received = 0;  ///< payload written to memory
  std::int64_t packets_received = 0;
  std::int64_t packets_sent = 0;
  std::int64_t bytes_sent = 0;         ///< payload put on the wire, repeats included
  std::int64_t messages_sent = 0;      ///< each once
  std::int64_t messages_repeated = 0;  ///< times that the end of one was sent again
  std::int64_t not_ready = 0;          ///< RNR NAKs sent
  std::int64_t damaged = 0;            ///< packets whose check failed, dropped
  std::int64_t dropped = 0;            ///< packets that came ahead of their turn and are not held, and cut ones of RoCE
  std::int64_t no_receive = 0;         ///< datagrams and multicast messages that found no receive
  std::int64_t access_errors = 0;      ///< requests for memory that their key does not open
  std::int64_t held = 0;               ///< packets that came ahead and were
  std::int64_t duplicates = 0;
  std::int64_t naks = 0;      ///< sent
  std::int64_t timeouts = 0;  ///< with something repeated
  std::int64_t retransmitted_packets = 0;
  std::int64_t retransmitted_bytes = 0;
  std::int64_t notifications = 0;   ///< of congestion, sent
  std::int64_t rate_cuts = 0;       ///< notifications that came
  std::int64_t context_hits = 0;    ///< packets to send and received whose queue pair's context was here
  std::int64_t context_misses = 0;  ///< contexts read
  std::int64_t entry_reads = 0;     ///< of work queues in memory
  std::int64_t entries_read = 0;
  std::int64_t overruns = 0;  ///< requests posted to a queue that was full
};

}  // namespace weft::nic
