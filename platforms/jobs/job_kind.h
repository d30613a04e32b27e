// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "hw/core/config/any_config.h"
#include "hw/core/config/registry.h"
#include "platforms/jobs/job.h"
#include "platforms/machine/platform.h"
#include "sw/models/named_model.h"

/// Kinds of workload by the names that `workload.kind` gives them. Weft's own are listed in job_kinds.cpp; a user
/// provides others before the platform is read:
///
///     platforms::provide_job("my-kind", "What it does.", MyConfig(),
///                            [](platforms::Platform&, const MyConfig& config) {
///                              return std::make_unique<MyJob>(config);
///                            });
namespace weft::platforms {

/// A member of `workload` that no Config can have, such as an object whose keys are a user's: the kind's `make` reads
/// it.
struct WorkloadMember {
  std::string name;
  std::string type;  ///< for people: "object"
  std::string doc;
  nlohmann::ordered_json schema;  ///< JSON Schema of its value
  bool is_required = false;
};

struct JobKind {
  std::string name;
  std::string doc;   ///< a sentence, above its fields in the reference
  AnyConfig config;  ///< its fields, in `workload`
  /// Made of the fields as they were read. What else it reads of `workload` it reads here, and `more` lists it. Throws
  /// InputError and ConfigError.
  std::function<std::unique_ptr<Job>(Platform&, const AnyConfig&)> make;
  std::vector<WorkloadMember> more;
  /// Whether its workloads can name such a model; empty: they name none.
  std::function<bool(const models::AnyModel&)> takes_model;
};

/// `make(Platform&, const C&)` makes a Job.
template <ConfigStruct C, typename Make>
[[nodiscard]] JobKind job_kind(std::string name, std::string doc, C config, Make make,
                               std::vector<WorkloadMember> more = {}) {
  return {std::move(name),
          std::move(doc),
          std::move(config),
          [make = std::move(make)](Platform& platform, const AnyConfig& read) -> std::unique_ptr<Job> {
            return make(platform, read.as<C>());
          },
          std::move(more),
          {}};
}

/// Adds a user's own. Throws std::invalid_argument for a name that is taken.
void provide(JobKind kind);
template <ConfigStruct C, typename Make>
void provide_job(std::string name, std::string doc, C config, Make make, std::vector<WorkloadMember> more = {}) {
  provide(job_kind(std::move(name), std::move(doc), std::move(config), std::move(make), std::move(more)));
}

/// All there are.
[[nodiscard]] const Registry<JobKind>& job_kinds();

/// The job of the platform's `workload`. Throws InputError, and what the kind does.
[[nodiscard]] std::unique_ptr<Job> make_job(Platform& platform);

}  // namespace weft::platforms
