// SPDX-License-Identifier: Apache-2.0
// A congestion control of our own: so many bytes of a queue pair are under way at a time, and no more.
#include <memory>

#include "hw/core/fields.h"
#include "hw/nic/congestion/congestion_control.h"

using namespace weft;

namespace {

// Fields of the platform, at nic.my_window and scale_up.port.my_window.
struct Config {
  Bytes size = Bytes(256 << 10);

  template <typename Visitor>
  void fields(Visitor&& visit) {
    visit("size", size, "Of the window, on the wire", Range{1, 1LL << 40});
  }
};

class Window final : public nic::CongestionControl {
 public:
  explicit Window(Bytes size) : size_(size.count()) {}

  void sent(Time /*now*/, std::int64_t /*wire_bytes*/) override {}
  void congested(Time /*now*/) override {}
  std::optional<Rate> rate(Time /*now*/) override { return std::nullopt; }
  std::int64_t window(Time /*now*/) override { return size_; }
  void acknowledged(Time /*now*/, const nic::Acknowledged& packets) override { acknowledged_ += packets.wire_bytes; }
  std::vector<std::pair<std::string, std::int64_t>> own_counts() const override {
    return {{"acknowledged_bytes", acknowledged_}};
  }

 private:
  std::int64_t size_;
  std::int64_t acknowledged_ = 0;
};

}  // namespace

void provide_my_window() {
  nic::provide(
      {.name = "my-window",
       .doc = "so many bytes under way",
       .config = Config(),
       .check =
           [](const AnyConfig& own, const std::string& path) {
             if (own.as<Config>().size >= Bytes(1024)) return;
             throw ConfigError(path + ".size", "expected at least 1KiB, got " + to_text(own.as<Config>().size));
           },
       .acknowledges = true,
       .make = [](const nic::CongestionSite& site) { return std::make_unique<Window>(site.config<Config>().size); }});
}
