// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "hw/core/element.h"
#include "hw/core/fields.h"
#include "hw/core/packet.h"
#include "hw/core/quantity.h"

namespace weft {
class Waves;
}  // namespace weft

namespace weft::fabric {

class Planes;

/// The part of a switch that adds packets up instead of passing them on: in-network reduction as SHARP does it (Graham
/// et al., COM-HPC 2016, and ISC 2020 for streaming) and NVLink SHARP.
///
/// A tree is an entry of its table: how many children send operands, and how many chunks may be open. The packets of
/// one chunk, one from each child, are added in the order of the children's ports, whatever order they come in, so that
/// the result is the same bit for bit; one without payload counts and adds nothing. A streaming tree passes the sum on
/// while its operands still arrive; a low-latency tree waits until they are whole.
///
/// This is the table. What adds is a ReductionModel, whose operands and sums have all the room that they need; a
/// ReductionLaneEngine, cycle by cycle, where that room is bounded; or whatever is provided under another name, such as
/// a block of RTL (hw/fabric/reduction/reduction_engines.h).
///
/// Left out: the choice of tree by the subnet manager, and recovery of lost operands: links that carry reductions must
/// not lose packets.
class ReductionEngine {
 public:
  /// What happens in the adders while nobody takes their sums: see vcd::BlockModel.
  enum class Stall : std::uint8_t { kRigid, kElastic };
  /// How they hold beats back, as `weft vcd calibrate` finds it in a waveform.
  struct Pipeline {
    Stall stall = Stall::kRigid;
    Bytes queue;
    bool registered = false;
    bool fall_through = true;
    Bytes depth;
    int pause = 0;

