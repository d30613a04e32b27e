// SPDX-License-Identifier: Apache-2.0
// A memory of our own: a controller that serves requests in order over one data bus, before banks that each keep the
// row open which they had last. Bytes take their time on the bus; a row that is not open takes `miss` more, which the
// banks of a long request share, since they open rows side by side.
#include <tlm_utils/simple_target_socket.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "hw/core/annotation.h"
#include "hw/memory/memory_model.h"
#include "hw/memory/payload_bytes.h"

using namespace weft;

namespace {

// Fields of the platform, at accelerator.hbm.open_page. The rate of the bus and the capacity are those of hbm.
struct Config {
  int banks = 32;
  Bytes row = Bytes(1024);
  Time hit = Time(300'000);
  Time miss = Time(45'000);

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("banks", banks, "Rows lie in the banks in turn", Range{1, 4096});
    visit("row", row, "Bytes of a row", Range{64, 1 << 20});
    visit("hit", hit, "From a request to its data, if its row is open", Range{0, 100'000'000});
    visit("miss", miss, "To close a row and open another", Range{0, 1'000'000'000});
  }
};

class OpenPage final : public memory::Memory {
 public:
  OpenPage(sc_core::sc_module_name name, const memory::MemorySite& site)
      : Memory(name),
        config_(site.own<Config>()),
        bus_(site.config.rate),
        capacity_(static_cast<std::uint64_t>(site.config.capacity.count())),
        data_(site.data),
        dispatcher_(site.dispatcher),
        open_(static_cast<std::size_t>(config_.banks), UINT64_MAX) {
    for (const std::string& master : site.masters) {
      Port& port = ports_.emplace_back(master);
      const int index = static_cast<int>(ports_.size()) - 1;
      port.socket.register_b_transport(this, &OpenPage::b_transport, index);
      port.socket.register_transport_dbg(this, &OpenPage::transport_dbg, index);
    }
  }

  Socket& socket(std::size_t master) override { return ports_[master].socket; }
  std::size_t masters() const override { return ports_.size(); }
  const std::string& master_name(std::size_t master) const override { return ports_[master].name; }
  Traffic traffic(std::size_t master) const override { return ports_[master].traffic; }
  memory::BackingStore& store() override { return store_; }
  std::vector<std::pair<std::string, std::int64_t>> own_counts() const override {
    return {{"row_hits", hits_}, {"row_misses", misses_}};
  }

 private:
  struct Port {
    explicit Port(const std::string& master) : name(master), socket(("from_" + master).c_str()) {}
    std::string name;
    tlm_utils::simple_target_socket_tagged<OpenPage, 64> socket;
    Traffic traffic;
    Time until;  // when its latest request leaves the bus
  };

  bool is_inside(const tlm::tlm_generic_payload& payload) const {
    return payload.get_address() < capacity_ && payload.get_data_length() <= capacity_ - payload.get_address();
  }

  // A request must not wait(): its time is added to the delay, which counts from the dispatcher's now().
  void b_transport(int index, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
    payload.set_response_status(is_inside(payload) ? memory::check_attributes(payload)
                                                   : tlm::TLM_ADDRESS_ERROR_RESPONSE);
    if (payload.is_response_error()) return;
    if (data_) memory::move_bytes(store_, payload);
    const std::int64_t bytes = payload.get_data_length();
    const Time asked = dispatcher_.now() + from_delay(delay);
    const Time length = bus_(bytes) + open_rows(payload.get_address(), payload.get_data_length());
    const Time start = std::max(asked, bus_until_);
    bus_until_ = start + length;
    Port& port = ports_[static_cast<std::size_t>(index)];
    port.traffic.busy = port.traffic.busy + length;
    port.traffic.waited = port.traffic.waited + (start - std::min(start, std::max(asked, port.until)));
    port.until = bus_until_;
    ++(payload.is_read() ? port.traffic.reads : port.traffic.writes);
    (payload.is_read() ? port.traffic.read_bytes : port.traffic.written_bytes) += bytes;
    delay = to_delay(bus_until_ + config_.hit - dispatcher_.now());
  }

  unsigned int transport_dbg(int /*index*/, tlm::tlm_generic_payload& payload) {
    return data_ && is_inside(payload) ? memory::debug_bytes(store_, payload) : 0;
  }

  // What is lost by opening the rows of a request. More rows than there are banks find another one open.
  Time open_rows(std::uint64_t address, std::uint64_t bytes) {
    if (bytes == 0) return Time();
    const auto row = static_cast<std::uint64_t>(config_.row.count());
    const std::uint64_t banks = open_.size();
    const std::uint64_t end = (address + bytes - 1) / row + 1;
    const std::uint64_t count = end - address / row;
    const std::uint64_t tried = std::min(count, banks);
    auto opened = static_cast<std::int64_t>(count - tried);
    for (std::uint64_t i = end - tried; i < end; ++i) {
      if (count > banks || open_[i % banks] != i) ++opened;
      open_[i % banks] = i;
    }
    hits_ += static_cast<std::int64_t>(count) - opened;
    misses_ += opened;
    return config_.miss * opened / static_cast<std::int64_t>(tried);
  }

  Config config_;
  ByteTime bus_;
  std::uint64_t capacity_;
  bool data_;
  Dispatcher& dispatcher_;
  std::vector<std::uint64_t> open_;  // the row of each bank
  std::deque<Port> ports_;
  memory::BackingStore store_;
  Time bus_until_;
  std::int64_t hits_ = 0;
  std::int64_t misses_ = 0;
};

// What kernels count on: each row of a long sequence is a miss.
Rate sustained(const memory::HbmConfig& hbm, Bytes /*read*/, Bytes /*written*/) {
  const Config& own = hbm.sections.of<Config>();
  const Time row = transfer_time(own.row, hbm.rate) + own.miss / own.banks;
  return Rate(
      static_cast<std::int64_t>(static_cast<double>(own.row.count()) * 8e12 / static_cast<double>(row.count())));
}

}  // namespace

void provide_open_page() {
  memory::provide(
      {.name = "open-page",
       .doc = "in order, with a row open in each bank",
       .config = Config(),
       .ignores = {"efficiency", "latency", "interconnect", "interconnect_rate", "core_rate", "stacks"},
       .sustained = sustained,
       .read_time = [](const memory::HbmConfig& hbm) { return hbm.sections.of<Config>().hit; },
       .make = [](const memory::MemorySite& site) { return std::make_unique<OpenPage>(site.name.c_str(), site); }});
}
