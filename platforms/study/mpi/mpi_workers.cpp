// SPDX-License-Identifier: Apache-2.0
#include "platforms/study/mpi/mpi_workers.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "platforms/config/input_error.h"
#include "platforms/results/stopwatch.h"
#include "platforms/study/module.h"
#include "platforms/study/stored_text.h"

namespace weft::study {
namespace {

/// Open MPI waits by asking without a pause, which would take a core from those that simulate.
constexpr auto kPause = std::chrono::milliseconds(1);
constexpr double kLong = 1;
/// How soon one that simulates finds that the dealer ends.
constexpr double kLookEvery = 0.1;
/// Until the dealer ends those that do not.
constexpr double kPatience = 30;
/// What the dealer tells the others at the end, and what they say last.
constexpr const char* kEnd = "";

std::optional<std::pair<int, std::string>> receive_within(const MpiApi& api, double seconds) {
  const platforms::Stopwatch watch;
  for (;;) {
    if (auto received = api.receive()) return received;
    if (watch.seconds() >= seconds) return std::nullopt;
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace

bool is_under_mpi() {
  for (const char* const size : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    const char* const text = std::getenv(size);
    if (text != nullptr && std::atoi(text) > 1) return true;
  }
  return false;
}

MpiWorkers::MpiWorkers() {
  // The dealer is not known yet, and one that is not used costs little.
  local_ = std::make_unique<LocalWorkers>(1);
  const auto api = reinterpret_cast<MpiFunction>(find_in_module("weft_mpi", "weft_mpi"));
  if (api == nullptr) {
    throw platforms::UsageError(
        "expected a Weft built with MPI under mpirun or srun (Debian's packages libopenmpi-dev and openmpi-bin), which "
        "this one is not; without them weft sweep uses the processors of one machine");
  }
  api_ = api();
  api_->begin();
  if (api_->size() < 2) {
    api_->end();
    throw platforms::UsageError("expected two processes or more under mpirun: one deals, the others simulate");
  }
  if (deals()) local_.reset();
}

MpiWorkers::~MpiWorkers() {
  if (deals()) end_others();
  local_.reset();
  api_->end();
}

void MpiWorkers::end_others() {
  for (int to = 1; to < api_->size(); ++to) api_->send(to, kEnd);
  const platforms::Stopwatch watch;
  for (std::size_t ended = 0; ended < count();) {
    const auto received = receive_within(*api_, kLong);
    if (received && received->second == kEnd) ++ended;
    if (watch.seconds() > kPatience) api_->abort();  // one is gone, or hangs
  }
}

void MpiWorkers::serve() {
  try {
    answer();
    api_->send(0, kEnd);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "weft: rank %d: %s\n", api_->rank(), error.what());
    api_->abort();
  }
}

void MpiWorkers::answer() {
  for (;;) {
    const auto received = receive_within(*api_, kLong);
    if (!received) continue;
    if (received->second == kEnd) return;
    const std::uint64_t id = nlohmann::json::parse(received->second).at("id");
    local_->give_line(0, id, received->second);
    std::optional<std::string> line;
    while (!(line = local_->take_line(kLookEvery))) {
      const auto ends = api_->receive();
      if (ends && ends->second == kEnd) return;
    }
    api_->send(0, *line);
  }
}

void MpiWorkers::give(std::size_t worker, std::uint64_t id, const Task& task) {
  api_->send(static_cast<int>(worker) + 1, line_of(id, task));
}

std::optional<Workers::Taken> MpiWorkers::take(double seconds) {
  auto received = receive_within(*api_, seconds);
  if (!received) return std::nullopt;
  return Taken{static_cast<std::size_t>(received->first - 1), answer_of(received->second)};
}

}  // namespace weft::study
