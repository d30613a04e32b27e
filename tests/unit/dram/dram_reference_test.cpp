// SPDX-License-Identifier: Apache-2.0
// HBM banks against what other simulators answer for the same traffic: traces/published/dram.csv.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "hw/core/random.h"
#include "hw/memory/dram/replay.h"
#include "tests/support/benches/dram.h"
#include "traces/csv.h"

namespace weft::dram {
namespace {

constexpr std::uint64_t kGiB = 1ULL << 30;

struct Traffic {
  bool write = false;
  std::uint64_t address = 0;
};

/// The requests of a trace, of the same kinds as the ones that the references were given.
class Generator {
 public:
  explicit Generator(std::string trace) : trace_(std::move(trace)), random_(1, trace_) {}

  Traffic next() {
    const std::uint64_t i = count_++;
    if (trace_ == "seq_read") return {false, 32 * i};
    if (trace_ == "rand_read") return {false, random_.next() % (kGiB / 32) * 32};
    if (trace_ == "rand_rw21") return {random_.share() >= 2.0 / 3, random_.next() % (kGiB / 32) * 32};
    if (trace_ == "row_conflict_read") return {false, random_.next() % 8192 << 17};
    // 32 reads of one stream, 16 writes of another half of the memory away.
    const std::uint64_t block = i / 48;
    const std::uint64_t within = i % 48;
    if (within < 32) return {false, (block * 32 + within) * 32};
    return {true, kGiB / 2 + (block * 16 + within - 32) * 32};
  }
  [[nodiscard]] int count() const { return trace_ == "row_conflict_read" ? 10'000 : 60'000; }

 private:
  std::string trace_;
  Random random_;
  std::uint64_t count_ = 0;
};

struct Answer {
  double bandwidth = 0;  ///< GB/s
  double latency = 0;    ///< ns
};

Answer simulate(const std::string& device, const std::string& trace, bool refresh, int outstanding, double offered) {
  MemoryConfig config = test::memory_of(device);
  if (!refresh) config.controller.refresh = RefreshPolicy::kOff;
  MemorySystem memory(config);
  const auto replay = std::make_unique<Replay>(memory, outstanding);
  if (trace.starts_with("unloaded")) {
    // One at a time, long after one another: the row that is open, banks that are closed, another row.
    const Time pause = Time(1'000'000);
    const std::int64_t kind = trace == "unloaded_hit" ? 0 : trace == "unloaded_closed" ? 1 : 2;
    const int count = kind == 1 ? config.device.geometry.all_banks() : 1000;
    for (int i = 0; i < count; ++i) {
      Location location;
      if (kind == 0) location.column = static_cast<std::uint16_t>(i % 32);
      if (kind == 1) location.bank = static_cast<std::uint8_t>(i);
      if (kind == 2) location.row = static_cast<std::uint32_t>(i);
      replay->request(false, memory.map().address(location), pause * (i + 1));
    }
  } else {
    Generator generator(trace);
    for (int i = 0; i < generator.count(); ++i) {
      const Traffic traffic = generator.next();
      if (offered > 0) {
        replay->request(traffic.write, traffic.address, Time(static_cast<std::int64_t>(i * 32'000.0 / offered)));
      } else {
        replay->request(traffic.write, traffic.address);
      }
    }
  }
  replay->finish();
  return {replay->bytes_per_second() * 1e-9, replay->read_latency().mean_ps() * 1e-3};
}

/// Each figure by itself, and the mean of the references for a kind of device and trace.
TEST(DramReference, AgreesWithOtherSimulators) {
  struct Sum {
    double published = 0;
    double simulated = 0;
  };
  std::map<std::tuple<std::string, std::string, bool>, Sum> sums;
  std::printf("%-13s %-18s %-7s %8s  %-9s %9s %9s %7s\n", "device", "trace", "refresh", "offered", "what", "published",
              "simulated", "error");
  const auto compare = [](const traces::CsvTable::Row& row, const char* what, double published, double simulated,
                          double tolerance) {
    const double error = simulated / published - 1;
    std::printf("%-13s %-18s %-7s %8s  %-9s %9.2f %9.2f %6.1f%%\n", row.text("device").c_str(),
                row.text("trace").c_str(), row.text("refresh").c_str(), row.text("offered").c_str(), what, published,
                simulated, error * 100);
    EXPECT_LE(std::abs(error), tolerance) << row.text("device") << " " << row.text("trace") << " " << what;
  };
  const traces::CsvTable table = traces::CsvTable::read(WEFT_SOURCE_DIR "/traces/published/dram.csv");
  for (const traces::CsvTable::Row row : table) {
    const std::string& device = row.required("device");
    const bool refresh = row.boolean("refresh");
    const double offered = row.text("offered").empty() ? 0 : row.number("offered");
    const Answer answer = simulate(device, row.required("trace"), refresh,
                                   static_cast<int>(row.integer("outstanding", 1, 1024)), offered);
    if (!row.text("bandwidth").empty()) {
      const double published = row.number("bandwidth");
      // DRAMSys buffers requests by bank, which costs it random writes; the mean below is what counts.
      compare(row, "bandwidth", published, answer.bandwidth, device == "hbm2-dramsys" ? 0.15 : 0.03);
      Sum& sum = sums[{device.substr(0, 4), row.text("trace"), refresh}];
      sum.published += published;
      sum.simulated += answer.bandwidth;
    }
    if (!row.text("latency").empty()) compare(row, "latency", row.number("latency"), answer.latency, 0.08);
  }
  for (const auto& [key, sum] : sums) {
    EXPECT_NEAR(sum.simulated / sum.published, 1, 0.10) << std::get<0>(key) << " " << std::get<1>(key);
  }
}

}  // namespace
}  // namespace weft::dram
