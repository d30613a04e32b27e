// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "hw/core/config/provide_beside.h"
#include "hw/memory/remote/cxl_pool.h"
#include "hw/memory/remote/remote_memory.h"
#include "hw/memory/remote/remote_model.h"

namespace weft::memory {
namespace {

constexpr const char* kRemoteModel = "kind of remote memory";

RemoteModel no_memory() {
  RemoteModel model;
  model.name = "none";
  model.doc = "no memory beyond the accelerators' own";
  return model;
}

RemoteModel plain(RemoteKind kind, const char* doc) {
  RemoteModel model;
  model.name = name_of(kind);
  model.doc = doc;
  model.make = [kind](const RemoteSite& site) {
    RemoteMemory::Config config{site.config, kind, site.own<RemoteMemory::Hierarchy>()};
    return std::make_unique<RemoteMemory>(site.name.c_str(), config, site.accelerators, site.per_node, site.dispatcher,
                                          site.data, site.stall);
  };
  return model;
}

RemoteModel per_accelerator() {
  return plain(RemoteKind::kPerAccelerator, "one for each accelerator");
}
RemoteModel per_node() {
  return plain(RemoteKind::kPerNode, "one for each node");
}
RemoteModel one_pool() {
  return plain(RemoteKind::kPool, "one that all share");
}

RemoteModel hierarchical() {
  RemoteModel model = plain(RemoteKind::kHierarchical, "memory groups behind switches outside of the nodes");
  model.config = RemoteMemory::Hierarchy();
  model.config_doc = "Network between a hierarchical pool and the accelerators";
  return model;
}

RemoteModel cxl() {
  RemoteModel model;
  model.name = CxlPool::Config::kKind;
  model.doc = "pools behind CXL links";
  model.config = CxlPool::Config();
  model.config_doc = "For kind cxl: pools behind CXL links";
  model.ignores = {"capacity", "rate", "latency", "sharers"};
  model.check = [](const RemoteConfig& config, const std::string& path) {
    if (!config.sections.of<RemoteMemory::Hierarchy>().in_switch) return;
    throw ConfigError(path + ".hierarchical.in_switch",
                      "expected false, since " + path + ".kind is cxl: only a hierarchical pool has such switches");
  };
  model.make = [](const RemoteSite& site) {
    return std::make_unique<CxlPool>("cxl_pool", site.own<CxlPool::Config>(), site.accelerators, site.config.chunk,
                                     site.dispatcher, site.data, site.stall);
  };
  return model;
}

Registry<RemoteModel>& remote_registry() {
  static Registry<RemoteModel> all(kRemoteModel, {no_memory, per_accelerator, per_node, one_pool, hierarchical, cxl});
  return all;
}

}  // namespace

void provide(RemoteModel model) {
  provide_beside<RemoteConfig>(remote_registry(), std::move(model), kRemoteModel, "remote_memory");
}

const Registry<RemoteModel>& remote_models() {
  return remote_registry();
}

const Names& registered(const RemoteModel* /*kind*/) {
  return remote_registry();
}

const RemoteModel& model_of(const RemoteConfig& config) {
  return remote_registry().at(config.kind.text(), "remote_memory.kind");
}

bool RemoteConfig::exists() const {
  return model_of(*this).make != nullptr;
}

void RemoteConfig::check(const std::string& path) const {
  const RemoteModel& model = model_of(*this);
  if (model.check) model.check(*this, path);
}

}  // namespace weft::memory
