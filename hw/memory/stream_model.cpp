// SPDX-License-Identifier: Apache-2.0
#include "hw/memory/stream_model.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>

#include "hw/core/random.h"
#include "hw/memory/dram/replay.h"
#include "hw/memory/known_streams.h"

namespace weft::memory {
namespace {

constexpr std::int64_t kPiece = 4096;  // as MemoryMaster cuts
constexpr int kIntervals = 4;

/// All values of a configuration as text.
class Values {
 public:
  template <typename T>
  void operator()(std::string_view /*name*/, T& member, std::string_view /*doc*/ = {}, Range /*range*/ = {}) {
    if constexpr (requires { member.fields(*this); }) {
      member.fields(*this);
    } else if constexpr (std::is_same_v<T, std::string>) {
      text += member;
    } else if constexpr (requires { member.count(); }) {
      text += std::to_string(member.count());
    } else {
      text += std::to_string(static_cast<std::int64_t>(member));
    }
    text += ';';
  }
  std::string text;
};

/// Channel 0, and the requests that the map of the whole memory sends there.
class Channel {
 public:
  explicit Channel(const dram::MemoryConfig& config)
      : map_(config.map()),
        memory_(alone(config)),
        replay_(memory_, config.controller.read_queue * config.device.geometry.pseudo_channels),
        random_(1, "stream model"),
        burst_(static_cast<std::uint64_t>(config.device.geometry.burst.count())),
        stacks_(static_cast<std::uint64_t>(config.stacks)),
        interleave_(static_cast<std::uint64_t>(config.stack_interleave.count())),
        refresh_(memory_.time_of(config.device.refresh_interval())),
        peak_(memory_.config().device.peak_bytes_per_second()),
        columns_(data_columns(config)) {}

  /// What is sustained when `more` sends some requests at each call.
  template <typename More>
  StreamModel::Measured sustained(const More& more) {
    while (replay_.elapsed() < refresh_) more();
    const Time begin = replay_.elapsed();
    const std::int64_t before = replay_.bytes();
    const double spent = spent_by_commands();
    while (replay_.elapsed() < begin + kIntervals * refresh_) more();
    const double seconds = static_cast<double>((replay_.elapsed() - begin).count()) * 1e-12;
    const auto bytes = static_cast<double>(replay_.bytes() - before);
    return {bytes / seconds / peak_, (spent_by_commands() - spent) / bytes};
  }
  /// The bursts of [address, address + bytes) that lie here.
  void send(bool write, std::uint64_t address, std::uint64_t bytes, bool partial = false) {
    const std::uint64_t end = address + bytes;
    for (std::uint64_t at = address; at < end; at += burst_) {
      if (const std::uint64_t piece = at / interleave_; piece % stacks_ != 0) {
        at = (piece / stacks_ + 1) * stacks_ * interleave_;  // other stacks' bursts need not be looked at
        if (at >= end) break;
      }
      const dram::Location location = map_.locate(at);
      if (location.channel == 0) replay_.request(write, location, partial);
    }
  }
  /// A random multiple of `bytes` from which on some burst lies here.
  std::uint64_t place(std::uint64_t bytes) {
    const dram::Geometry& g = memory_.config().device.geometry;
    dram::Location location;
    location.pseudo_channel = static_cast<std::uint8_t>(below(g.pseudo_channels));
    location.bank = static_cast<std::uint8_t>(below(g.all_banks()));
    location.column = static_cast<std::uint16_t>(below(columns_));
    location.row = static_cast<std::uint32_t>(below(g.rows));
    return map_.address(location) / bytes * bytes;
  }
  bool chance(int quarters) { return below(4) < static_cast<std::uint64_t>(quarters); }
  [[nodiscard]] std::uint64_t half() const { return map_.capacity() / 2; }

  /// The mean of random reads, each long after the one before.
  Time idle_read() {
    constexpr int kReads = 64;
    for (int i = 1; i <= kReads; ++i) {
      replay_.request(false, map_.locate(place(burst_)), Time(1'000'000) * i);
    }
    replay_.finish();
    return Time(static_cast<std::int64_t>(replay_.read_latency().mean_ps()));
  }

