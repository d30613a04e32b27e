// SPDX-License-Identifier: Apache-2.0
// weft import lstopo and weft import infragraph: descriptions of hardware become machines.
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "hw/fabric/topology/topology.h"
#include "platforms/cli/output.h"
#include "platforms/cli/result_files.h"
#include "platforms/commands/import/import.h"
#include "platforms/config/document.h"
#include "platforms/import/described/infragraph.h"
#include "platforms/import/described/lstopo.h"
#include "platforms/machine/machine_checks.h"
#include "platforms/machine/platform.h"
#include "platforms/results/write_file.h"

namespace weft::platforms {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

struct DescribedOptions {
  std::string file;
  std::string out;
  int nodes = 1;
  described::PartOptions parts;
};

/// That the fields are within their limits and fit each other: what does not came from the file.
void check_described(const ordered_json& platform, const DescribedOptions& options) {
  const auto fail = [&](const std::string& what) {
    throw UsageError("what " + options.file + " gives is no machine of Weft: " + what);
  };
  Document document = Document::from_text(platform.dump(), options.out, {}, described::catalogue_of(options.parts));
  MachineConfig machine;
  try {
    document.root().read(machine);
  } catch (const InputError& error) {
    fail(error.what());
  }
  try {
    check_machine(machine);
    static_cast<void>(fabric::Topology::build(machine.fabric, machine.accelerators, "fabric"));
  } catch (const ConfigError& error) {
    fail(document.explain(error).what());
  }
}

template <typename Describe>
int write_described(DescribedOptions& options, const std::string& origin, const Describe& describe) {
  ResultFiles files;
  files.spare(options.file);
  const fs::path file = files.file("--out", options.out, ResultKind::kPlatform);
  options.parts.beside = options.out;
  described::expect_parts(options.parts);
  described::Described made = describe();
  ordered_json platform = {{"name", imported_name(options.out, options.file)},
                           {"description", "From " + origin + ": " + fs::path(options.file).filename().string()}};
  platform.update(made.platform);
  check_described(platform, options);
  write_file(file, platform);
  files.keep();
  print_warnings(made.remarks);
  for (const std::string& fact : made.facts) print(fact + "\n");
  print("wrote " + options.out + "\n");
  return kDone;
}

void add_options(const Arguments& app, const std::shared_ptr<DescribedOptions>& options) {
  app.add_option("--accelerator", options->parts.accelerator, "The accelerators' part, whatever the file calls them")
      .type_name("PART");
  app.add_option("--nic", options->parts.nic, "The NICs' part").type_name("PART");
  app.add_option("--network", options->parts.network,
                 "The part of the network's links, for what the file does not say of them")
      .type_name("PART");
  app.add_option("--scale-up", options->parts.scale_up, "The part that joins accelerators of a node").type_name("PART");
  app.add_option("--out", options->out, "Platform to write; - is standard output").type_name("FILE").required();
}

}  // namespace

Command import_lstopo(const Arguments& parent) {
  auto options = std::make_shared<DescribedOptions>();
  const Arguments app = parent.add_subcommand("lstopo", "A host as hwloc sees it");
  app.add_option("FILE", options->file, "What lstopo --of xml writes").type_name("FILE").required();
  app.add_option("--nodes", options->nodes, "Hosts of this kind").shows_default().check(Within(1, 65536));
  add_options(app, options);
  return {app, [options] {
            return write_described(*options, "lstopo", [&] {
              return described::machine_of_host(described::read_lstopo(options->file), options->file, options->nodes,
                                                options->parts);
            });
          }};
}

Command import_infragraph(const Arguments& parent) {
  auto options = std::make_shared<DescribedOptions>();
  const Arguments app = parent.add_subcommand("infragraph", "InfraGraph's devices, instances and edges between them");
  app.add_option("FILE", options->file, "The description, in YAML or JSON").type_name("FILE").required();
  add_options(app, options);
  return {app, [options] {
            return write_described(*options, "InfraGraph", [&] {
              return described::machine_of_graph(described::read_infragraph(options->file), options->file,
                                                 options->parts);
            });
          }};
}

}  // namespace weft::platforms
