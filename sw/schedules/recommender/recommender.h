// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hw/core/probe.h"
#include "sw/collectives/communicator.h"
#include "sw/firmware/rank.h"
#include "sw/schedules/pipeline/units.h"
#include "sw/schedules/recommender/dlrm.h"

namespace weft::schedules {

struct RecommenderResult {
  std::vector<Time> steps;
  Time step_time;          ///< of the last
  Time exchanging;         ///< of it, what rank 0 waits for AllToAlls, both ways
  Time waiting_gradients;  ///< and for gradients' sums beyond that
  std::vector<double> losses;
  std::int64_t wrong = -1;  ///< -1: nothing was compared
  std::int64_t compared = 0;
};

/// Training steps of a recommender as firmware. Rank by rank: rows of its tables are looked up for all samples and
/// added up beside the bottom perceptron; an AllToAll brings each sample's vectors to the rank that has the sample;
/// vectors interact, and the top perceptron goes on with that, forward and backward; an AllToAll takes gradients back
/// to the tables, whose rows are updated, beside the AllReduce of the perceptrons' gradients, whose weights are then
/// updated. Samples' vectors can travel by their largest numbers alone (`exchanged`), gradients compressed as
/// collectives.compression says.
///
/// With data on all of that has numbers.
class Recommender {
 public:
  /// Throws ConfigError, and std::length_error for what does not fit a memory.
  Recommender(std::vector<firmware::Rank*> ranks, const RecommenderConfig& config,
              const collectives::Communicator::Config& collectives, std::int64_t seed);
  ~Recommender();

  void record(Probe& probe, int ranks);
  void start();
  [[nodiscard]] double progress() const;
  [[nodiscard]] std::vector<Time> step_ends() const;
  /// After the run.
  [[nodiscard]] RecommenderResult result() const;
  [[nodiscard]] const DlrmShape& shape() const { return shape_; }
  /// All kernels of a step.
  [[nodiscard]] std::vector<const StageKernels*> kernels() const { return {&first_, &second_, &third_, &update_}; }
  /// Of a rank's message of gradients, as it travels: all of it where nothing is compressed, and of a compressor by
  /// hops the mean over these. 0 with one rank, which sends none.
  [[nodiscard]] std::uint64_t gradient_bytes() const;
  /// What its communicators do otherwise than configured, a line each.
  [[nodiscard]] std::vector<std::string> remarks() const;
  /// After the run.
  [[nodiscard]] collectives::CompressedAmount compressed() const;
  /// What a rank sends to others in an AllToAll, as it travels.
  [[nodiscard]] std::uint64_t exchange_sent() const;

 private:
  /// What an AllToAll carries: numbers, or pairs of index and value, which no compressor takes.
  [[nodiscard]] collectives::Carries vectors() const;
  struct Member;
  void plan();
  void allocate();
  firmware::Task run(Member& member);
  firmware::Task sum_gradients(Member& member);
  void submit(Member& member, const StageKernels& kernels);
  void draw(Member& member, const char* what, Time from);
  // What memories then hold:
  void look_up_all(Member& member);
  void pass_all(Member& member, int step);
  void take_gradients(Member& member);
  void update(Member& member);
  [[nodiscard]] std::int64_t wrong() const;

  std::vector<firmware::Rank*> ranks_;
  DlrmShape shape_;
  DlrmData data_;
  bool compresses_;
  std::unique_ptr<collectives::Communicator> exchanges_;
  std::unique_ptr<collectives::Communicator> sums_;
  StageKernels first_;   ///< until the first AllToAll
  StageKernels second_;  ///< between the two
  StageKernels third_;   ///< behind the second
  StageKernels update_;  ///< of the perceptrons
  std::vector<std::unique_ptr<Member>> members_;
  std::vector<double> losses_;
  Time started_;
};

}  // namespace weft::schedules
