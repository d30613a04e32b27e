// SPDX-License-Identifier: Apache-2.0
// Reading text workloads.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include "traces/chakra/check.h"
#include "traces/chakra/text/workload.h"
#include "traces/files/format_error.h"
#include "traces/files/kind/file_kind.h"
#include "traces/files/text_file.h"
#include "traces/nearest_names.h"

namespace weft::chakra {
namespace {

using Parallelism = TextWorkload::Parallelism;

constexpr std::pair<std::string_view, Parallelism> kWords[] = {
    {"MICRO", Parallelism::kMicro},
    {"DATA", Parallelism::kData},
    {"MODEL", Parallelism::kModel},
    {"HYBRID_DATA_MODEL", Parallelism::kHybridDataModel},
    {"HYBRID_MODEL_DATA", Parallelism::kHybridModelData},
    {"HYBRID_DLRM", Parallelism::kDlrm},
    {"HYBRID_DLRM_ENHANCED", Parallelism::kDlrmEnhanced},
    {"HYBRID_TRANSFORMER", Parallelism::kTransformer},
    {"HYBRID_TRANSFORMER_FWD_IN_BCKWD", Parallelism::kTransformerForwardInBackward},
    {"HYBRID_CUSTOMIZED", Parallelism::kCustomized},
    {"DISTRIBUTED_INFERENCE", Parallelism::kInference},
};

constexpr std::pair<std::string_view, CollectiveType> kCollectives[] = {
    {"ALLREDUCE", CollectiveType::kAllReduce},         {"ALLGATHER", CollectiveType::kAllGather},
    {"REDUCESCATTER", CollectiveType::kReduceScatter}, {"ALLTOALL", CollectiveType::kAllToAll},
    {"BROADCAST", CollectiveType::kBroadcast},
};

constexpr std::pair<std::string_view, TextWorkload::Group> kSuffixes[] = {
    {"_DP_EP", TextWorkload::Group::kExpertData},
    {"_EP", TextWorkload::Group::kExpert},
};

/// More layers than any file has, so that a wrong number is no allocation.
constexpr std::uint64_t kMostLayers = 1'000'000;

class Parser {
 public:
  explicit Parser(const std::filesystem::path& file)
      : stream_(traces::read_text(file, "a text workload", is_of_this_kind)) {
    workload_.file = file.string();
  }

  TextWorkload parse() {
    parse_header();
    words_of_next_line("the number of layers");
    const std::uint64_t layers = number("the number of layers", kMostLayers);
    if (layers == 0) fail("expected at least 1 layer, got 0");
    end_of_line();
    workload_.count_line = line_;
    for (std::uint64_t i = 0; i < layers; ++i) parse_layer(i, layers);
    while (next_line()) ++workload_.lines_beyond;
    apply_header();
    return std::move(workload_);
  }

 private:
  static bool is_of_this_kind(traces::FileKind kind) {
    return kind == traces::FileKind::kTextWorkload || traces::is_plain_text(kind);
  }

  [[noreturn]] void fail(const std::string& message) const {
    throw traces::FormatError(workload_.file, line_, message);
  }

  /// The words of the next line that is not blank; false at the end of the file.
  bool next_line() {
    words_.clear();
    next_ = 0;
    std::string text;
    while (words_.empty()) {
      if (!std::getline(stream_, text)) return false;
      ++line_;
      std::istringstream line(text);
      for (std::string word; line >> word;) words_.push_back(word);
    }
    return true;
  }

  void words_of_next_line(const std::string& expected) {
    if (!next_line()) fail("expected " + expected + ", got the end of the file");
  }

  [[nodiscard]] bool at_end() const { return next_ == words_.size(); }

  const std::string& word(const std::string& expected) {
    if (at_end()) fail("expected " + expected + ", got the end of the line");
    return words_[next_++];
  }

