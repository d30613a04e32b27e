// SPDX-License-Identifier: Apache-2.0
#include "platforms/jobs/workload_kind.h"

#include <string>

#include "platforms/jobs/graph_workload.h"
#include "sw/schedules/fsdp_plan.h"
#include "sw/schedules/graph/graph.h"
#include "sw/schedules/kfac/kfac_config.h"
#include "sw/workloads/options.h"

namespace weft::platforms {
namespace {

template <typename... Configs>
void visit_all(FieldVisitor& visitor) {
  (Configs().fields(visitor), ...);
}

constexpr WorkloadKind kKinds[] = {
    {"fsdp", "Fully sharded data-parallel training of a transformer", visit_all<schedules::FsdpConfig>, make_fsdp_job},
    {"kfac", "Training of a network of layers with second-order methods, or by plain gradients",
     visit_all<schedules::KfacConfig>, make_kfac_job},
    {"transformer", "A training step of a transformer by any product of kinds of parallelism, as an execution graph",
     visit_all<workloads::StepOptions, schedules::GraphConfig>, make_transformer_job},
    {"chakra", "Chakra execution traces", visit_all<TraceFields, schedules::GraphConfig>, make_graph_job}};

}  // namespace

std::span<const WorkloadKind> workload_kinds() {
  return kKinds;
}

std::unique_ptr<Job> make_job(Platform& platform) {
  const Node workload = platform.workload();
  // A misspelt key may be why it is not there, and says more.
  if (!workload.exists()) platform.document().check_unused();
  if (!workload.exists()) workload.fail(R"(what to run, such as {"kind": "fsdp", "model": "llama3-8b"})");
  const auto name = workload.require<std::string>("kind");
  std::string names;
  for (const WorkloadKind& kind : kKinds) {
    if (kind.name == name) return kind.make(platform);
    const bool is_last = &kind == std::end(kKinds) - 1;
    names += std::string(names.empty() ? "" : is_last ? " or " : ", ") + '"' + std::string(kind.name) + '"';
  }
  workload.child("kind").fail(names);
}

}  // namespace weft::platforms
