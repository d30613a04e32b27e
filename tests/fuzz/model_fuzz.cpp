// SPDX-License-Identifier: Apache-2.0
// Any bytes as a network of layers, a table of transformers or one of published measurements: what a training step of
// the network is can be counted, and a row can be judged and drawn, or they are refused. The first byte says which file
// it is.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "platforms/results/accuracy/accuracy_pages.h"
#include "sw/models/network.h"
#include "sw/models/transformer.h"
#include "sw/workloads/options.h"
#include "sw/workloads/workload.h"
#include "tests/fuzz/fuzz.h"
#include "traces/json/json_path.h"
#include "traces/published_table.h"

using namespace weft;  // NOLINT(google-build-using-namespace)

namespace {

/// Of a step that is generated: longer ones take longer than a fuzzer has.
constexpr std::int64_t kMostLayers = 8;

void read_network(const std::filesystem::path& file) {
  const models::Network network = models::load_network(file);
  const models::NetworkTotals sums = models::totals(network);
  fuzz::expect(sums.parameters > 0 || network.layers.empty());
  fuzz::expect(sums.multiplications >= 0 && sums.factor_flops >= 0);
  for (const models::Layer& layer : network.layers) {
    fuzz::expect(layer.positions() > 0 && models::parameters(layer) > 0);
    for (const models::Move& move : layer.before) fuzz::expect(move.elements_in > 0 && move.elements_out > 0);
  }
}

void generate(const models::Transformer& model, const char* parallel, bool has_experts) {
  workloads::StepOptions options;
  options.parallel = parallel;
  options.layers = std::min(model.layers, kMostLayers);
  options.experts = has_experts ? 4 : 0;
  options.sequence_parallel = options.parallel.find("tp=2") != std::string::npos && !has_experts;
  try {
    const workloads::TransformerWorkload workload(options.config(model));
    const workloads::RankSums sums = workload.generate(0, [](const chakra::Node&) {});
    fuzz::expect(sums.operations > 0 && sums.parameters > 0 && sums.state_bytes > 0);
    fuzz::expect(sums.activation_bytes >= 0 && sums.gathered_bytes >= 0);
    for (const auto& volume : sums.communication) fuzz::expect(volume.bytes >= 0);
  } catch (const workloads::WorkloadError&) {
    // As a command refuses it.
  }
}

void read_transformers(const std::filesystem::path& file) {
  for (const models::Transformer& model : models::load_transformers(file)) {
    fuzz::expect(models::total_parameters(model) > 0);
    fuzz::expect(models::convention_flops_per_token(model, model.sequence) > 0);
    // Commands refuse others by name (sw/models/named_model.h).
    if (!models::is_decoder(model)) continue;
    if (models::has_plain_blocks(model)) static_cast<void>(models::network_of(model));
    generate(model, "tp=1", false);
    generate(model, "tp=2,dp=2", false);
    generate(model, "tp=2,cp=2", false);
    generate(model, "ep=2,fsdp=2", true);
    generate(model, "pp=2", false);
  }
}

/// What a run prints, small.
nlohmann::json output() {
  return {{"step", {{"time_us", 5}}}, {"rows", {{{"bytes", 1024}, {"busbw", 1.5}}, {{"bytes", 2048}, {"op", "a"}}}}};
}

void read_measurements(const std::filesystem::path& file) {
  std::vector<traces::PublishedResult> results;
  for (const traces::PublishedRow& row : traces::read_published(file)) {
    fuzz::expect(!row.command_lines().empty() && !row.terms().empty());
    results.push_back(traces::evaluate(row, row.published));
    for (const traces::PublishedRow::Term& term : row.terms()) {
      if (term.path.empty()) continue;
      try {
        results.push_back(traces::evaluate(row, row.in_unit(term.path, traces::resolve_number(output(), term.path))));
      } catch (const traces::PathError& error) {
        results.push_back(traces::broken(row, error.what()));
      }
    }
  }
  static_cast<void>(traces::all_pass(results));
  static_cast<void>(traces::to_text(results));
  if (!results.empty()) static_cast<void>(platforms::suite_page(results, {}, ""));
  static_cast<void>(traces::to_json(results).dump());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return -1;
  const std::filesystem::path file = fuzz::file_of(data + 1, size - 1, "input");
  fuzz::accepted([&] {
    switch (data[0] % 3) {
      case 0:
        return read_network(file);
      case 1:
        return read_transformers(file);
      default:
        return read_measurements(file);
    }
  });
  return 0;
}
