// SPDX-License-Identifier: Apache-2.0
#include "platforms/jobs/machine_run.h"

#include "hw/core/cause/causes.h"
#include "platforms/jobs/collective_details.h"
#include "platforms/jobs/job_kind.h"
#include "platforms/machine/borrowed_remark.h"
#include "platforms/results/energy_summary.h"
#include "platforms/results/format.h"
#include "platforms/results/kernel_table.h"
#include "platforms/results/link_summary.h"
#include "platforms/results/version.h"

namespace weft::platforms {

using nlohmann::ordered_json;

MachineRun::MachineRun(Platform& platform) : platform_(platform), job_(make_job(platform)) {
  platform.document().check_unused();
}

Machine& MachineRun::build(bool runs) {
  const Stopwatch watch;
  machine_ = &platform_.checked([&]() -> Machine& { return build_machine(platform_.machine()); });
  share_.emplace(*machine_);
  platform_.checked([&] { job_->build_on(*share_); });
  if (platform_.machine().data) {
    require_host_memory(static_cast<double>(machine_->rank(0).memory.used()) * machine_->size());
  }
  build_seconds_ = watch.seconds();
  if (runs) job_->prepare_run();
  return *machine_;
}

void MachineRun::start() {
  job_->set_begins([this](Time at) {
    prepared_ = take_baseline(*machine_, at);
    if (Causes* const causes = machine_->dispatcher().causes(); causes != nullptr) causes->tables().begin_again(at);
  });
  left_out_.emplace(*machine_);
  job_->set_left_out(*left_out_);
  running_.emplace();
  platform_.checked([&] { job_->start(); });
}

void MachineRun::to_end() {
  try {
    platform_.checked([&] { machine_->run(); });
  } catch (const DeadlockError&) {
    job_->check();
    throw;
  }
  job_->check();
}

std::vector<std::string> MachineRun::find_warnings(const MachineUse& use) {
  std::vector<std::string> lines = job_->remarks();
  const auto add = [&lines](std::vector<std::string> more) {
    for (std::string& line : more) lines.push_back(std::move(line));
  };
  if (const std::string why = job_->simulates_all(); machine_->config().steady.is_on() && !why.empty()) {
    lines.push_back("steady.tolerance: nothing is left out: " + why);
  }
  add(platform_.document().remarks());
  add(machine_->warnings());
  if (job_->follows_algorithm()) add(machine_->ring_warnings());
  if (std::string fetched = fetched_text(*machine_); !fetched.empty()) lines.push_back(std::move(fetched));
  if (std::string borrowed = borrowed_remark(platform_.document()); use.kernels && !borrowed.empty()) {
    lines.push_back(std::move(borrowed));
  }
  return lines;
}

WhySpan MachineRun::why() const {
  WhySpan span{Time(), machine_->end(), job_->step_ends(), links_since(), {}, {}};
  if (!prepared_) return span;
  span.from = prepared_->at;
  for (std::size_t i = 0; i < prepared_->accelerators.size(); ++i) {
    const accelerator::Accelerator::Counters& counters = prepared_->accelerators[i];
    span.used.push_back(use_of(machine_->config(), counters, prepared_->memory[i], counters.busy));
  }
  return span;
}

ordered_json MachineRun::summary(const ordered_json& partial) {
  const bool is_whole = partial.is_null();
  const Time end = machine_->end();
  begun_ = left_out_->any() ? left_out_->moved(prepared()) : prepared_;
  ordered_json summary = {{"weft", version_json()},
                          {"platform", platform_.name()},
                          {"description", platform_.description()},
                          {"file", platform_.document().file()},
                          {"workload", job_->workload()},
                          {"accelerators", machine_->size()},
                          {"simulated_us", to_us(end + left_out_->time())}};
  summary["partial"] = partial;
  summary.update(is_whole ? job_->summary() : job_->finished());
  // A kind need not say itself what its wrong() finds.
  wrong_ = is_whole ? job_->wrong() : -1;
  tells_wrong_ = summary.contains("wrong");
  if (is_whole && !tells_wrong_) summary["wrong"] = wrong_ >= 0 ? ordered_json(wrong_) : ordered_json();
  summary["links"] = link_summary(*machine_, span(), links_since());
  summary["memory"] = memory_summary(*machine_, span(), since());
  summary["counters"] = counter_summary(*machine_, span(), since());
  energy_ = account_energy(*machine_, end);
  if (begun_) energy_ = energy_.since(begun_->energy);
  summary["roofline"] = kernel_table(*machine_, since());
  summary["energy"] = energy_summary(energy_);
  summary["prepared"] = nullptr;
  if (prepared_) summary["prepared"] = {{"time_us", to_us(prepared_->at)}, {"energy_j", prepared_->energy.total()}};
  summary["simulator"] = simulator_summary(*machine_, build_seconds_, *running_);
  MachineUse use = use_of(*machine_);
  warnings_ = find_warnings(use);
  summary["warnings"] = warnings_;
  if (is_whole) {  // what changes nothing is known at the end alone
    use.by_algorithm = job_->follows_algorithm();
    use.kernels_on = job_->kernels_on();
    std::vector<IdleFields> more = platform_.replaced();
    for (IdleFields& field : job_->idle()) more.push_back(std::move(field));
    idle_.emplace(platform_.document(), platform_.machine(), use, std::move(more));
  }
  summary["without_effect"] = idle_ ? idle_->json() : ordered_json::array();
  for (const char* const other : {"configuration", "timeline", "waves", "kernels"}) summary[other] = nullptr;
  return summary;
}

}  // namespace weft::platforms
