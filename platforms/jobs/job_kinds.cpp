// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>
#include <utility>

#include "platforms/config/text.h"
#include "platforms/jobs/job_kind.h"
#include "traces/nearest_names.h"

namespace weft::platforms {

/// Weft's own, in the order in which messages list them: for each NAME, NAME_job() of the kind's own file.
#define WEFT_JOBS(EACH) \
  EACH(fsdp)            \
  EACH(kfac)            \
  EACH(transformer)     \
  EACH(chakra)

#define WEFT_DECLARE(NAME) JobKind NAME##_job();
WEFT_JOBS(WEFT_DECLARE)
#undef WEFT_DECLARE

namespace {

Registry<JobKind>& known_kinds() {
#define WEFT_MAKER(NAME) NAME##_job,
  static Registry<JobKind> all("kind of workload", {WEFT_JOBS(WEFT_MAKER)});
#undef WEFT_MAKER
  return all;
}

[[noreturn]] void fail_unknown_kind(const Node& kind, const std::string& got) {
  const std::vector<std::string> names = known_kinds().names();
  traces::NearestNames near(got);
  std::string expected;
  for (std::size_t i = 0; i < names.size(); ++i) {
    near.look_at(names[i]);
    if (i > 0) expected += i + 1 == names.size() ? " or " : ", ";
    expected += in_quotes(names[i]);
  }
  kind.fail(expected, in_quotes(got) + near.question());
}

}  // namespace

nlohmann::ordered_json Job::finished() const {
  return nlohmann::ordered_json::object();
}

void provide(JobKind kind) {
  known_kinds().provide(std::move(kind));
}

const Registry<JobKind>& job_kinds() {
  return known_kinds();
}

std::unique_ptr<Job> make_job(Platform& platform) {
  const Node workload = platform.workload();
  // A misspelt key may be why it is not there, and says more.
  if (!workload.exists()) platform.document().check_unused();
  if (!workload.exists()) workload.fail("what to run, such as {\"kind\": \"fsdp\", \"model\": \"llama3-8b\"}");
  const auto name = workload.require<std::string>("kind");
  const JobKind* kind = job_kinds().find(name);
  if (kind == nullptr) fail_unknown_kind(workload.child("kind"), name);
  AnyConfig config = kind->config;
  workload.read(config);
  return kind->make(platform, config);
}

}  // namespace weft::platforms
