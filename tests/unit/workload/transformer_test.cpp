// SPDX-License-Identifier: Apache-2.0
#include "sw/models/transformer.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/workload.h"
#include "traces/csv.h"

namespace weft::models {
namespace {

namespace fs = std::filesystem;

using test::model;

/// The message of reading a table with this one row.
std::string error_of(const std::string& row) {
  const fs::path file = fs::path(testing::TempDir()) / ("weft_transformers_" + std::to_string(getpid()) + ".csv");
  std::ofstream(file) << "name,layers,d_model,ffn,heads,kv_heads,head_dim,vocab,gated,tied,positions,bias,norm,"
                         "sequence\n"
                      << row << "\n";
  std::string message = "no error";
  try {
    load_transformers(file);
  } catch (const traces::FormatError& error) {
    message = error.what();
    message.erase(0, file.string().size());
  }
  fs::remove(file);
  return message;
}

std::int64_t flops_of(const std::vector<Kernel>& kernels) {
  std::int64_t sum = 0;
  for (const Kernel& kernel : kernels) sum += flops(kernel);
  return sum;
}

std::vector<std::string> recomputed_products(const Transformer& of, const StepShape& shape) {
  std::vector<std::string> names;
  for (const Kernel& kernel : backward_kernels(of, UnitKind::kBlock, shape)) {
    if (kernel.recompute && std::holds_alternative<Gemm>(kernel.shape)) names.emplace_back(kernel.name);
  }
  return names;
}

const Kernel& named(const std::vector<Kernel>& kernels, std::string_view name) {
  const auto found = std::find_if(kernels.begin(), kernels.end(), [&](const Kernel& k) { return k.name == name; });
  if (found == kernels.end()) throw std::invalid_argument("no kernel " + std::string(name));
  return *found;
}

Elementwise traffic(const std::vector<Kernel>& kernels, std::string_view name) {
  return std::get<Elementwise>(named(kernels, name).shape);
}

TEST(Transformer, HasThePublishedNumberOfParameters) {
  const std::map<std::string, std::pair<std::int64_t, std::int64_t>> expected = {
      {"llama2-7b", {202'383'360, 6'738'415'616}},
      {"llama2-13b", {317'204'480, 13'015'864'320}},
      {"llama2-34b", {692'076'544, 33'743'970'304}},
      {"llama2-70b", {855'654'400, 68'976'648'192}},
      {"llama3-8b", {218'112'000, 8'030'261'248}},
      {"llama3-70b", {855'654'400, 70'553'706'496}},
      {"llama3.1-405b", {3'187'703'808, 405'853'388'800}},
      {"gpt2", {7'087'872, 124'439'808}},
      {"gpt2-xl", {30'740'800, 1'557'611'200}},
      {"gpt3-175b", {1'812'099'072, 174'604'259'328}},
      {"gpt-neox-20b", {453'064'704, 20'554'567'680}},
      {"gpt-175b-fsdp", {1'812'099'072, 174'601'101'312}},
      {"t5-3b", {67'111'936, 2'851'598'336}},
      {"t5-2.28b", {54'532'096, 2'280'642'560}},
      {"t5-11b", {268'438'528, 11'307'321'344}},
  };
  // And nano and nano-t5, which nobody published, and six with experts.
  EXPECT_EQ(load_transformers().size(), expected.size() + 2 + 6);
  for (const auto& [name, parameters] : expected) {
    EXPECT_EQ(unit_parameters(model(name), UnitKind::kBlock), parameters.first) << name;
    EXPECT_EQ(total_parameters(model(name)), parameters.second) << name;
  }
}

TEST(Transformer, AgreesWithSizesThatWereCountedApart) {
  const traces::CsvTable table = traces::CsvTable::read(fs::path(WEFT_TEST_DATA) / "transformers.csv");
  EXPECT_EQ(table.size(), 8U);
  for (const traces::CsvTable::Row row : table) {
    const Transformer& read = model(row.text("name"));
    EXPECT_EQ(read.layers, row.integer("layers")) << read.name;
    EXPECT_EQ(read.d_model, row.integer("d_model")) << read.name;
    EXPECT_EQ(read.ffn, row.integer("ffn")) << read.name;
    EXPECT_EQ(read.heads, row.integer("heads")) << read.name;
    EXPECT_EQ(read.kv_heads, row.integer("kv_heads")) << read.name;
    EXPECT_EQ(read.vocab, row.integer("vocab")) << read.name;
    EXPECT_EQ(unit_parameters(read, UnitKind::kBlock), row.integer("block")) << read.name;
    EXPECT_EQ(unit_parameters(read, UnitKind::kEmbedding), row.integer("embedding")) << read.name;
    EXPECT_EQ(total_parameters(read), row.integer("total")) << read.name;
    const std::int64_t operations = convention_flops_per_token(read, 0);
    EXPECT_EQ(operations, row.integer("operations")) << read.name;
    EXPECT_EQ(convention_flops_per_token(read, read.sequence) - operations, row.integer("attention")) << read.name;
  }
}

/// Of Llama 3 8B, as torchtitan's modules have them.
TEST(Transformer, HasThePublishedTensors) {
  const std::vector<Tensor> published = {
      {"wq", 4096, 4096},       {"wk", 1024, 4096},       {"wv", 1024, 4096},
      {"wo", 4096, 4096},       {"w1_gate", 14336, 4096}, {"w3_up", 14336, 4096},
      {"w2_down", 4096, 14336}, {"attn_norm", 4096, 1},   {"ffn_norm", 4096, 1},
  };
  const std::vector<Tensor> tensors = unit_tensors(model("llama3-8b"), UnitKind::kBlock);
  ASSERT_EQ(tensors.size(), published.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_EQ(tensors[i].name, published[i].name);
    EXPECT_EQ(tensors[i].rows, published[i].rows) << tensors[i].name;
    EXPECT_EQ(tensors[i].cols, published[i].cols) << tensors[i].name;
  }
}

TEST(Transformer, ListsTensorsOfUnits) {
  const auto names = [](const Transformer& of, UnitKind kind) {
    std::string text;
    for (const Tensor& tensor : unit_tensors(of, kind)) text += (text.empty() ? "" : " ") + tensor.name;
    return text;
  };
  EXPECT_EQ(names(model("llama3-8b"), UnitKind::kEmbedding), "tok_embeddings");
  EXPECT_EQ(names(model("llama3-8b"), UnitKind::kBlock), "wq wk wv wo w1_gate w3_up w2_down attn_norm ffn_norm");
  EXPECT_EQ(names(model("llama3-8b"), UnitKind::kHead), "norm lm_head");
  EXPECT_EQ(names(model("gpt3-175b"), UnitKind::kEmbedding), "tok_embeddings pos_embeddings");
  EXPECT_EQ(
      names(model("gpt3-175b"), UnitKind::kBlock),
      "wq wq_bias wk wk_bias wv wv_bias wo wo_bias w3_up w3_up_bias w2_down w2_down_bias attn_norm attn_norm_bias "
      "ffn_norm ffn_norm_bias");
  EXPECT_EQ(names(model("gpt3-175b"), UnitKind::kHead), "norm norm_bias");
  const Tensor key = unit_tensors(model("llama3-8b"), UnitKind::kBlock)[1];
  EXPECT_EQ(key.rows, 1024);
  EXPECT_EQ(key.cols, 4096);
}

TEST(Transformer, ShapesTheForwardPass) {
  StepShape shape;
  shape.sequences = 2;
  const auto kernels = forward_kernels(model("llama3-8b"), UnitKind::kBlock, shape);
  std::string names;
  for (const Kernel& kernel : kernels) names += (names.empty() ? "" : " ") + std::string(kernel.name);
  EXPECT_EQ(names,
            "attn_norm wq wk wv rotary repeat_kv attention wo attn_residual ffn_norm w1_gate w3_up swiglu w2_down "
            "ffn_residual");
  const Gemm down = std::get<Gemm>(named(kernels, "w2_down").shape);
  EXPECT_EQ(down.m, 16384);
  EXPECT_EQ(down.n, 4096);
  EXPECT_EQ(down.k, 14336);
  const FlashAttention attention = std::get<FlashAttention>(named(kernels, "attention").shape);
  EXPECT_EQ(attention.batch, 2);
  EXPECT_EQ(attention.heads, 32);
  EXPECT_EQ(attention.kv_heads, 32);
  EXPECT_EQ(attention.queries, 8192);
  EXPECT_EQ(attention.head_dim, 128);
  EXPECT_TRUE(attention.causal);
  EXPECT_FALSE(attention.backward);
  // Twice the block's matrices a token, and half of two products of s by s.
  const std::int64_t matrices = unit_parameters(model("llama3-8b"), UnitKind::kBlock) - 2 * 4096;
  EXPECT_EQ(flops_of(kernels), 2 * matrices * 16384 + 2 * (2 * 8192LL * 8192 * 4096));
  shape.repeat_kv = false;
  const auto grouped = forward_kernels(model("llama3-8b"), UnitKind::kBlock, shape);
  EXPECT_EQ(std::get<FlashAttention>(named(grouped, "attention").shape).kv_heads, 8);
  EXPECT_THROW(named(grouped, "repeat_kv"), std::invalid_argument);
}

TEST(Transformer, ShapesTheBackwardPass) {
  const StepShape shape;
  for (const char* name : {"llama3-8b", "gpt3-175b"}) {
    for (const UnitKind kind : {UnitKind::kBlock, UnitKind::kHead}) {
      std::int64_t products = 0;
      std::int64_t attentions = 0;
      for (const Kernel& kernel : backward_kernels(model(name), kind, shape)) {
        EXPECT_FALSE(kernel.recompute);
        (std::holds_alternative<Gemm>(kernel.shape) ? products : attentions) += flops(kernel);
      }
      for (const Kernel& kernel : forward_kernels(model(name), kind, shape)) {
        if (std::holds_alternative<Gemm>(kernel.shape)) products -= 2 * flops(kernel);
        if (std::holds_alternative<FlashAttention>(kernel.shape)) attentions -= flops(kernel) * 5 / 2;
      }
      EXPECT_EQ(products, 0);
      EXPECT_EQ(attentions, 0);
    }
  }
  const auto kernels = backward_kernels(model("llama3-8b"), UnitKind::kBlock, shape);
  const Gemm input = std::get<Gemm>(named(kernels, "wk.dgrad").shape);
  EXPECT_EQ(input.m, 8192);
  EXPECT_EQ(input.n, 4096);
  EXPECT_EQ(input.k, 1024);
  const Gemm weight = std::get<Gemm>(named(kernels, "wk.wgrad").shape);
  EXPECT_EQ(weight.m, 1024);
  EXPECT_EQ(weight.n, 4096);
  EXPECT_EQ(weight.k, 8192);
}

TEST(Transformer, RecomputesWhatItDidNotKeep) {
  StepShape shape;
  const Transformer& llama = model("llama3-8b");
  EXPECT_TRUE(recomputed_products(llama, shape).empty());
  shape.recompute = Recompute::kSelectiveOp;
  EXPECT_EQ(recomputed_products(llama, shape), (std::vector<std::string>{"wk", "wo", "w3_up"}));
  EXPECT_EQ(recomputed_products(model("gpt3-175b"), shape), (std::vector<std::string>{"wk", "wo"}));
  const auto selective = backward_kernels(llama, UnitKind::kBlock, shape);
  EXPECT_TRUE(named(selective, "swiglu").recompute);
  EXPECT_THROW(named(selective, "attention"), std::invalid_argument);
  EXPECT_THROW(named(selective, "ffn_residual"), std::invalid_argument);
  shape.recompute = Recompute::kFull;
  EXPECT_EQ(recomputed_products(llama, shape), (std::vector<std::string>{"wq", "wk", "wv", "wo", "w1_gate", "w3_up"}));
  EXPECT_EQ(recompute_of(Recompute::kSelectiveLayer, 0), Recompute::kNone);
  EXPECT_EQ(recompute_of(Recompute::kSelectiveLayer, 3), Recompute::kFull);
  EXPECT_EQ(recompute_of(Recompute::kSelectiveOp, 3), Recompute::kSelectiveOp);
  shape.early_stop = false;
  const auto full = backward_kernels(llama, UnitKind::kBlock, shape);
  const auto forward = forward_kernels(llama, UnitKind::kBlock, shape);
  ASSERT_GT(full.size(), forward.size());
  for (std::size_t i = 0; i < full.size(); ++i) {
    EXPECT_EQ(full[i].recompute, i < forward.size());
    if (full[i].recompute) {
      EXPECT_EQ(full[i].name, forward[i].name);
    }
  }
  shape.recompute = Recompute::kSelectiveOp;
  EXPECT_EQ(recomputed_products(model("gpt3-175b"), shape), (std::vector<std::string>{"wk", "wo", "w2_down"}));
  EXPECT_NO_THROW(named(backward_kernels(llama, UnitKind::kBlock, shape), "ffn_residual"));
}

TEST(Transformer, CountsTheFlopsOfTheConvention) {
  for (const Transformer& of : load_transformers()) {
    if (!has_plain_blocks(of)) continue;  // see experts_test.cpp
    StepShape shape;
    shape.sequence = of.sequence;
    shape.causal = false;
    // The convention also counts what is only looked up or scaled by; FlashAttention's backward pass does one product
    // more than the 12 L d s assume.
    const std::int64_t flash = of.relative > 0 ? 0 : 2 * of.layers * of.query_width() * of.sequence;
    std::int64_t unmultiplied = 0;
    for (const auto& [kind, units] : {std::pair{UnitKind::kEncoderBlock, of.encoder},
                                      {UnitKind::kBlock, of.layers},
                                      {UnitKind::kHead, std::int64_t{1}}}) {
      for (const Tensor& tensor : unit_tensors(of, kind)) {
        if (tensor.cols == 1) unmultiplied += tensor.elements() * units;
      }
    }
    const std::int64_t convention =
        convention_flops_per_token(of, of.sequence, /*with_embedding=*/false) - 6 * unmultiplied;
    EXPECT_EQ(step_flops(of, shape, false) / of.sequence, convention + flash) << of.name;
    EXPECT_LT(static_cast<double>(unmultiplied) / static_cast<double>(total_parameters(of)), 2e-3) << of.name;

    shape.recompute = Recompute::kFull;
    EXPECT_EQ(step_flops(of, shape, false), step_flops(of, StepShape{.sequence = of.sequence, .causal = false}, true));
    shape.early_stop = false;
    const std::int64_t again = step_flops(of, shape, true) - step_flops(of, shape, false);
    EXPECT_EQ(again, of.layers * flops_of(forward_kernels(of, UnitKind::kBlock, shape)) +
                         of.encoder * flops_of(forward_kernels(of, UnitKind::kEncoderBlock, shape)))
        << of.name;
  }
}

std::vector<std::string> names_of(const std::vector<Kernel>& kernels) {
  std::vector<std::string> names;
  names.reserve(kernels.size());
  for (const Kernel& kernel : kernels) names.emplace_back(kernel.name);
  return names;
}

/// T5 attends by operators, since weights of distances come to its scores, and its decoder to the encoder's result,
/// too.
TEST(Transformer, ADecoderBehindAnEncoderAttendsTwice) {
  StepShape shape;
  shape.sequences = 3;
  shape.sequence = 512;
  const Transformer& t5 = model("t5-3b");
  const std::vector<std::string> own = {"attn_norm", "wq",     "wk", "wv",           "attn_layout",  "scores",
                                        "softmax",   "values", "wo", "attn_dropout", "attn_residual"};
  const std::vector<std::string> cross = {"cross_norm",   "cross_wq",      "cross_wk",      "cross_wv",
                                          "cross_layout", "cross_scores",  "cross_softmax", "cross_values",
                                          "cross_wo",     "cross_dropout", "cross_residual"};
  const std::vector<std::string> mlp = {"ffn_norm", "w3_up",       "gelu",        "hidden_dropout",
                                        "w2_down",  "ffn_dropout", "ffn_residual"};
  std::vector<std::string> expected = own;
  expected.insert(expected.end(), mlp.begin(), mlp.end());
  EXPECT_EQ(names_of(forward_kernels(t5, UnitKind::kEncoderBlock, shape)), expected);
  expected.insert(expected.begin() + static_cast<std::ptrdiff_t>(own.size()), cross.begin(), cross.end());
  const std::vector<Kernel> decoder = forward_kernels(t5, UnitKind::kBlock, shape);
  EXPECT_EQ(names_of(decoder), expected);

  const auto& scores = std::get<Gemm>(named(decoder, "scores").shape);
  EXPECT_EQ(scores.batch, 3 * 32);
  EXPECT_EQ(scores.m, 512);
  EXPECT_EQ(scores.n, 512);
  EXPECT_EQ(scores.k, 128);
  // To 32 bits, the softmax and back, and behind it a mask of a byte an element.
  const std::int64_t elements = 3 * 32 * 512 * 512;
  EXPECT_EQ(traffic(decoder, "softmax").bytes_read, elements * (2 + 2 + 2 + 4 + 4 + 2));
  EXPECT_EQ(traffic(decoder, "softmax").bytes_written, elements * (2 + 4 + 4 + 2 + 2 + 1));
  EXPECT_EQ(traffic(decoder, "hidden_dropout").bytes_written, 3 * 512 * 16384 * (2 + 1));

  for (const UnitKind kind : {UnitKind::kEncoderBlock, UnitKind::kBlock}) {
    EXPECT_EQ(flops_of(backward_kernels(t5, kind, shape)), 2 * flops_of(forward_kernels(t5, kind, shape)));
  }
}

TEST(Transformer, RecomputesUpToTheLastProductOfADecoder) {
  StepShape shape;
  shape.sequence = 512;
  shape.recompute = Recompute::kFull;
  const Transformer& t5 = model("t5-3b");
  const std::vector<std::string> all = {"wq",           "wk",       "wv",       "scores",   "values",
                                        "wo",           "cross_wq", "cross_wk", "cross_wv", "cross_scores",
                                        "cross_values", "cross_wo", "w3_up"};
  EXPECT_EQ(recomputed_products(t5, shape), all);
  EXPECT_NO_THROW(named(backward_kernels(t5, UnitKind::kBlock, shape), "hidden_dropout"));
  // Scores and what they are multiplied with are batches of products, which no operator policy keeps.
  shape.recompute = Recompute::kSelectiveOp;
  const std::vector<std::string> selective = {"wk",       "scores",       "values",       "wo",
                                              "cross_wk", "cross_scores", "cross_values", "cross_wo"};
  EXPECT_EQ(recomputed_products(t5, shape), selective);
}

TEST(Transformer, CountsTrafficOfElementwiseWork) {
  StepShape shape;
  shape.sequence = 1024;
  const Transformer& llama = model("llama3-8b");
  const std::int64_t n = 1024 * 4096;
  const auto eager = forward_kernels(llama, UnitKind::kBlock, shape);
  EXPECT_EQ(traffic(eager, "attn_norm").bytes_read, 20 * n);
  EXPECT_EQ(traffic(eager, "attn_norm").bytes_written, 16 * n);
  EXPECT_EQ(traffic(eager, "attn_residual").bytes_read, 4 * n);
  EXPECT_EQ(traffic(eager, "swiglu").bytes_read, 6LL * 1024 * 14336);
  EXPECT_EQ(traffic(eager, "swiglu").launches, 2);
  EXPECT_EQ(traffic(eager, "repeat_kv").bytes_read, 2LL * 2 * 1024 * 1024);
  EXPECT_EQ(traffic(eager, "repeat_kv").bytes_written, 4 * n);

  shape.fusion = Fusion::kFused;
  const auto fused = forward_kernels(llama, UnitKind::kBlock, shape);
  EXPECT_EQ(traffic(fused, "attn_norm").bytes_read, 2 * n);
  EXPECT_EQ(traffic(fused, "attn_norm").bytes_written, 2 * n);
  EXPECT_EQ(traffic(fused, "ffn_norm").bytes_read, 4 * n);
  EXPECT_EQ(traffic(fused, "swiglu").bytes_written, 2LL * 1024 * 14336);
  EXPECT_THROW(named(fused, "attn_residual"), std::invalid_argument);
  // Input, gradient, the other two products' gradients and the residual's.
  EXPECT_EQ(traffic(backward_kernels(llama, UnitKind::kBlock, shape), "attn_norm.grad").bytes_read, 10 * n);

  const auto embedding = backward_kernels(llama, UnitKind::kEmbedding, shape);
  EXPECT_EQ(traffic(embedding, "embedding.grad").bytes_written, 2 * (128256LL * 4096 + n));
  EXPECT_EQ(flops_of(embedding), 0);
}

TEST(Transformer, CompiledBlocksAreFusedButForTheRotaryEmbedding) {
  const Transformer& llama = model("llama3-8b");
  const auto bytes = [&](UnitKind kind, const char* name, Fusion fusion) {
    const StepShape shape{.sequence = 1024, .fusion = fusion};
    const Elementwise pass = traffic(forward_kernels(llama, kind, shape), name);
    return pass.bytes_read + pass.bytes_written;
  };
  for (const char* name : {"attn_norm", "ffn_norm", "swiglu"}) {
    EXPECT_EQ(bytes(UnitKind::kBlock, name, Fusion::kCompiledBlocks), bytes(UnitKind::kBlock, name, Fusion::kFused));
  }
  EXPECT_EQ(bytes(UnitKind::kBlock, "rotary", Fusion::kCompiledBlocks),
            bytes(UnitKind::kBlock, "rotary", Fusion::kEager));
  for (const char* name : {"norm", "loss"}) {
    EXPECT_EQ(bytes(UnitKind::kHead, name, Fusion::kCompiledBlocks), bytes(UnitKind::kHead, name, Fusion::kEager));
  }
}

TEST(Transformer, FmsTurnsByMatricesAndLosesIn16Bits) {
  const Transformer& llama = model("llama3-8b");
  const std::int64_t turned = 1024LL * (32 + 8) * 128;
  const std::int64_t logits = 1024LL * 128'256;
  StepShape shape{.sequence = 1024, .fusion = Fusion::kEager, .code = Code::kFms};
  for (const auto& kernels :
       {forward_kernels(llama, UnitKind::kBlock, shape), backward_kernels(llama, UnitKind::kBlock, shape)}) {
    // To 32 bits, each number times two, which are added up, and back.
    const Elementwise rotary = traffic(kernels, kernels.front().name == "attn_norm" ? "rotary" : "rotary.grad");
    EXPECT_EQ(rotary.bytes_read, (2 + 4 + 8 + 4) * turned);
    EXPECT_EQ(rotary.bytes_written, (4 + 8 + 4 + 2) * turned);
    EXPECT_EQ(rotary.launches, 2 * 4);
  }
  EXPECT_EQ(traffic(forward_kernels(llama, UnitKind::kHead, shape), "loss").bytes_written, 2 * logits);
  EXPECT_EQ(traffic(backward_kernels(llama, UnitKind::kHead, shape), "loss.grad").bytes_written, 2 * 2 * logits);
  const StepShape other{.sequence = 1024, .fusion = Fusion::kEager};
  for (const char* name : {"attn_norm", "swiglu", "attn_residual"}) {
    EXPECT_EQ(traffic(forward_kernels(llama, UnitKind::kBlock, shape), name).bytes_read,
              traffic(forward_kernels(llama, UnitKind::kBlock, other), name).bytes_read);
  }
  // There are no complex numbers that a compiler would leave alone.
  shape.fusion = Fusion::kCompiledBlocks;
  EXPECT_EQ(traffic(forward_kernels(llama, UnitKind::kBlock, shape), "rotary").bytes_read, 2 * turned);
}

TEST(Transformer, FusedNormsLeaveTheRestEager) {
  const Transformer& llama = model("llama3-8b");
  const std::int64_t n = 1024LL * 4096;
  const StepShape shape{.sequence = 1024, .fusion = Fusion::kFusedNorms};
  const StepShape eager{.sequence = 1024, .fusion = Fusion::kEager};
  const auto forward = forward_kernels(llama, UnitKind::kBlock, shape);
  EXPECT_EQ(traffic(forward, "ffn_norm").bytes_read, 2 * n);  // the residual sum is a kernel of its own
  EXPECT_EQ(traffic(forward, "ffn_norm").launches, 1);
  for (const char* name : {"attn_residual", "rotary", "swiglu"}) {
    EXPECT_EQ(traffic(forward, name).bytes_read,
              traffic(forward_kernels(llama, UnitKind::kBlock, eager), name).bytes_read);
  }
  // Input and gradient, and four sums of two.
  EXPECT_EQ(traffic(backward_kernels(llama, UnitKind::kBlock, shape), "attn_norm.grad").bytes_read,
            2 * 2 * n + 3 * 2 * 2 * n);
}

TEST(Transformer, FusionNeverAddsTraffic) {
  for (const char* name : {"llama3-8b", "gpt3-175b"}) {
    for (const UnitKind kind : {UnitKind::kEmbedding, UnitKind::kBlock, UnitKind::kHead}) {
      std::map<Fusion, std::int64_t> bytes;
      for (const Fusion fusion : {Fusion::kEager, Fusion::kCompiledBlocks, Fusion::kFused}) {
        StepShape shape{.sequence = 2048, .fusion = fusion};
        auto kernels = forward_kernels(model(name), kind, shape);
        for (const Kernel& kernel : backward_kernels(model(name), kind, shape)) kernels.push_back(kernel);
        for (const Kernel& kernel : kernels) {
          const auto* traffic = std::get_if<Elementwise>(&kernel.shape);
          if (traffic == nullptr) continue;
          EXPECT_GT(traffic->launches, 0) << kernel.name;
          EXPECT_GT(traffic->bytes_read, 0) << kernel.name;
          bytes[fusion] += traffic->bytes_read + traffic->bytes_written;
        }
      }
      EXPECT_LE(bytes[Fusion::kFused], bytes[Fusion::kCompiledBlocks]) << name;
      EXPECT_LE(bytes[Fusion::kCompiledBlocks], bytes[Fusion::kEager]) << name;
    }
  }
}

TEST(TransformerTable, TakesAUsersFile) {
  EXPECT_EQ(error_of("mine,2,64,128,4,2,32,1000,yes,yes,0,no,rms,128"), "no error");
  EXPECT_EQ(error_of(""), "no error");
}

TEST(TransformerTable, SaysWhatIsWrong) {
  EXPECT_EQ(error_of(",2,64,128,4,2,,1000,yes,no,0,no,rms,128"), ":2: column 'name': expected a text, got ''");
  EXPECT_EQ(error_of("m,0,64,128,4,2,,1000,yes,no,0,no,rms,128"),
            ":2: column 'layers': expected an integer from 1 to 4096, got '0'");
  EXPECT_EQ(error_of("m,2,64,128,4,3,,1000,yes,no,0,no,rms,128"),
            ":2: column 'kv_heads': expected a divisor of 4 heads, got '3'");
  EXPECT_EQ(error_of("m,2,64,128,4,8,,1000,yes,no,0,no,rms,128"),
            ":2: column 'kv_heads': expected an integer from 1 to 4, got '8'");
  EXPECT_EQ(error_of("m,2,66,128,4,2,,1000,yes,no,0,no,rms,128"),
            ":2: column 'head_dim': expected a width, because d_model is no multiple of heads, got ''");
  EXPECT_EQ(error_of("m,2,64,128,4,2,,1000,maybe,no,0,no,rms,128"),
            ":2: column 'gated': expected yes or no, got 'maybe'");
  EXPECT_EQ(error_of("m,2,64,128,4,2,,1000,yes,no,0,no,batch,128"),
            ":2: column 'norm': expected rms or layer, got 'batch'");
  EXPECT_EQ(error_of("m,2,64,128,4,2,,1000,yes,no,64,no,rms,128"),
            ":2: column 'sequence': expected at most the 64 positions, got '128'");
  EXPECT_EQ(error_of("m,2,64,128,4,2,,1000,yes,no,0,no,rms,128\nm,2,64,128,4,2,,1000,yes,no,0,no,rms,128"),
            ":3: column 'name': expected a name that no other row has, got 'm'");
}

TEST(TransformerTable, ListsTheNamesThereAre) {
  const std::vector<Transformer> models = load_transformers();
  try {
    find_transformer(models, "llama9");
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(
        error.what(),
        "no transformer 'llama9', expected one of llama2-7b, llama2-13b, llama2-34b, llama2-70b, llama3-8b, "
        "llama3-70b, "
        "llama3.1-405b, gpt2, gpt2-xl, gpt3-175b, gpt-neox-20b, gpt-175b-fsdp, t5-3b, t5-2.28b, t5-11b, nano, nano-t5, "
        "deepseek-v3, kimi-k2, qwen3-235b-a22b, qwen3-30b-a3b, gpt-oss-120b, gpt-oss-20b");
  }
}

}  // namespace
}  // namespace weft::models
