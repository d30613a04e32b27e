// SPDX-License-Identifier: Apache-2.0
// Models with experts: their sizes and operations, by what is published of them and by hand.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "sw/models/transformer.h"
#include "tests/support/workload.h"
#include "traces/files/format_error.h"

namespace weft::models {
namespace {

namespace fs = std::filesystem;

using test::model;

struct Published {
  const char* name;
  double total;   ///< billions
  double active;  ///< billions
  bool counts_embedding;
};

/// DeepSeek-V3's README_WEIGHTS (36.6 B with the head), Kimi K2's model card (1 T in all; 1.04 T of its report are 1.3
/// % more than its config.json gives), Qwen3's and gpt-oss' model cards.
TEST(Experts, ParametersAreThePublishedOnes) {
  for (const Published& row : {Published{"deepseek-v3", 671, 36.6, false},
                               {"kimi-k2", 1026, 32, false},
                               {"qwen3-235b-a22b", 235, 22, true},
                               {"qwen3-30b-a3b", 30.5, 3.35, true},
                               {"gpt-oss-120b", 116.83, 5.13, false},
                               {"gpt-oss-20b", 20.91, 3.61, false}}) {
    const Transformer& of = model(row.name);
    const std::int64_t embedding = row.counts_embedding ? unit_parameters(of, UnitKind::kEmbedding) : 0;
    const auto total = static_cast<double>(total_parameters(of)) * 1e-9;
    const double active = static_cast<double>(active_parameters(of) + embedding) * 1e-9;
    EXPECT_NEAR(total / row.total, 1, 0.01) << row.name;
    EXPECT_NEAR(active / row.active, 1, 0.01) << row.name;
  }
  // As the weights' index counts them.
  EXPECT_EQ(total_parameters(model("qwen3-30b-a3b")), 30'532'122'624);
  EXPECT_EQ(total_parameters(model("qwen3-235b-a22b")), 235'093'634'560);
  // 64 sinks of attention in each of 36 blocks less.
  EXPECT_EQ(total_parameters(model("gpt-oss-120b")), 116'829'156'672 - 36 * 64);
  EXPECT_EQ(total_parameters(model("gpt-oss-20b")), 20'914'757'184 - 24 * 64);
  // Biases of the router's choice are no parameters.
  EXPECT_EQ(total_parameters(model("deepseek-v3")), 671'026'404'352);
}

/// Megatron-Bridge's tables have tokens and model TFLOPS a second: their ratio. DeepSeek-V3's is of a model that has a
/// module for the token after the next: a block of experts, a product of 2 d by d and the head again.
TEST(Experts, OperationsAreThoseOfMegatron) {
  const auto giga = [](std::int64_t count) { return static_cast<double>(count) * 1e-9; };
  EXPECT_NEAR(giga(megatron_flops_per_token(model("qwen3-30b-a3b"), 4096)), 923e3 / 39936, 0.2);
  EXPECT_NEAR(giga(megatron_flops_per_token(model("llama3.1-405b"), 8192)) / (2129e3 / 843), 1, 0.003);
  EXPECT_NEAR(giga(megatron_flops_per_token(model("llama3-70b"), 8192)) / (1664e3 / 3712), 1, 0.006);
  Transformer deepseek = model("deepseek-v3");
  const std::int64_t without = megatron_flops_per_token(deepseek, 4096);
  ++deepseek.layers;
  const std::int64_t block = megatron_flops_per_token(deepseek, 4096) - without;
  const std::int64_t d = deepseek.d_model;
  EXPECT_NEAR(giga(without + block + 6 * (2 * d * d + d * deepseek.vocab)) / (1276e3 / 4912), 1, 0.005);
}

/// A window leaves w of s keys, but for the first tokens, which see fewer.
TEST(Experts, WindowsLeaveFewScores) {
  FlashAttention attention{.batch = 1, .heads = 1, .kv_heads = 1, .queries = 8, .keys = 8, .head_dim = 1};
  EXPECT_EQ(attention.scores(), 32);
  attention.window = 2;
  EXPECT_EQ(attention.scores(), 8 * 2 - 2);
  const Transformer& oss = model("gpt-oss-20b");
  EXPECT_EQ(oss.window_of(0), 128);
  EXPECT_EQ(oss.window_of(1), 0);
  EXPECT_EQ(model("llama3-8b").window_of(1), 0);
}

std::int64_t flops_of(const std::vector<Kernel>& kernels) {
  std::int64_t sum = 0;
  for (const Kernel& kernel : kernels) sum += flops(kernel);
  return sum;
}

/// Three times the forward pass' products, but for attention, whose backward pass has five for two, of DeepSeek-V3's
/// heads 3 x 192 + 2 x 128 for 192 + 128.
TEST(Experts, KernelsComputeWhatTheirWeightsAre) {
  for (const char* name : {"deepseek-v3", "qwen3-30b-a3b", "gpt-oss-20b"}) {
    const Transformer& of = model(name);
    StepShape shape;
    shape.sequence = 4096;
    for (const UnitKind kind : {UnitKind::kBlock, UnitKind::kExpertBlock}) {
      std::int64_t weights = 0;
      for (const Tensor& tensor : linear_weights(of, kind)) {
        weights += is_routed(tensor) ? tensor.elements() / of.experts * of.top_k : tensor.elements();
      }
      const std::int64_t products = 2 * weights * shape.tokens();
      const std::int64_t scores = of.heads * shape.sequence * shape.sequence;
      const std::int64_t forward = scores * (of.head_dim + of.value_dim());
      const std::int64_t backward = scores * (3 * of.head_dim + 2 * of.value_dim());
      EXPECT_EQ(flops_of(forward_kernels(of, kind, shape)), products + forward) << name;
      EXPECT_EQ(flops_of(backward_kernels(of, kind, shape)), 2 * products + backward) << name;
    }
  }
}

/// Tokens that do not divide among the experts are computed, too.
TEST(Experts, NoTokenIsLost) {
  const Transformer& of = model("qwen3-30b-a3b");
  StepShape shape;
  shape.sequence = 16;
  shape.local_experts = 5;
  shape.routed_tokens = 1003;
  std::int64_t forward = 0;
  std::int64_t backward = 0;
  const auto sum = [&](const std::vector<Kernel>& kernels) {
    std::int64_t all = 0;
    for (const Kernel& kernel : kernels) all += kernel.name.starts_with("experts_") ? flops(kernel) : 0;
    return all;
  };
  forward = sum(forward_kernels(of, UnitKind::kExpertBlock, shape));
  backward = sum(backward_kernels(of, UnitKind::kExpertBlock, shape));
  EXPECT_EQ(forward, std::int64_t{2} * 1003 * 3 * 2048 * 768);
  EXPECT_EQ(backward, 2 * forward);
}

/// The message of reading a file with these members besides those of any transformer; "" if it is read.
std::string error_of_file(const std::string& members, Transformer* read = nullptr) {
  const fs::path file = fs::path(testing::TempDir()) / ("weft_experts_" + std::to_string(getpid()) + ".json");
  std::ofstream(file) << R"({"layers": 4, "d_model": 64, "ffn": 256, "heads": 4, "vocab": 100, "sequence": 32, )"
                      << members << "}";
  std::string message;
  try {
    const std::vector<Transformer> models = load_transformers(file);
    if (read != nullptr) *read = models.front();
  } catch (const traces::FormatError& error) {
    message = error.what();
    message.erase(0, file.string().size());
  }
  fs::remove(file);
  return message;
}

TEST(Experts, FilesOfOnesOwnHaveThem) {
  Transformer read;
  ASSERT_EQ(error_of_file(R"("experts": 8, "top_k": 2, "expert_ffn": 32, "shared_experts": 2, "dense_layers": 1,
                             "kv_lora_rank": 16, "qk_nope_head_dim": 12, "qk_rope_head_dim": 4, "v_head_dim": 8,
                             "window": 16, "full_every": 4)",
                          &read),
            "");
  EXPECT_EQ(read.shared_ffn, 64);
  EXPECT_EQ(read.head_dim, 16);
  EXPECT_EQ(read.attended_width(), 32);
  EXPECT_EQ(block_kind(read, 0), UnitKind::kBlock);
  EXPECT_EQ(block_kind(read, 1), UnitKind::kExpertBlock);
  EXPECT_EQ(read.window_of(3), 0);
  EXPECT_EQ(error_of_file(R"("top_k": 2)"), ": experts: expected a number of experts, because top_k is given");
  EXPECT_EQ(error_of_file(R"("experts": 8, "top_k": 9, "expert_ffn": 32)"),
            ": top_k: expected a whole number from 1 to 8, got 9");
  EXPECT_EQ(error_of_file(R"("experts": 4096, "top_k": 1, "expert_ffn": 1048576)"),
            ": expert_ffn: expected at most 4194304 columns of all experts, got 1048576");
  EXPECT_EQ(error_of_file(R"("v_head_dim": 8)"), ": kv_lora_rank: expected a number, because v_head_dim is given");
  EXPECT_EQ(error_of_file(R"("full_every": 2)"),
            ": full_every: expected a window, because some blocks have none, got 2");
  EXPECT_EQ(error_of_file(R"("encoder": 2, "qk_norm": true)"),
            ": encoder: expected a decoder alone, for experts, latent attention and windows, got 2");
}

TEST(Experts, AreOfDecodersAmongOthers) {
  EXPECT_EQ(find_decoder(load_transformers(), "gpt2").name, "gpt2");
  try {
    find_decoder(load_transformers(), "t5-3b");
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(
        error.what(),
        "t5-3b has an encoder, relative positions or dropout, expected one of llama2-7b, llama2-13b, llama2-34b, "
        "llama2-70b, llama3-8b, llama3-70b, llama3.1-405b, gpt2, gpt2-xl, gpt3-175b, gpt-neox-20b, gpt-175b-fsdp, "
        "nano, deepseek-v3, kimi-k2, qwen3-235b-a22b, qwen3-30b-a3b, gpt-oss-120b, gpt-oss-20b");
  }
}

/// With a byte of scale for each 32 values of a byte, or 16 of half a one; casts both ways, weights' once in a step.
TEST(Experts, ProductsHaveScalesOfBlocks) {
  const Transformer& of = model("qwen3-30b-a3b");
  for (const auto& [type, bytes] : {std::pair{LinearType::kMxfp8, 33.0 / 32}, {LinearType::kNvfp4, 9.0 / 16}}) {
    StepShape shape;
    shape.sequence = 4096;
    shape.fusion = Fusion::kFused;
    const std::vector<Kernel> plain = forward_kernels(of, UnitKind::kExpertBlock, shape);
    shape.linear = type;
    const std::vector<Kernel> kernels = forward_kernels(of, UnitKind::kExpertBlock, shape);
    EXPECT_EQ(flops_of(kernels), flops_of(plain));
    EXPECT_EQ(kernels.size(), plain.size() + 4);
    for (const Kernel& kernel : kernels) {
      if (kernel.name == "experts_up") {
        const auto gemm = std::get<Gemm>(kernel.shape);
        const double operands = 4096.0 * 8 * 2048 + 128.0 * 2048 * 1536;
        EXPECT_EQ(bytes_moved(gemm), operands * bytes + 4096.0 * 8 * 1536 * 2);
      } else if (kernel.name == "experts_input.cast") {
        const auto cast = std::get<Elementwise>(kernel.shape);
        EXPECT_EQ(cast.bytes_written, 2 * bytes * 4096 * 8 * 2048);
        EXPECT_EQ(cast.bytes_read, (type == LinearType::kNvfp4 ? 2 : 1) * 4096.0 * 8 * 2048 * 2);
      } else if (kernel.name == "router") {
        EXPECT_EQ(std::get<Gemm>(kernel.shape).element_bytes, 2);
      }
    }
    const std::vector<Kernel> casts = weight_cast_kernels(type, 1 << 20);
    ASSERT_EQ(casts.size(), 1U);
    EXPECT_EQ(bytes_moved(casts.front()), (type == LinearType::kNvfp4 ? 8 : 4) * 1048576.0 + 2 * bytes * 1048576);
  }
  EXPECT_TRUE(weight_cast_kernels(LinearType::kFloat8, 100).empty());
}

}  // namespace
}  // namespace weft::models