 private:
  [[nodiscard]] double spent_by_commands() const {
    return energy_of(memory_.counters(), memory_.config().device, Time()).commands() * 1e-12;
  }
  std::uint64_t below(std::int64_t count) { return random_.next() % static_cast<std::uint64_t>(count); }
  static dram::MemoryConfig alone(dram::MemoryConfig config) {
    config.stacks = 1;
    config.device.geometry.channels = 1;
    config.mapping = "burst";  // requests come with their places
    config.hash = "off";
    return config;
  }
  static std::int64_t data_columns(const dram::MemoryConfig& config) {
    const int covers = config.controller.inline_covers();
    return config.device.geometry.columns / (covers + 1) * std::max(1, covers);
  }

  dram::AddressMap map_;
  dram::MemorySystem memory_;
  dram::Replay replay_;
  Random random_;
  std::uint64_t burst_;
  std::uint64_t stacks_;
  std::uint64_t interleave_;
  Time refresh_;
  double peak_;
  std::int64_t columns_;  ///< with data
};

std::map<std::string_view, const KnownStreams*>& provided() {
  static std::map<std::string_view, const KnownStreams*> all;
  return all;
}

/// Null if it has to be measured.
const KnownStreams* find_known(const dram::MemoryConfig& config) {
  if (provided().empty()) return nullptr;
  const auto found = provided().find(configuration_text(config));
  return found == provided().end() ? nullptr : found->second;
}

}  // namespace

StreamModel::StreamModel(const dram::MemoryConfig& config) : config_(config) {
  const KnownStreams* known = find_known(config);
  if (known == nullptr) {
    read_ = Channel(config).idle_read();
    return;
  }
  read_ = Time(known->read_ps);
  for (std::size_t size = 0; size < measured_.size(); ++size) {
    for (std::size_t share = 0; share < kShares; ++share) {
      // What a byte takes is asked for where all is read or all written (byte_energy).
      measured_[size][share] = {known->sustained[size][share], known->byte_energy[size][share == 0 ? 0 : 1]};
    }
  }
}

double StreamModel::sustained(std::size_t size, std::size_t share) const {
  return measured(size, share).share;
}

double StreamModel::byte_energy(std::size_t size, bool write) const {
  return measured(size, write ? kShares - 1 : 0).energy;
}

const StreamModel::Measured& StreamModel::measured(std::size_t size, std::size_t share) const {
  std::optional<Measured>& known = measured_[size][share];
  if (known) return *known;
  Channel channel(config_);
  const auto quarters = static_cast<int>(share);
  if (size < kSizes.size()) {
    const auto bytes = static_cast<std::uint64_t>(kSizes[size]);
    known = channel.sustained([&] { channel.send(channel.chance(quarters), channel.place(bytes), bytes); });
    return *known;
  }
  std::uint64_t read = 0;
  std::uint64_t written = 0;
  int turn = 0;
  known = channel.sustained([&] {
    const bool write = turn < quarters;
    turn = (turn + 1) % 4;
    std::uint64_t& next = write ? written : read;
    channel.send(write, (write ? channel.half() : 0) + next, kPiece);
    next += kPiece;
  });
  return *known;
}

double StreamModel::partial_writes() const {
  if (config_.controller.ecc.mode == dram::EccMode::kOff) return 0;
  if (const KnownStreams* known = find_known(config_)) return known->partial_writes;
  Channel channel(config_);
  const auto bytes = static_cast<std::uint64_t>(burst().count());
  return channel.sustained([&] { channel.send(true, channel.place(bytes), bytes, true); }).share;
}

std::shared_ptr<const StreamModel> stream_model(const dram::MemoryConfig& config) {
  static std::map<std::string, std::shared_ptr<const StreamModel>> models;
  std::shared_ptr<const StreamModel>& model = models[configuration_text(config)];
  if (model == nullptr) model = std::make_shared<const StreamModel>(config);
  return model;
}

std::string configuration_text(const dram::MemoryConfig& config) {
  Values values;
  dram::MemoryConfig(config).fields(values);
  return values.text;
}

KnownStreams measure_streams(const dram::MemoryConfig& config) {
  const StreamModel model(config);
  KnownStreams known = {{}, model.read().count(), model.partial_writes(), {}, {}};
  for (std::size_t size = 0; size < KnownStreams::kSizes; ++size) {
    for (std::size_t share = 0; share < StreamModel::kShares; ++share) {
      known.sustained[size][share] = model.sustained(size, share);
    }
    known.byte_energy[size] = {model.byte_energy(size, false), model.byte_energy(size, true)};
  }
  return known;
}

void provide_streams(std::span<const KnownStreams> known) {
  provided().clear();
  for (const KnownStreams& each : known) provided().emplace(each.configuration, &each);
}

}  // namespace weft::memory