  std::uint64_t number(const std::string& expected, std::uint64_t most = UINT64_MAX) {
    const std::string& text = word(expected);
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value > most) {
      fail("expected " + expected + (most == UINT64_MAX ? "" : ", at most " + std::to_string(most)) + ", got " + text);
    }
    return value;
  }

  void end_of_line() {
    if (!at_end()) fail("expected the end of the line, got " + words_[next_]);
  }

  Parallelism parallelism(const std::string& text) const {
    std::string names;
    for (const auto& [name, value] : kWords) {
      if (name == text) return value;
      names += (names.empty() ? "" : ", ") + std::string(name);
    }
    traces::NearestNames nearest(text);
    for (const auto& [name, value] : kWords) nearest.look_at(name);
    fail("expected a parallelism, one of " + names + ", got " + text + nearest.question());
  }

  void parse_header() {
    words_of_next_line("a parallelism");
    workload_.word = word("a parallelism");
    workload_.parallelism = parallelism(workload_.word);
    const bool is_dlrm =
        workload_.parallelism == Parallelism::kDlrm || workload_.parallelism == Parallelism::kDlrmEnhanced;
    bool has_last_bottom = false;
    std::set<std::string> keys;
    while (!at_end()) {
      const std::string key = word("");
      if (key.ends_with(':') && !keys.insert(key).second) fail("expected each word once, got " + key + " twice");
      if (key == "model_parallel_NPU_group:") {
        workload_.model_group = number("the ranks of a group");
        if (workload_.model_group == 0) fail("model_parallel_NPU_group: expected at least 1, got 0");
      } else if (key == "checkpoints:") {
        checkpoints_ = layer_list();
      } else if (key == "checkpoint_initiates:") {
        recomputing_ = layer_list();
      } else if (is_dlrm && !has_last_bottom) {
        // Older files have the number alone.
        if (key != "DLRM_LAST_BOTTOM_LAYER:") --next_;
        workload_.last_bottom_layer = number("the index of the last bottom layer");
        has_last_bottom = true;
      } else if (key.find_first_not_of("0123456789") == std::string::npos) {
        fail("expected the end of the line, or a word such as model_parallel_NPU_group:, got " + key +
             ": the number of layers is the next line");
      } else if (!take_simai(key)) {
        fail("expected model_parallel_NPU_group:, checkpoints: or checkpoint_initiates:, got " + key);
      }
    }
    if (is_dlrm && !has_last_bottom) fail("expected the index of the last bottom layer, got the end of the line");
    const bool is_transformer = workload_.parallelism == Parallelism::kTransformer ||
                                workload_.parallelism == Parallelism::kTransformerForwardInBackward;
    if (is_transformer && workload_.model_group == 0)
      fail("expected model_parallel_NPU_group:, got the end of the line");
  }

  /// A word of SimAI's and its value, or one that looks like those.
  bool take_simai(const std::string& key) {
    const auto count = [&] {
      const std::uint64_t value = number(key + " a number");
      if (value == 0) fail(key + " expected at least 1, got 0");
      return value;
    };
    if (key == "all_gpus:") {
      workload_.ranks = count();
    } else if (key == "ep:" || key == "expert_parallel_npu_group:") {
      workload_.expert_group = count();
    } else if (key == "pp:") {
      workload_.stages = count();
    } else if (key == "pp_comm:" || key == "pp_comm") {
      workload_.stage_bytes = bytes_between_stages();
    } else if (key == "vpp:" || key == "ga:" || key == "mode:") {
      number(key + " a number");  // all microbatches are among the layers
    } else if (key.size() > 1 && key.ends_with(':') && !at_end()) {
      workload_.not_read.push_back(key + " " + word(""));
    } else {
      return false;
    }
    workload_.dialect = TextWorkload::Dialect::kSimAi;
    return true;
  }

  /// AICB divides with a decimal point: 4096.0.
  std::uint64_t bytes_between_stages() {
    const std::string& text = word("pp_comm: a size in bytes");
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    constexpr double kMost = 9.2e18;
    if (error != std::errc() || end != text.data() + text.size() || !(value >= 0 && value <= kMost)) {
      fail("expected pp_comm: a size in bytes, got " + text);
    }
    return static_cast<std::uint64_t>(std::llround(value));
  }

