// SPDX-License-Identifier: Apache-2.0
// A network interface of our own: Weft's behind firmware of its own, which takes a while for each work request and
// knows no groups and no datagrams.
#include <memory>

#include "hw/nic/nic.h"
#include "hw/nic/nic_model.h"

using namespace weft;

namespace {

// Fields of the platform, at nic.my_nic and scale_up.port.my_nic.
struct Config {
  Time firmware = Time(500'000);

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("firmware", firmware, "Of each work request, before the engine takes it", Range{0, 100'000'000});
  }
};

class MyNic final : public nic::AnyNic {
 public:
  MyNic(sc_core::sc_module_name name, const nic::NicSite& site)
      : AnyNic(name),
        nic_("engine", with_firmware(site), site.network, site.end, site.dispatcher, site.packets, site.data,
             site.stall) {}

  std::uint32_t end() const override { return nic_.end(); }
  std::uint32_t create_queue_pair(std::uint64_t completion_address) override {
    return nic_.create_queue_pair(completion_address);
  }
  void connect(std::uint32_t queue_pair, std::uint32_t peer_end, std::uint32_t peer_queue_pair) override {
    nic_.connect(queue_pair, peer_end, peer_queue_pair);
  }
  void provide(const nic::WorkRequest& receive) override { nic_.provide(receive); }
  Depths depths() const override { return nic_.depths(); }
  void report_places(std::uint32_t queue_pair, std::uint64_t completion_address) override {
    nic_.report_places(queue_pair, completion_address);
  }

  // Cores of its own it has none: the sockets for them are left out.
  Sockets sockets() override { return {nic_.out, nic_.in, nic_.dma, nic_.completion, nic_.registers}; }
  void use_phases() override { nic_.use_phases(); }
  const Config& config() const override { return nic_.config(); }
  const Counters& counters() const override { return nic_.counters(); }
  const fabric::Transmitter& transmitter() const override { return nic_.transmitter(); }
  std::vector<std::string> left_over() override { return nic_.left_over(); }
  std::vector<std::string> failures() override { return nic_.failures(); }

 private:
  static nic::NicConfig with_firmware(const nic::NicSite& site) {
    nic::NicConfig config = site.config;
    config.message_cost += site.own<::Config>().firmware;
    return config;
  }

  nic::Nic nic_;
};

}  // namespace

void provide_my_nic() {
  nic::provide({.name = "my-nic",
                .doc = "with firmware in the way",
                .config = Config(),
                .ignores = {"group_rate"},
                .make = [](const nic::NicSite& site) { return std::make_unique<MyNic>(site.name.c_str(), site); }});
}
