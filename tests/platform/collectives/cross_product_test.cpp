// SPDX-License-Identifier: Apache-2.0
// Collectives of any algorithm on machines of any kind, with real bytes: they end with the right bytes at every member
// and none touched beyond, or a field is named before anything runs. WEFT_TEST_SEED repeats one draw.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "platforms/config/document.h"
#include "platforms/jobs/collective_run.h"
#include "platforms/machine/machine.h"
#include "sw/collectives/reference.h"
#include "tests/support/kernel.h"
#include "tests/support/random_collective.h"

namespace weft::platforms {
namespace {

using collectives::Communicator;
using collectives::Reference;
using collectives::Rooted;
using dimensions::Operation;
using firmware::Task;
using test::RandomCollective;

/// Memory of every rank, with margins that nothing may touch.
class Buffer {
 public:
  Buffer(Machine& machine, std::uint64_t bytes) : machine_(machine), bytes_(bytes) {
    address_ = firmware::allocate_together(machine.ranks(), "a buffer", bytes + 2 * kMargin) + kMargin;
  }
  [[nodiscard]] std::uint64_t address() const { return address_; }

  void clear() {
    const std::vector<std::byte> noise(bytes_ + 2 * kMargin, kNoise);
    for (int r = 0; r < machine_.size(); ++r) {
      machine_.memory(r).store().write(address_ - kMargin, noise.data(), noise.size());
    }
  }
  /// Bytes other than the first `used` that are not as clear() left them.
  [[nodiscard]] std::int64_t touched(int rank, std::uint64_t used) const {
    const std::vector<std::byte> all = read(rank, address_ - kMargin, bytes_ + 2 * kMargin);
    const auto is_touched = [](std::byte byte) { return byte != kNoise; };
    const auto first = all.begin() + kMargin;
    return std::count_if(all.begin(), first, is_touched) +
           std::count_if(first + static_cast<std::ptrdiff_t>(used), all.end(), is_touched);
  }
  [[nodiscard]] std::vector<std::byte> read(int rank, std::uint64_t address, std::uint64_t bytes) const {
    std::vector<std::byte> data(bytes);
    machine_.memory(rank).store().read(address, data.data(), bytes);
    return data;
  }

 private:
  static constexpr std::uint64_t kMargin = 512;
  static constexpr std::byte kNoise{0x5a};

  Machine& machine_;
  std::uint64_t bytes_;
  std::uint64_t address_;
};

/// One communicator's collective.
struct Part {
  CollectiveOp op;
  std::vector<int> ranks;
  std::uint64_t seed;
  Communicator communicator;
  Buffer input;
  Buffer output;
  Time ended;

  [[nodiscard]] int size() const { return static_cast<int>(ranks.size()); }
};

std::optional<Rooted> rooted_of(CollectiveOp op) {
  for (const auto& [name, what] : enum_names(Rooted{})) {
    if (name == name_of(op)) return what;
  }
  return std::nullopt;
}

std::optional<Operation> operation_of(CollectiveOp op) {
  for (const auto& [name, what] : enum_names(Operation{})) {
    if (name == name_of(op)) return what;
  }
  return std::nullopt;
}

/// Runs what was drawn.
class Run {
 public:
  Run(Machine& machine, const RandomCollective& drawn) : machine_(machine), drawn_(drawn) {
    std::vector<CollectiveOp> ops = {drawn.op};
    if (drawn.op == CollectiveOp::kAllgatherReduceScatter)
      ops = {CollectiveOp::kAllgather, CollectiveOp::kReduceScatter};
    const std::uint64_t largest = *std::max_element(drawn.sizes.begin(), drawn.sizes.end());
    for (const std::vector<int>& ranks : drawn.groups) {
      std::vector<firmware::Rank*> members;
      for (const int rank : ranks) members.push_back(&machine.rank(rank));
      for (const CollectiveOp op : ops) {
        const std::string name = "collectives " + std::to_string(parts_.size());
        parts_.push_back(std::unique_ptr<Part>(new Part{op, ranks, 1000 * parts_.size(),
                                                        Communicator(members, machine.config().collectives, name),
                                                        Buffer(machine, largest), Buffer(machine, largest), Time()}));
        check_possible(*parts_.back());
        threads_ += ranks.size();
      }
    }
    for (int r = 0; r < machine.size(); ++r) {
      gates_.push_back(std::make_unique<firmware::Counter>(*machine.rank(r).processor, "the other ranks"));
    }
  }

  void operator()() {
    int core = 0;
    for (const auto& part : parts_) {
      for (int m = 0; m < part->size(); ++m) {
        const int rank = part->ranks[static_cast<std::size_t>(m)];
        machine_.rank(rank).processor->spawn("rank " + std::to_string(rank), core, thread(*part, m));
      }
      ++core;
    }
    machine_.run();
    EXPECT_EQ(turn_ + 1, drawn_.sizes.size()) << "the last turn was not the last one";
  }

