// SPDX-License-Identifier: Apache-2.0
#include "sw/workloads/workload.h"

#include <system_error>
#include <utility>

#include "sw/workloads/step/step.h"
#include "traces/chakra/ranks.h"
#include "traces/chakra/writer.h"

namespace weft::workloads {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, kPurposes> kPurposeNames = {
    "tensor_parallel", "context_parallel", "expert_parallel", "pipeline",
    "parameters",      "gradients",        "tied_embedding",  "optimizer"};

WorkloadConfig checked(WorkloadConfig config) {
  config.check();
  config.spreads = config.spread();
  return config;
}

/// Removes files unless they are kept.
class NewFiles {
 public:
  NewFiles() = default;
  ~NewFiles() {
    std::error_code ignored;
    for (const fs::path& file : files_) fs::remove(file, ignored);
  }
  NewFiles(const NewFiles&) = delete;
  NewFiles& operator=(const NewFiles&) = delete;

  void add(fs::path file) { files_.push_back(std::move(file)); }
  void keep() { files_.clear(); }

 private:
  std::vector<fs::path> files_;
};

}  // namespace

std::string_view name_of(Purpose purpose) {
  return kPurposeNames[static_cast<std::size_t>(purpose)];
}

TransformerWorkload::TransformerWorkload(WorkloadConfig config)
    : config_(checked(std::move(config))), groups_(config_) {}

RankSums TransformerWorkload::generate(std::int64_t rank, const std::function<void(const chakra::Node&)>& take,
                                       TakeMark mark) const {
  return RankStep(config_, groups_, rank, take, std::move(mark)).run();
}

std::vector<RankSums> write_workload(const TransformerWorkload& workload, const fs::path& prefix, GraphReader* reader) {
  chakra::Metadata metadata;
  metadata.version = "1.0.0";
  metadata.attributes = {chakra::Attribute::text("source", workload.config().model.name),
                         chakra::Attribute::text("parallelism", workload.config().parallel.text())};
  NewFiles files;
  std::vector<RankSums> sums;
  for (std::int64_t rank = 0; rank < workload.ranks(); ++rank) {
    const fs::path file = chakra::rank_file(prefix, static_cast<std::uint64_t>(rank));
    chakra::TraceWriter writer(file, metadata);
    const auto number = static_cast<std::size_t>(rank);
    const auto take = [&](const chakra::Node& node) {
      writer.write(node);
      if (reader != nullptr) reader->node(number, node);
    };
    const auto mark = [&](const Mark& each) { reader->mark(number, each); };
    sums.push_back(workload.generate(rank, take, reader != nullptr ? TakeMark(mark) : TakeMark()));
    writer.close();
    files.add(file);
  }
  const std::vector<chakra::RankGroup> groups = workload.groups();
  if (!groups.empty()) chakra::write_groups(chakra::groups_file(prefix), groups);
  files.keep();
  return sums;
}

}  // namespace weft::workloads
