// SPDX-License-Identifier: Apache-2.0
// How a switch is put together, before the run.
#include <algorithm>

#include "hw/fabric/switch/switch.h"
#include "hw/fabric/switch/switch_tags.h"

namespace weft::fabric {

Switch::Switch(sc_core::sc_module_name name, const Config& config, Dispatcher& dispatcher, PacketPool& packets,
               const Routes& routes, const std::vector<LinkConfig>& links, const Stall::Config& stall,
               const std::vector<bool>& joined)
    : AnySwitch(name),
      dispatcher_(dispatcher),
      routes_(&routes),
      latency_(config.total_latency()),
      lanes_(static_cast<std::uint32_t>(links.empty() ? 1 : links.front().lanes)),
      sources_(static_cast<std::uint32_t>(
          std::max(links.size() + (config.reduction.trees > 0 ? 1 : 0), static_cast<std::size_t>(config.flow_queues)))),
      words_((sources_ + 63) / 64),
      blocks_((sources_ + kQueuesOfBlock - 1) / kQueuesOfBlock),
      limits_crossbar_(config.speedup > 0),
      has_arbiters_(config.arbiter.has_pins()),
      by_flow_(config.flow_queues > 0),
      rates_differ_(std::any_of(links.begin(), links.end(),
                                [&links](const LinkConfig& link) { return link.rate != links.front().rate; })),
      marks_(config.marking.min > Bytes()),
      weighs_(!config.weights.empty()),
      measures_load_(config.load_window > Time()),
      trims_(config.buffer.trim > Bytes() && !links.empty() && links.front().flow_control == FlowControl::kLossy),
      ingress_interval_(std::max({config.parse.interval, config.route.interval, config.admission.interval})),
      egress_interval_(std::max({config.arbitration.interval, config.crossbar.interval, config.egress.interval})),
      inputs_(links.size()),
      outputs_(links.size()),
      transmitters_(links.size()),
      port_counters_(links.size()),
      config_(config),
      packets_(packets),
      flow_control_(links.empty() ? FlowControl::kCredits : links.front().flow_control),
      random_(stall.seed, std::string(this->name()) + " marking") {
  dispatcher.attach(*this, this->name());
  const auto radix = static_cast<std::uint32_t>(links.size());
  for (std::uint32_t i = 0; i < radix; ++i) {
    const std::string number = std::to_string(i);
    inputs_.emplace_back(*this, i);
    transmitters_.emplace_back(dispatcher, links[i], *this, kServe | i, stall, this->name() + (".out" + number));
    ports_.push_back(i < joined.size() && joined[i] ? nullptr : std::make_unique<Port>(number));
    if (ports_[i] == nullptr) continue;
    transmitters_[i].bind(ports_[i]->out);
    ports_[i]->in.bind(inputs_[i]);
  }
  if (flow_control_ != FlowControl::kCredits) {
    std::vector<std::int64_t> private_bytes;
    for (const LinkConfig& link : links) {
      private_bytes.push_back((link.buffer > Bytes() ? link.buffer : LinkConfig::kLeastBuffer).count());
    }
    buffer_ = std::make_unique<SharedBuffer>(config.buffer, private_bytes, flow_control_ == FlowControl::kPfc, lanes_);
  }
  if (weighs_) {
    constexpr std::int64_t kUnit = 1024;  // a weight of one, in bytes a turn
    for (std::uint32_t lane = 0; lane < lanes_; ++lane) {
      quanta_.push_back(kUnit * (lane < config.weights.size() ? config.weights[lane] : 1));
    }
    deficits_.assign(links.size() * lanes_, 0);
  }
  if (limits_crossbar_) crossbar_free_.resize(sources_);
  if (trims_) {
    urgent_bytes_.resize(links.size());
    urgent_turns_.resize(links.size());
    newest_.resize(links.size());
  }
  if (measures_load_) loads_.resize(links.size());
  if (config.reduction.trees > 0) {
    const auto pass_on = [this](Packet& sum, Time head) {
      const Time whole = dispatcher_.now();
      sum.tail_lag_ps = static_cast<std::uint32_t>(std::min(whole - head, latency_).count());
      dispatcher_.post(whole, *this, kEmitWhole, reinterpret_cast<std::uint64_t>(&sum));
    };
    const auto release_held = [this](const ReductionSite::Held& held, Time gone) {
      release(dispatcher_.now(), held.port, held.lane, held.wire_bytes, gone);
    };
    engine_ = make_reduction_engine({config_.reduction, radix, dispatcher, packets, pass_on, release_held});
  }
  inspects_ = buffer_ != nullptr || ingress_interval_ > Time();
  if (has_arbiters_) build_arbiters();
}

Switch::~Switch() = default;

void Switch::end_of_elaboration() {
  neighbours_.reserve(ports_.size());
  for (std::size_t i = 0; i < ports_.size(); ++i) {
    if (ports_[i] != nullptr) {
      transmitters_[i].resolve(ports_[i]->out);
      inputs_[i].resolve(ports_[i]->in);
    }
    neighbours_.push_back({transmitters_[i].peer(), inputs_[i].sender()});
  }
  if (trims_) find_last_hops();
}

void Switch::join(std::size_t port, AnySwitch& other, std::size_t other_port) {
  transmitters_[port].join(other.input(other_port));
  other.take_from(other_port, transmitters_[port]);
}

void Switch::make_lane(std::uint32_t lane) {
  lane_queues_[lane].nonempty = std::make_unique<std::uint64_t[]>(outputs_.size() * words_);
  lane_queues_[lane].blocks = std::make_unique<std::uint32_t[]>(outputs_.size() * blocks_);
}

std::int64_t Switch::waiting() const {
  std::int64_t sum = 0;
  for (const Output& output : outputs_) sum += output.waiting;
  return sum;
}

}  // namespace weft::fabric