  std::vector<std::uint64_t> layer_list() {
    const std::uint64_t count = number("how many layers are listed", kMostLayers);
    std::vector<std::uint64_t> list;
    for (std::uint64_t i = 0; i < count; ++i) list.push_back(number("the index of a layer"));
    return list;
  }

  TextWorkload::Work work(const std::string& pass, TextWorkload::Group group) {
    TextWorkload::Work work;
    work.group = group;
    work.compute_nanos = number(pass + ": a compute time in nanoseconds", kMostNanos);
    const std::string given = word(pass + ": a collective");
    std::string_view type = given;
    for (const auto& [suffix, of] : kSuffixes) {
      if (!type.ends_with(suffix)) continue;
      type.remove_suffix(suffix.size());
      work.group = of;
      break;
    }
    std::string names = "NONE";
    for (const auto& [name, value] : kCollectives) {
      if (name == type) work.collective = value;
      names += ", " + std::string(name);
    }
    if (!work.collective && given != "NONE") {
      fail(pass + ": expected one of " + names + ", for other groups with _EP or _DP_EP behind it, got " + given);
    }
    // Neither is of ASTRA-sim 1.0.
    if (work.group != group || work.collective == CollectiveType::kBroadcast) {
      workload_.dialect = TextWorkload::Dialect::kSimAi;
    }
    if (work.group != group && workload_.expert_group == 0) {
      fail(pass + ": " + given + ": expected ep: in the first line, the ranks of an expert-parallel group");
    }
    work.bytes = number(pass + ": a size in bytes", kMostBytes);
    return work;
  }

  void parse_layer(std::uint64_t index, std::uint64_t layers) {
    words_of_next_line("layer " + std::to_string(index + 1) + " of " + std::to_string(layers));
    TextWorkload::Layer layer;
    layer.name = word("a name");
    word("the reserved number");
    layer.passes[TextWorkload::kForward] = work("forward", TextWorkload::Group::kModel);
    layer.passes[TextWorkload::kInputGradient] = work("input gradient", TextWorkload::Group::kModel);
    layer.passes[TextWorkload::kWeightGradient] = work("weight gradient", TextWorkload::Group::kData);
    layer.update_nanos = number("the time of the weights' update", kMostNanos);
    layer.parallelism = workload_.parallelism == Parallelism::kCustomized ? parallelism(word("the layer's parallelism"))
                                                                          : workload_.parallelism;
    end_of_line();
    workload_.layers.push_back(std::move(layer));
  }

  /// Indices that the first line gives.
  void apply_header() {
    line_ = 1;
    const auto checked = [&](std::uint64_t index) {
      if (index >= workload_.layers.size()) {
        fail("expected a layer from 0 to " + std::to_string(workload_.layers.size() - 1) + ", got " +
             std::to_string(index));
      }
      return index;
    };
    checked(workload_.last_bottom_layer);
    for (const std::uint64_t layer : checkpoints_) workload_.layers[checked(layer)].is_checkpoint = true;
    const auto first = std::min_element(checkpoints_.begin(), checkpoints_.end());
    for (const std::uint64_t layer : recomputing_) {
      workload_.layers[checked(layer)].recomputes = true;
      if (first == checkpoints_.end() || *first > layer)
        fail("layer " + std::to_string(layer) + " runs again from a checkpoint, and none is before it");
    }
  }

  std::istringstream stream_;
  int line_ = 0;
  TextWorkload workload_;
  std::vector<std::string> words_;
  std::size_t next_ = 0;
  std::vector<std::uint64_t> checkpoints_;
  std::vector<std::uint64_t> recomputing_;
};

}  // namespace

TextWorkload read_text_workload(const std::filesystem::path& file) {
  return Parser(file).parse();
}

}  // namespace weft::chakra
