// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "hw/core/config/own_fields.h"
#include "platforms/config/field_visitor.h"
#include "platforms/config/text.h"
#include "platforms/jobs/job_kind.h"
#include "traces/nearest_names.h"

namespace weft::platforms {

/// Weft's own, in the order in which messages list them: for each NAME, NAME_job() of the kind's own file.
#define WEFT_JOBS(EACH) \
  EACH(fsdp)            \
  EACH(kfac)            \
  EACH(transformer)     \
  EACH(chakra)          \
  EACH(flows)           \
  EACH(graph_sampling)  \
  EACH(edge_learning)   \
  EACH(pipeline)        \
  EACH(recommender)     \
  EACH(jobs)

#define WEFT_DECLARE(NAME) JobKind NAME##_job();
WEFT_JOBS(WEFT_DECLARE)
#undef WEFT_DECLARE

namespace {

constexpr const char* kKind = "kind of workload";

Registry<JobKind>& known_kinds() {
#define WEFT_MAKER(NAME) NAME##_job,
  static Registry<JobKind> all(kKind, {WEFT_JOBS(WEFT_MAKER)});
#undef WEFT_MAKER
  return all;
}

/// "a", "b" or "c"
std::string names_of_kinds() {
  const std::vector<std::string> names = known_kinds().names();
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
    text += in_quotes(names[i]);
  }
  return text;
}

[[noreturn]] void fail_unknown_kind(const Node& kind, const std::string& got) {
  traces::NearestNames near(got);
  for (const std::string& name : known_kinds().names()) near.look_at(name);
  kind.fail(names_of_kinds(), in_quotes(got) + near.question());
}

}  // namespace

void Job::build_on(Share& share) {
  if (!share.config().others.empty() && !takes_others()) {
    throw ConfigError("others", "expected none, since workloads of this kind count on accelerators that are all alike");
  }
  build(share);
}

nlohmann::ordered_json Job::needs_json() const {
  return {};
}

nlohmann::ordered_json Job::finished() const {
  return nlohmann::ordered_json::object();
}

void provide(JobKind kind) {
  const std::string what = std::string(kKind) + " \"" + kind.name + "\"";
  if (!kind.make) throw std::invalid_argument(what + ": expected a make, got none");
  const std::string path = "workload of kind " + kind.name;
  check_own_fields(path, kind.config);
  std::vector<std::string> taken = {"kind"};
  for (const WorkloadMember& member : kind.more) taken.push_back(member.name);
  AnyConfig config = kind.config;
  const nlohmann::ordered_json fields = fields_to_json([&config](FieldVisitor& visitor) { config.fields(visitor); });
  for (const std::string& name : taken) {
    if (!fields.contains(name)) continue;
    throw std::invalid_argument(path + "." + name + ": expected a field of another name than " +
                                (name == "kind" ? "the workload's kind" : "a WorkloadMember"));
  }
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
  if (workload.is_object() && !workload.has("kind")) workload.child("kind").fail(names_of_kinds());
  const auto name = workload.require<std::string>("kind");
  const JobKind* kind = job_kinds().find(name);
  if (kind == nullptr) fail_unknown_kind(workload.child("kind"), name);
  AnyConfig config = kind->config;
  workload.read(config);
  return made(kind->make(platform, config), "workload.kind", kind->name);
}

}  // namespace weft::platforms
