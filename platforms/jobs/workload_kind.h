// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "platforms/config/field_visitor.h"
#include "platforms/jobs/job.h"

namespace weft::platforms {

/// What `workload.kind` can be on a machine.
struct WorkloadKind {
  std::string_view name;
  std::string_view doc;
  /// Visits what else such a workload has, with the defaults.
  void (*fields)(FieldVisitor& visitor);
  std::unique_ptr<Job> (*make)(Platform& platform);
};

std::span<const WorkloadKind> workload_kinds();

/// What the platform's workload is. Throws InputError where there is none, or one of another kind.
std::unique_ptr<Job> make_job(Platform& platform);

}  // namespace weft::platforms
