// SPDX-License-Identifier: Apache-2.0
// A remote memory of our own: flash behind one link that all accelerators share. Pages lie in the dies in turn. A die
// reads or programs one page at a time, and each page takes its time on the link.
#include <tlm_utils/simple_target_socket.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "hw/core/annotation.h"
#include "hw/memory/payload_bytes.h"
#include "hw/memory/remote/remote_model.h"

using namespace weft;

namespace {

// Fields of the platform, at remote_memory.flash. The rate of the link, its latency and the capacity are those of
// remote_memory.
struct Config {
  int dies = 64;
  Bytes page = Bytes(16 << 10);
  Time read = Time(40'000'000);
  Time program = Time(400'000'000);

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("dies", dies, "Pages lie in the dies in turn", Range{1, 1 << 16});
    visit("page", page, "Bytes of a page", Range{512, 1 << 20});
    visit("read", read, "To read a page of a die", Range{0, 1'000'000'000'000});
    visit("program", program, "To program a page of a die", Range{0, 1'000'000'000'000});
  }
};

class FlashPool final : public memory::RemoteTarget {
 public:
  FlashPool(sc_core::sc_module_name name, const memory::RemoteSite& site)
      : RemoteTarget(name),
        config_(site.own<Config>()),
        capacity_(site.config.capacity),
        latency_(site.config.latency),
        link_(site.config.rate),
        data_(site.data),
        dispatcher_(site.dispatcher),
        dies_(static_cast<std::size_t>(config_.dies)) {
    for (int i = 0; i < site.accelerators; ++i) {
      auto& socket = sockets_.emplace_back(("from_" + std::to_string(i)).c_str());
      socket.register_nb_transport_fw(this, &FlashPool::nb_transport_fw);
      socket.register_b_transport(this, &FlashPool::b_transport);
      socket.register_transport_dbg(this, &FlashPool::transport_dbg);
    }
  }

  Socket& socket(std::size_t accelerator) override { return sockets_[accelerator]; }
  std::size_t spaces() const override { return 1; }
  std::size_t space_of(std::size_t /*accelerator*/) const override { return 0; }
  Bytes capacity() const override { return capacity_; }
  memory::BackingStore& store(std::size_t /*space*/) override { return store_; }
  std::vector<std::pair<std::string, std::int64_t>> own_counts() const override {
    return {{"pages_read", pages_read_}, {"pages_programmed", pages_programmed_}};
  }

 private:
  bool is_inside(const tlm::tlm_generic_payload& payload) const {
    const auto capacity = static_cast<std::uint64_t>(capacity_.count());
    return payload.get_address() < capacity && payload.get_data_length() <= capacity - payload.get_address();
  }

  // What it does is known at once, so that a request ends with the call.
  tlm::tlm_sync_enum nb_transport_fw(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) {
    if (phase == tlm::BEGIN_REQ) b_transport(payload, delay);
    return tlm::TLM_COMPLETED;
  }

  // A request must not wait(): its time is added to the delay, which counts from the dispatcher's now().
  void b_transport(tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
    payload.set_response_status(is_inside(payload) ? memory::check_attributes(payload)
                                                   : tlm::TLM_ADDRESS_ERROR_RESPONSE);
    if (payload.is_response_error()) return;
    if (data_) memory::move_bytes(store_, payload);
    const Time asked = dispatcher_.now() + from_delay(delay);
    const auto page = static_cast<std::uint64_t>(config_.page.count());
    const std::uint64_t end = payload.get_address() + payload.get_data_length();
    Time done = asked;
    for (std::uint64_t at = payload.get_address(); at < end;) {
      const std::uint64_t bytes = std::min(end - at, page - at % page);
      done = std::max(done, move(dies_[at / page % dies_.size()], asked, payload.is_read(), bytes));
      at += bytes;
    }
    delay = to_delay(done + latency_ - dispatcher_.now());
  }

  // When a part of a page that is asked for has passed die and link.
  Time move(Time& die, Time asked, bool reads, std::uint64_t bytes) {
    const Time on_link = link_(static_cast<std::int64_t>(bytes));
    ++(reads ? pages_read_ : pages_programmed_);
    if (reads) {
      die = std::max(die, asked) + config_.read;
      return link_until_ = std::max(link_until_, die) + on_link;
    }
    link_until_ = std::max(link_until_, asked) + on_link;
    return die = std::max(die, link_until_) + config_.program;
  }

  unsigned int transport_dbg(tlm::tlm_generic_payload& payload) {
    return data_ && is_inside(payload) ? memory::debug_bytes(store_, payload) : 0;
  }

  Config config_;
  Bytes capacity_;
  Time latency_;
  ByteTime link_;
  bool data_;
  Dispatcher& dispatcher_;
  std::deque<tlm_utils::simple_target_socket<FlashPool, 64>> sockets_;
  std::vector<Time> dies_;  // until when each is busy
  Time link_until_;
  memory::BackingStore store_;
  std::int64_t pages_read_ = 0;
  std::int64_t pages_programmed_ = 0;
};

}  // namespace

void provide_flash_pool() {
  memory::provide(
      {.name = "flash",
       .doc = "flash that all share",
       .config = Config(),
       .ignores = {"sharers"},
       .check =
           [](const memory::RemoteConfig& remote, const std::string& path) {
             const Bytes page = remote.sections.of<Config>().page;
             if (page <= remote.chunk) return;
             throw ConfigError(path + ".flash.page", "expected at most " + path + ".chunk, which is " +
                                                         to_text(remote.chunk) + ", got " + to_text(page));
           },
       .make = [](const memory::RemoteSite& site) { return std::make_unique<FlashPool>(site.name.c_str(), site); }});
}