 private:
  void check_possible(const Part& part) const {
    if (const auto operation = operation_of(part.op)) part.communicator.check(*operation);
    if (part.op == CollectiveOp::kBarrier) part.communicator.check_barrier();
    if (const auto rooted = rooted_of(part.op); rooted && !part.communicator.has(*rooted)) {
      throw ConfigError("collectives.algorithm", "expected another, which has a " + std::string(name_of(part.op)));
    }
  }

  [[nodiscard]] std::uint64_t unit() const { return size_of(drawn_.type); }
  [[nodiscard]] std::uint64_t bytes() const { return drawn_.sizes[turn_]; }
  [[nodiscard]] Reference contents(const Part& part) const {
    const Operation operation = operation_of(part.op).value_or(
        part.op == CollectiveOp::kReduce ? Operation::kAllReduce : Operation::kAllgather);
    return {operation, part.size(), bytes(), drawn_.type, part.seed + turn_};
  }

  Task thread(Part& part, int member) {
    const int rank = part.ranks[static_cast<std::size_t>(member)];
    firmware::Processor& processor = *machine_.rank(rank).processor;
    for (std::size_t turn = 0; turn < drawn_.sizes.size(); ++turn) {
      if (++at_start_ == threads_) begin(turn, processor.now());
      co_await gates_[static_cast<std::size_t>(rank)]->reach(turn + 1);
      if (rank == drawn_.late) co_await processor.delay(kLate);
      co_await perform(part, member);
      part.ended = std::max(part.ended, processor.now());
      if (part.op == CollectiveOp::kBarrier && part.size() > 1 && has_late(part)) {
        EXPECT_GE(processor.now(), began_ + kLate) << "left a barrier that not all had entered";
      }
      if (++at_end_ == threads_) check();
    }
  }

  void begin(std::size_t turn, Time now) {
    at_start_ = at_end_ = 0;
    turn_ = turn;
    began_ = now;
    for (const auto& part : parts_) {
      part->input.clear();
      part->output.clear();
      const Reference reference = contents(*part);
      for (int m = 0; part->op != CollectiveOp::kBarrier && m < part->size(); ++m) {
        memory::BackingStore& store = machine_.memory(part->ranks[static_cast<std::size_t>(m)]).store();
        if (part->op == CollectiveOp::kBroadcast || part->op == CollectiveOp::kScatter) {
          reference.fill_broadcast(store, part->input.address(), m, drawn_.root);
        } else {
          reference.fill(store, part->input.address(), m);
        }
      }
    }
    for (const auto& gate : gates_) gate->set(turn + 1);
  }

  Task perform(Part& part, int member) {
    const std::uint64_t input = part.input.address();
    const std::uint64_t output = part.output.address();
    if (const auto rooted = rooted_of(part.op)) {
      return part.communicator.rooted(member, *rooted, drawn_.root, input, bytes(), drawn_.type);
    }
    if (!operation_of(part.op)) return part.communicator.barrier(member);
    switch (*operation_of(part.op)) {
      case Operation::kAllgather:
        return part.communicator.allgather(member, input, bytes(), unit());
      case Operation::kReduceScatter:
        return part.communicator.reduce_scatter(member, input, output, bytes(), drawn_.type);
      case Operation::kAllReduce:
        return part.communicator.all_reduce(member, input, bytes(), drawn_.type);
      case Operation::kAllToAll:
        break;
    }
    return part.communicator.all_to_all(member, input, output,
                                        contents(part).block(0).bytes * static_cast<std::uint64_t>(part.size()));
  }

  [[nodiscard]] bool has_late(const Part& part) const {
    return std::find(part.ranks.begin(), part.ranks.end(), drawn_.late) != part.ranks.end();
  }

  void check() {
    for (const auto& part : parts_) {
      const std::string what = std::string(name_of(part->op)) + " of " + std::to_string(bytes()) + " bytes among " +
                               std::to_string(part->size());
      if (part->size() > 1 && (part->op == CollectiveOp::kBarrier || contents(*part).block(0).bytes > 0)) {
        EXPECT_GT(part->ended, began_) << what << " took no time";
      }
      if (part->op != CollectiveOp::kBarrier) check_contents(*part, what);
      check_untouched(*part, what);
    }
  }

  void check_contents(const Part& part, const std::string& what) const {
    const Reference reference = contents(part);
    const std::uint64_t input = part.input.address();
    const bool moves = part.op == CollectiveOp::kReduceScatter || part.op == CollectiveOp::kAllToAll;
    for (int m = 0; m < part.size(); ++m) {
      const int rank = part.ranks[static_cast<std::size_t>(m)];
      const memory::BackingStore& store = machine_.memory(rank).store();
      std::int64_t wrong = 0;
      if (part.op == CollectiveOp::kBroadcast) {
        wrong = reference.wrong_copy(store, input, {0, bytes()}, drawn_.root);
      } else if (part.op == CollectiveOp::kScatter) {
        wrong = reference.wrong_copy(store, input, reference.block(m), drawn_.root);
      } else if (m > 0 && (part.op == CollectiveOp::kAllReduce || part.op == CollectiveOp::kAllgather)) {
        // As the first member, whose bytes were checked: each by itself would take most of the test's time.
        wrong = part.input.read(rank, input, bytes()) == part.input.read(part.ranks.front(), input, bytes()) ? 0 : 1;
      } else if (m == drawn_.root || (part.op != CollectiveOp::kReduce && part.op != CollectiveOp::kGather)) {
        wrong = reference.wrong(store, moves ? part.output.address() : input, m);
      }
      EXPECT_EQ(wrong, 0) << "elements of rank " << rank << ", " << what;
    }
  }

