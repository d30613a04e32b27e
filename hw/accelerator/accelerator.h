// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <tlm>
#include <vector>

#include "hw/accelerator/command.h"
#include "hw/accelerator/compute_config.h"
#include "hw/accelerator/kernel_kinds.h"
#include "hw/core/dispatcher.h"
#include "hw/core/fifo.h"
#include "hw/core/memory_master.h"
#include "hw/core/probe.h"
#include "hw/core/register_file.h"
#include "hw/core/slots.h"
#include "hw/core/stall.h"

namespace weft::accelerator {

/// Time that an accelerator called `name` takes to compute, in millionths of its part's. Speeds are drawn from nearly a
/// normal distribution with a standard deviation of `spread`, and are never below half.
[[nodiscard]] std::int64_t draw_pace(double spread, std::uint64_t seed, const std::string& name);
constexpr std::int64_t kEvenPace = 1'000'000;

/// The computing part of an accelerator: a command processor with streams and semaphores, the core array, copy engines.
///
/// A kernel keeps the core array for `launch`, then for the longer of its computing and its memory traffic. Both are
/// cut into slices of about `slice`, a million at the most, whose traffic is requested from the memory one slice ahead,
/// so that DMA, copy engines and kernels compete there: a kernel bound by memory ends later when the NIC is busy.
///
/// A kernel has the whole array, or `cores` of its SMs: kernels of several streams run side by side while their cores
/// fit, and start in the order in which they become ready, so that one that does not fit yet holds back those behind
/// it. The sender gives the time that a kernel computes on fewer cores (see partition() in compute_config.h).
///
/// A copy engine stands for one core of those that communication kernels use: it moves or adds at `copy_rate`, reads
/// and writes the memory, and needs `copy_overhead` each time, unless flags come with the data. Words with flags are
/// few: it finds them in the last-level cache, adds to them what it has loaded before, and stores them, which takes the
/// rate for data and flags alone. Lines with flags can be many, and go through the memory. With `shared_cores` these
/// are SMs of the array: a slice that begins while n of them work, or are kept (kKeepCores), takes sms / (sms - n)
/// times as long to compute, or as many more whole waves as a kernel's `tiles` then take. A collective's kernel gets
/// SMs when blocks end, which is with the wave where each does a tile, and at once where they are short.
///
/// A persistent kernel loses more: its blocks do not pass work on to each other. Those whose SMs a collective's kernel
/// keeps run when it has returned them, or after the others, and take as long, so that the kernel takes up to twice its
/// time (pytorch issue 143988, of FSDP on H100; NVIDIA's developer forum, topic 337991). A collective's kernel in turn
/// waits for SMs that such a kernel's first blocks have.
///
/// A DMA engine (`dma`) copies beside the cores and takes none of them: it is numbered behind the copy engines, adds
/// nothing, and has a start and a rate of its own. What it copies to other accelerators goes through the interface to
/// them; firmware has it wait for `start` before each of these copies (sw/collectives/nccl/engine_copies.h).
///
/// The addresses of a kernel's operands are not known. With `place_kernels` kernels read sequential streams through the
/// lower half of the memory and write through its upper half. Each slice goes on where the one before it ended, from
/// kernel to kernel, and begins anew at the end of its half.
///
/// Accelerators of one kind are not equally fast: with `speed_spread` each draws its speed of computing from the
/// platform's seed and its name. HBM has the same speed on all.
///
/// Function: kCopy and kReduce move and add real bytes when `data` is on. Kernels have no function.
///
/// Sockets: `registers` takes Command writes at kCommandWindow; `compute` and `copy` reach the memory; `completion`
/// writes Done entries.
///
/// Left out: which SMs a kernel has, preemption, energy of copies and of what the NIC moves.
class Accelerator final : public sc_core::sc_module, public EventTarget {
 public:
  struct DmaConfig {
    int engines = 0;
    Time start = Time(1'000'000);
    Rate local_rate = Rate(100LL * 8'000'000'000);

    template <typename Visitor>
    void fields(Visitor&& visit) {
      visit("engines", engines,
            "DMA engines, which copy for collectives and take no cores (collectives.nccl.cta_policy); 0: none that "
            "collectives can use",
            Range{0, 64});
      visit("start", start, "Time from one copy of a batch to the beginning of the next", Range{0, 1'000'000'000});
      visit("local_rate", local_rate, "Rate of a copy within the accelerator's own memory",
            Range{1'000'000'000, 1LL << 60});
    }
  };
  struct Config {
    ComputeConfig compute;
    int streams = 4;
    int copy_engines = 16;
    Rate copy_rate = Rate(50LL * 8'000'000'000);
    Time copy_overhead = Time(1'000'000);
    DmaConfig dma;
    Time slice = Time(50'000'000);
    bool shared_cores = false;
    Time relay;
    Time word_relay;
    Time line_relay;
    Time line_latency;
    double speed_spread = 0;

    template <typename Visitor>
    void fields(Visitor&& visit) {
      visit("compute", compute, "The core array");
      visit("streams", streams, "Command streams", Range{3, 64});
      visit("copy_engines", copy_engines, "Cores that move and add data for collectives", Range{1, 256});
      visit("copy_rate", copy_rate, "Rate at which one copy engine produces bytes", Range{1'000'000'000, 1LL << 60});
      visit("copy_overhead", copy_overhead, "Time to start and end one transfer, with its flags",
            Range{0, 1'000'000'000});
      visit("dma", dma, "Engines that copy beside the cores");
      visit("slice", slice, "Time slice in which kernels compete for memory", Range{1'000'000, 1'000'000'000'000});
      visit("shared_cores", shared_cores,
            "Collectives are kernels: copy engines are SMs that other kernels cannot use meanwhile, and rings pass "
            "through staging buffers");
      visit("relay", relay,
            "Delay of one hop of a collective kernel over the network: kernel to host thread to NIC, plus peer NIC to "
            "peer kernel",
            Range{0, 1'000'000'000});
      visit("word_relay", word_relay,
            "The same of messages with a flag in each word (NCCL's LL), which the peer's kernel polls",
            Range{0, 1'000'000'000});
      visit("line_relay", line_relay, "The same of messages with a flag in each line (LL128)", Range{0, 1'000'000'000});
      visit("line_latency", line_latency,
            "Extra time of a hop with a flag in each line (NCCL's LL128) over a hop with a flag in each word (LL)",
            Range{0, 1'000'000'000});
      visit("speed_spread", speed_spread,
            "Standard deviation of the accelerators' speeds, as a share of the speed, up to 0.1");
    }
  };
  struct Counters {
    std::int64_t kernels = 0;
    Time busy;        ///< the core array had a kernel
    Time computing;   ///< of that, what its arithmetic alone needs
    Time taken;       ///< from each kernel's beginning to its end, summed up
    Time calculated;  ///< of these, those that move nothing: what they take alone
    std::vector<std::int64_t>
        of_kind;                      ///< the others by KernelKinds' number; kernels of kinds beyond are not in `taken`
    std::vector<Time> taken_of_kind;  ///< of `taken`, by the same number
    std::int64_t of_no_kind = 0;      ///< but here
    double energy = 0;                ///< joules of the kernels' operations
    std::int64_t cached_bytes = 0;    ///< that kernels asked of the last-level cache
    std::int64_t missed_bytes = 0;    ///< of these, what HBM moved
    std::int64_t copies = 0;
    std::int64_t copied_bytes = 0;
    std::vector<Time> copying;  ///< by engine, with starts and ends, as long as memory does not hold it up
    /// By semaphore: what streams that had come to a wait for it stood there while the core array had no kernel.
    std::vector<Time> waited;
  };

  Accelerator(sc_core::sc_module_name name, const Config& config, Dispatcher& dispatcher, bool data,
              const Stall::Config& stall);
  ~Accelerator() override;

  tlm::tlm_target_socket<64> registers;
  tlm::tlm_initiator_socket<64> compute;
  tlm::tlm_initiator_socket<64> copy;
  tlm::tlm_initiator_socket<64> completion;

  [[nodiscard]] const Config& config() const { return config_; }
  [[nodiscard]] const Counters& counters() const { return counters_; }
  /// Counters::busy up to now, a kernel that is under way included.
  [[nodiscard]] Time busy(Time now) const {
    return counters_.busy + (free_cores_ < config_.compute.sms ? now - counted_ : Time());
  }
  [[nodiscard]] std::uint64_t semaphore(std::uint32_t index) const {
    return index < semaphores_.size() ? semaphores_[index] : 0;
  }
  /// Kinds of the kernels that move something.
  [[nodiscard]] const KernelKinds& kinds() const { return kinds_; }
  /// What uses it begins now: where the critical path is kept, what its array waits for counts from here on.
  void expect_kernels(Time now) { idle_since_ = now; }
  void record(Probe& probe, const std::string& process);
  void end_recording() { probe_ = nullptr; }

  /// Before the simulation: how it speaks to a memory of `capacity` that asks for phases and addresses. Without it all
  /// that kernels move has address 0.
  void use_phases() {
    compute_master_.use_phases();
    copy_master_.use_phases();
  }
  void place_kernels(Bytes capacity);

  /// Streams that are not empty, one line each with what they wait for.
  [[nodiscard]] std::vector<std::string> left_over() const;

  void on_event(Time now, std::uint32_t tag, std::uint64_t data) override;
  [[nodiscard]] CauseKind cause(std::uint32_t tag) const override;

 private:
  void end_of_elaboration() override {
    compute_master_.resolve();
    copy_master_.resolve();
  }

  struct Stream {
    std::deque<Command> queue;
    std::deque<Time> accepted;    ///< when they came, while somebody records
    std::uint64_t follows = 0;    ///< the arrow to its next kernel
    bool at_array = false;        ///< its first command is a kernel that runs or waits for the array
    bool at_engine = false;       ///< its first command is with a copy engine
    Time blocked_since = kNever;  ///< at a wait
    Time busy_before;             ///< what the array had been busy by then
  };
  /// A stream of what kernels read or write.
  struct Region {
    std::uint64_t begin = 0;
    std::uint64_t size = 0;  ///< 0: everything lies at `begin`
    std::uint64_t next = 0;  ///< from `begin`
    std::uint64_t take(std::uint64_t bytes);
  };
  struct Running {
    bool active = false;
    std::uint32_t stream = 0;
    std::int64_t cores = 0;
    std::int64_t blocks = 0;  ///< of a persistent one
    std::int64_t late = 0;    ///< of its blocks, those whose SMs are kept by others
    Time late_from = kNever;  ///< when the last of them could begin
    std::int64_t tiles = 0;   ///< of one that goes wave by wave
    Time wave_from;           ///< when the last of its waves began
    Time asked = kNever;      ///< when it was handed over, and the arrow to it, for pictures
    std::uint64_t follows = 0;
    Time began;
    Time computing_from;  ///< after the launch
    std::int64_t slices = 0;
    std::int64_t done = 0;
    std::int64_t requested = 0;
    Time memory_ready[2];    ///< of the slices requested, by parity; kNever until it is known
    Time computed = kNever;  ///< of the slice under way, while it waits for that
    Time slice_from;         ///< when the slice under way began
    // Of a kernel that a cap slows down, for the critical path:
    Time memory_from;  ///< when the memory was asked for the slice under way
    Time moved;        ///< when it had moved the slice before
    Time capped;       ///< what the cap has added
  };

  struct Engine {
    Fifo<std::uint32_t> copies;  ///< slots of `copies_`, the first one running unless `free_at` is to come
    Time free_at;                ///< after a copy whose end everybody has been told before
  };

  bool write_command(const void* data, std::uint32_t bytes, Time at);
  /// A copy that will find its engine idle begins with no event of its own: memory is asked a little ahead of the time.
  [[nodiscard]] bool starts_ahead(const Command& command, Time at) const;
  static std::int64_t waves(std::int64_t tiles, std::int64_t cores) { return (tiles + cores - 1) / cores; }
  void mark(CauseKind kind, Time until) const;
  void mark_slice(Running& kernel, Time computed) const;
  void accept(Time now, const Command& command);
  void advance(Time now, std::uint32_t stream);
  static void take_first(Stream& stream);
  void draw_wait(Stream& stream, const Command& command);
  void start_kernels(Time now);
  void start_kernel(Time now, std::uint32_t stream, std::int64_t cores);
  void request_slice(Running& kernel, Time at);
  void expect_slice(std::uint32_t slot, Time computed);
  void count(Time now, const Running& kernel, const Command& command);
  void next_slice(Time now, std::uint32_t slot);
  [[nodiscard]] Time slice_length(const Running& kernel, std::int64_t slice) const;
  /// Of `computing` picoseconds of a kernel, what a slice has at this accelerator's speed.
  [[nodiscard]] Time part_of_slice(const Running& kernel, std::int64_t slice, std::int64_t computing) const;
  void count_busy(Time now);
  void signal(Time now, std::uint32_t semaphore, std::uint64_t value);
  void end_wave(Time now, Running& kernel);  ///< if the slice that has ended was a wave's last
  void keep_cores(Time now, const Command& command);
  void grant_cores(Time now);  ///< to those that ask, in their order, as far as there are any
  /// Until they end, blocks of it have more than `cores` SMs.
  [[nodiscard]] bool fills(const Running& kernel, Time now, std::int64_t cores) const;
  void return_cores(Time now, std::int64_t cores);
  void queue_copy(Time now, const Command& command);
  [[nodiscard]] bool works(const Engine& engine) const {
    return !engine.copies.empty() || engine.free_at > dispatcher_.now();
  }
  void start_copy(Time now, std::uint32_t slot);
  [[nodiscard]] bool is_dma(const Command& command) const {
    return command.engine >= static_cast<std::uint32_t>(config_.copy_engines);
  }
  void start_next(Time now, Engine& engine);
  void finish_copy(const Command& command);
  void end_copy(Time now, std::uint32_t slot);
  void notify(Time at, const Command& command);

  Config config_;
  Dispatcher& dispatcher_;
  bool data_;
  Stall stall_;
  RegisterFile register_file_;
  MemoryMaster compute_master_;
  MemoryMaster copy_master_;
  BlockingInitiator initiator_;
  Region reads_;
  Region writes_;
  ByteTime copy_time_;
  ByteTime dma_time_;
  std::vector<Stream> streams_;
  std::deque<std::uint32_t> array_queue_;  ///< streams whose first command is a kernel, in order of readiness
  std::vector<Running> running_;           ///< slots are reused
  std::int64_t pace_;
  std::int64_t free_cores_ = 0;
  std::int64_t kept_cores_ = 0;  ///< by kernels of collectives
  std::deque<Command> asking_;   ///< for cores to keep
  Time counted_;                 ///< `busy` is up to date until here
  Time idle_since_;              ///< the array has had no kernel, if it has none
  std::vector<std::uint64_t> semaphores_;
  std::vector<Engine> engines_;                             ///< copy engines, and behind them DMA engines
  std::deque<std::pair<std::uint64_t, Command>> arriving_;  ///< written, with a delay that is not over
  std::uint64_t next_key_ = 0;
  struct Copy {
    Command command;
    Time moved;  ///< by the engine
  };
  Slots<Copy> copies_;  ///< with the engines
  tlm::tlm_generic_payload payload_;
  Counters counters_;
  KernelKinds kinds_;
  Probe* probe_ = nullptr;
  std::vector<std::uint64_t> waits_drawn_;  ///< by semaphore
  std::string process_;
  std::vector<int> kernel_tracks_;  ///< by slot
};

}  // namespace weft::accelerator