    template <typename Visitor>
    void fields(Visitor&& visit) {
      visit("stall", stall,
            "While the output is blocked: rigid, nothing inside moves; elastic, beats close up until `depth` is full");
      visit("queue", queue,
            "Bytes of an operand that an input accepts before the other operands of its chunk have arrived",
            Range{0, 1 << 24});
      visit("registered", registered, "A freed place of the queue is available from the next cycle on");
      visit("fall_through", fall_through,
            "A beat passes an empty queue in the cycle in which it is accepted; false: it spends one cycle of the "
            "latency there");
      visit("depth", depth,
            "Elastic: operand bytes of a child inside, beyond its queue; 0: as many as the latency fills",
            Range{0, 1 << 24});
      visit("pause", pause, "Cycles between the last beat of a packet and the first of the next, beyond a beat's own",
            Range{0, 1 << 16});
    }
  };
  struct Config {
    int trees = 0;
    int chunks = 4096;
    std::string implementation = "model";
    std::vector<std::string> switches;
    static constexpr Range kClocks{1'000'000, 100'000'000'000};  ///< in Hz
    Frequency clock = Frequency(1'000'000'000);
    int fp32 = 64;
    int fp16 = 64;
    int bf16 = 64;
    int int32 = 64;
    int low_latency_bytes = 64;
    Time latency = Time(200'000);
    Time low_latency = Time(100'000);
    Bytes operand_buffer;
    Bytes sum_buffer;
    Pipeline pipeline;

    template <typename Visitor>
    void fields(Visitor&& visit) {
      visit("trees", trees, "Reduction trees that pass through one switch at a time; 0: the switch cannot reduce",
            Range{0, 1 << 16});
      visit("chunks", chunks, "Operand buffers of one switch: chunks that are open at a time, over all trees",
            Range{1, 1 << 24});
      visit("implementation", implementation,
            "What adds: model, or the name of a block of RTL (rtl comes with Weft). RTL takes its time from clock, not "
            "from the fields below clock");
      visit("switches", switches,
            "Names of the switches that have it, such as spine0; the others have the model; empty: all have it");
      visit("clock", clock, "Clock of the adders", kClocks);
      visit("fp32", fp32, "Operand bytes that a port's adder takes each cycle", Range{1, 1 << 16});
      visit("fp16", fp16, "The same for fp16", Range{1, 1 << 16});
      visit("bf16", bf16, "The same for bf16", Range{1, 1 << 16});
      visit("int32", int32, "The same for int32", Range{1, 1 << 16});
      visit("low_latency_bytes", low_latency_bytes, "The same for any type in a low-latency tree", Range{1, 1 << 16});
      visit("latency", latency, "Time through the adders of a streaming tree", Range{0, 100'000'000});
      visit("low_latency", low_latency, "The same for a low-latency tree, from the last byte on",
            Range{0, 100'000'000});
      visit("operand_buffer", operand_buffer,
            "Buffer of a port for operands that wait for the adders. Operands beyond it stay in the input buffer of "
            "the link and keep their credit. 0: as much as open chunks need",
            Range{0, 1LL << 40});
      visit("sum_buffer", sum_buffer,
            "Buffer for sums that wait for outputs of the switch. While it is full, the adders' output is blocked. 0: "
            "no limit",
            Range{0, 1LL << 40});
      visit("pipeline", pipeline,
            "How the model's adders hold back beats if one of these buffers is limited. Without a limit nothing blocks "
            "the adders, and pipeline has no effect");
    }

    /// Whether something can hold the adders up.
    [[nodiscard]] bool bounded() const { return operand_buffer > Bytes() || sum_buffer > Bytes(); }
  };
  struct Tree {
    std::vector<std::uint16_t> children;  ///< ports, ascending
    int window = 0;                       ///< chunks that may be open
    bool streaming = true;
    bool takes_over = false;  ///< the place of another tree, which it needs no longer
  };
  struct Counters {
    std::int64_t operands = 0;
    std::int64_t operand_bytes = 0;
    std::int64_t most_open = 0;  ///< chunks
    std::int64_t cycles = 0;     ///< of a lane's clock, which stands still while nothing is to do
    std::int64_t blocked = 0;    ///< of these, with a beat of a sum for which the switch had no room
    std::int64_t held = 0;       ///< operands that kept the credit of their link beyond their last byte
  };
  /// What became of an operand.
  struct Outcome {
    Time consumed;          ///< its input buffer is free; kNever: ReductionSite::release will tell
    Packet* sum = nullptr;  ///< if it was the last of its chunk, and the engine knows the sum at once
    Time head;              ///< the sum's first byte
    Time tail;              ///< and last
  };

  ReductionEngine(const ReductionEngine&) = delete;
  ReductionEngine& operator=(const ReductionEngine&) = delete;
  virtual ~ReductionEngine() = default;

  /// Takes the tree into the table under `group`; false if table or buffers have no room.
  bool open(std::uint32_t group, const Tree& tree);
  void close(std::uint32_t group);
  /// Children of one tree that it can serve.
  [[nodiscard]] virtual std::size_t most_children() const { return SIZE_MAX; }

  /// An operand whose first byte came at `now`. From here on the packet is the engine's.
  virtual Outcome take(std::uint32_t group, std::uint16_t port, Packet& packet, Time now) = 0;

  /// It stands for the adders of all planes of its network, of which some may be down: a ReductionModel takes longer
  /// then, by as much as links do. Before the run; they outlive it.
  virtual void spread_over(const Planes& /*planes*/) {}

  /// A sum that it gave has left the switch, with its last copy. `bytes` are those of its payload.
  virtual void left(std::uint32_t /*bytes*/, Time /*gone*/) {}

  /// Tells what its pins show, if anybody wants what is in `scope`. Before the run.
  virtual void record(Waves& waves, const std::string& scope) = 0;

  [[nodiscard]] const Counters& counters() const { return counters_; }
  [[nodiscard]] virtual std::size_t open_chunks() const = 0;

 protected:
  explicit ReductionEngine(const Config& config) : config_(config) {}

  [[nodiscard]] const Config& config() const { return config_; }
  [[nodiscard]] const Tree& tree(std::uint32_t group) const { return entries_[group].tree; }
  [[nodiscard]] static std::size_t child_of(const Tree& tree, std::uint16_t port);
  [[nodiscard]] static std::uint64_t key_of(std::uint32_t group, const Packet& operand) {
    return static_cast<std::uint64_t>(group) << 32 | operand.psn;
  }
  /// Who abstains has sent a header alone.
  [[nodiscard]] static bool adds(const Packet* operand) { return operand->payload_bytes > 0; }
  /// Which operand of a chunk, in the order of children, becomes its sum: the first one that adds, if any does.
  [[nodiscard]] static Packet* sum_of(const std::vector<Packet*>& operands);

  Counters counters_;

 private:
  struct Entry {
    Tree tree;
    bool used = false;
  };

  Config config_;
  std::vector<Entry> entries_;  ///< by group
  int trees_ = 0;
  int windows_ = 0;
};

inline EnumNames<ReductionEngine::Stall> enum_names(ReductionEngine::Stall /*tag*/) {
  return {{"rigid", ReductionEngine::Stall::kRigid}, {"elastic", ReductionEngine::Stall::kElastic}};
}

}  // namespace weft::fabric