  void check_untouched(const Part& part, const std::string& what) const {
    const std::uint64_t used = part.op == CollectiveOp::kBarrier ? 0 : bytes();
    for (int r = 0; r < machine_.size(); ++r) {
      const auto member = std::find(part.ranks.begin(), part.ranks.end(), r) - part.ranks.begin();
      const bool is_member = member < part.size();
      std::uint64_t result = 0;
      if (is_member && part.op == CollectiveOp::kReduceScatter) {
        result = contents(part).block(static_cast<int>(member)).bytes;
      } else if (is_member && part.op == CollectiveOp::kAllToAll) {
        result = contents(part).block(0).bytes * static_cast<std::uint64_t>(part.size());
      }
      EXPECT_EQ(part.input.touched(r, is_member ? used : 0), 0)
          << "bytes beyond the buffer of rank " << r << ", " << what;
      EXPECT_EQ(part.output.touched(r, result), 0) << "bytes beyond the output of rank " << r << ", " << what;
    }
  }

  static constexpr Time kLate = Time(7'000'000);

  Machine& machine_;
  const RandomCollective& drawn_;
  std::vector<std::unique_ptr<Part>> parts_;
  std::vector<std::unique_ptr<firmware::Counter>> gates_;  ///< by rank: how many turns may begin
  std::size_t threads_ = 0;
  std::size_t at_start_ = 0;
  std::size_t at_end_ = 0;
  std::size_t turn_ = 0;
  Time began_;
};

/// How many threads wait at a time, and how long an answer takes at worst, only a run knows.
bool is_found_by_running(const ConfigError& error) {
  const std::string& path = error.path();
  return path.ends_with(".wait") || path.ends_with(".completion_queue_depth") || path.ends_with(".ack_timeout");
}

/// What the path names is in the platform, or is an object there.
bool is_field(const Document& document, const std::string& path) {
  const nlohmann::json values = document.effective();
  for (const auto& [name, value] : values.items()) {
    if (name == path || name.starts_with(path + ".")) return true;
  }
  return false;
}

/// Why it was refused; empty if it ran.
std::string run(const RandomCollective& drawn) {
  test::fresh_kernel();
  Document document = Document::from_text(drawn.platform.dump(), "drawn");
  MachineConfig config;
  document.root().read(config);
  config.data = true;
  std::unique_ptr<Machine> machine;
  try {
    machine = std::make_unique<Machine>(config);
    Run all(*machine, drawn);
    all();
  } catch (const ConfigError& error) {
    EXPECT_TRUE(machine == nullptr || machine->dispatcher().handled() == 0 || is_found_by_running(error))
        << "ran before: " << error.what();
    EXPECT_TRUE(is_field(document, error.path())) << error.what();
    return error.what();
  }
  return "";
}

constexpr int kShards = 10;
constexpr std::uint64_t kDraws = 1000;

class CrossProduct : public testing::TestWithParam<int> {};

TEST_P(CrossProduct, EndsWithTheRightBytesOrIsRefused) {
  int ran = 0;
  int refused = 0;
  for (const std::uint64_t seed : test::seeds(kDraws)) {
    if (seed % kShards != static_cast<std::uint64_t>(GetParam())) continue;
    const RandomCollective drawn = test::random_collective(seed);
    SCOPED_TRACE("WEFT_TEST_SEED=" + std::to_string(seed) + ": " + describe(drawn));
    try {
      ++(run(drawn).empty() ? ran : refused);
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  }
  // A refusal is no proof that something else would run.
  if (ran + refused > 20) {
    EXPECT_GE(ran, 3 * refused);
  }
}

INSTANTIATE_TEST_SUITE_P(Draws, CrossProduct, testing::Range(0, kShards));

template <typename E>
std::set<std::string> names_of() {
  std::set<std::string> names;
  for (const auto& [name, value] : enum_names(E{})) names.emplace(name);
  return names;
}

TEST(RandomCollectives, DrawEveryAlgorithmTopologyAndCollective) {
  std::set<std::string> algorithms;
  std::set<std::string> topologies;
  std::set<std::string> ops;
  for (std::uint64_t seed = 1; seed <= kDraws; ++seed) {
    const RandomCollective drawn = test::random_collective(seed);
    algorithms.insert(drawn.platform["collectives"]["algorithm"]);
    topologies.insert(drawn.platform["fabric"]["topology"]);
    ops.emplace(name_of(drawn.op));
  }
  EXPECT_EQ(algorithms, names_of<collectives::AlgorithmName>());
  EXPECT_EQ(topologies, names_of<fabric::Shape>());
  EXPECT_EQ(ops, names_of<CollectiveOp>());
}

}  // namespace
}  // namespace weft::platforms
