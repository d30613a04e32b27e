// SPDX-License-Identifier: Apache-2.0
// Tables of networks and the kernels of second-order training that follow from them, against published totals.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "platforms/machine/find_accelerator.h"
#include "sw/kfac/layer_kernels.h"
#include "sw/kfac/packing.h"
#include "sw/kfac/placement.h"
#include "traces/files/format_error.h"

namespace weft::kfac {
namespace {

namespace fs = std::filesystem;
using models::find_network;
using models::Network;

/// The message of reading a table with these rows.
std::string table_error(const std::string& rows) {
  const fs::path file = fs::path(testing::TempDir()) / ("weft_network_" + std::to_string(getpid()) + ".csv");
  std::ofstream(file) << "layer,kind,channels_in,channels_out,kernel_height,kernel_width,stride,pad_height,pad_width,"
                         "height,width,bias\n"
                      << rows << "\n";
  std::string message = "no error";
  try {
    static_cast<void>(models::load_network(file));
  } catch (const traces::FormatError& error) {
    message = error.what();
    message.erase(0, file.string().size());
  }
  fs::remove(file);
  return message;
}

/// VGG: torchvision's metadata. Of the LSTM a matrix of 10,000 by 1,500 for words, one for the input and the state of
/// each of two layers with one bias, and the one that gives words.
TEST(KfacNetwork, HasTheParametersOfNetworksForCompression) {
  const auto parameters = [](const char* name) { return totals(find_network(name)).parameters; };
  EXPECT_EQ(parameters("vgg16"), 138'357'544);
  EXPECT_EQ(parameters("vgg19"), 143'667'240);
  EXPECT_NEAR(static_cast<double>(totals(find_network("vgg16")).multiplications), 15.47e9, 0.01e9);
  EXPECT_NEAR(static_cast<double>(totals(find_network("vgg19")).multiplications), 19.63e9, 0.01e9);
  EXPECT_EQ(parameters("lstm-ptb"), 10'000 * 1'500 + 2 * (3'000 * 6'000 + 6'000) + 1'500 * 10'000 + 10'000);
}

// Parameters: torchvision's and (Inception-v4) pretrained-models' metadata. Multiplications of the ResNets:
// torchvision. Triangles of ResNet-50: stated for the paper. All others were derived from the architectures apart from
// this code.
TEST(KfacNetwork, HasPublishedTotals) {
  const std::map<std::string, models::NetworkTotals> expected = {
      {"resnet50", {54, 25'557'032, 4'089'184'256, 62'348'671, 14'618'356, 4608, 50'160'000'000}},
      {"resnet152", {156, 60'192'808, 11'513'626'624, 161'955'199, 32'927'476, 4608, 151'480'000'000}},
      {"densenet201", {201, 20'013'928, 4'291'365'888, 130'961'295, 1'806'420, 1921, 140'690'000'000}},
      {"inceptionv4", {150, 42'679'816, 6'121'900'000, 116'414'683, 4'695'748, 3456, 76'910'000'000}}};
  for (const auto& [name, want] : expected) {
    const models::NetworkTotals have = totals(find_network(name));
    EXPECT_EQ(have.layers_with_factors, want.layers_with_factors) << name;
    EXPECT_EQ(have.parameters, want.parameters) << name;
    EXPECT_NEAR(static_cast<double>(have.multiplications) / static_cast<double>(want.multiplications), 1, 2e-5) << name;
    EXPECT_EQ(have.triangles_a, want.triangles_a) << name;
    EXPECT_EQ(have.triangles_g, want.triangles_g) << name;
    EXPECT_EQ(have.largest_side, want.largest_side) << name;
    EXPECT_NEAR(static_cast<double>(have.factor_flops) / static_cast<double>(want.factor_flops), 1, 1e-4) << name;
  }
  EXPECT_EQ(find_network("resnet50").batch, 32);
  EXPECT_EQ(find_network("resnet152").batch, 8);
}

TEST(KfacNetwork, ErrorsSayWhereAndWhat) {
  EXPECT_EQ(table_error("a,pool,1,1,,,,,,1,1,no"),
            ":2: column 'kind': expected conv, linear, norm, residual-norm, max-pool, average-pool, concat or "
            "branches, got 'pool'");
  EXPECT_EQ(table_error("a,linear,8,4,3,,,,,1,1,no"),
            ":2: column 'kernel_height': expected nothing for a linear layer, got '3'");
  EXPECT_EQ(table_error("a,linear,8,4,,,,,,1,1,no\na,linear,4,2,,,,,,1,1,no"),
            ":3: column 'layer': expected a name that no other row has, got 'a'");
  EXPECT_EQ(table_error("a,conv,3,8,5,5,1,0,0,4,9,no"),
            ":2: column 'kernel_height': expected at most the 4 rows of the padded image, got '5'");
  EXPECT_EQ(table_error("a,conv,3,8,5,5,1,0,1,9,2,no"),
            ":2: column 'kernel_width': expected at most the 4 columns of the padded image, got '5'");
  EXPECT_EQ(table_error("a,conv,3,8,3,3,0,0,0,9,9,no"),
            ":2: column 'stride': expected an integer from 1 to 64, got '0'");
  EXPECT_EQ(table_error("a,conv,,8,3,3,1,0,0,9,9,no"),
            ":2: column 'channels_in': expected an integer from 1 to 262144, got ''");
  EXPECT_EQ(table_error("a,norm,8,4,,,,,,1,1,yes"),
            ":2: column 'channels_out': expected the 8 channels that come in, got '4'");
  EXPECT_EQ(table_error("a,norm,8,8,,,,,,1,1,no"), ":2: column 'bias': expected yes for a norm, got 'no'");
  EXPECT_EQ(table_error("a,conv,262144,8,3,3,1,0,0,9,9,no"),
            ":2: column 'channels_in': expected a factor of at most 1048576 rows, not 2359296, got '262144'");
  EXPECT_EQ(table_error("a,max-pool,8,4,2,2,2,0,0,4,4,no"),
            ":2: column 'channels_out': expected the 8 channels that come in, got '4'");
  EXPECT_EQ(table_error("a,average-pool,8,8,,,,,,4,4,no"),
            ":2: column 'kernel_height': expected an integer from 1 to 64, got ''");
  EXPECT_EQ(table_error("a,branches,8,12,,,,,,4,4,no"),
            ":2: column 'channels_out': expected a multiple of the 8 channels that come in, got '12'");
  EXPECT_EQ(table_error("a,branches,8,8200,,,,,,4,4,no"),
            ":2: column 'channels_out': expected at most 1024 branches of 8 channels, got '8200'");
  EXPECT_EQ(table_error("a,linear,8,4,,,,,,1,1,no\nb,conv,262144,262144,2,2,1,0,0,16384,16384,no"),
            ":3: column 'channels_in': expected layers of at most 1e+18 operations a sample, this one and those before "
            "it having 1.1e+21, got '262144'");
  EXPECT_EQ(table_error("a,concat,8,8,,,2,,,4,4,no"),
            ":2: column 'stride': expected nothing for a concat layer, got '2'");
  EXPECT_EQ(table_error("a,concat,8,8,,,,,,4,4,yes"),
            ":2: column 'bias': expected no for what has no parameters, got 'yes'");
  EXPECT_EQ(table_error("a,concat,8,8,,,,,,4,4,no"),
            ":2: column 'kind': expected a layer behind what moves data, got 'concat'");
  EXPECT_EQ(table_error("a,concat,8,8,,,,,,4,4,no\na,linear,8,4,,,,,,1,1,no"),
            ":3: column 'layer': expected a name that no other row has, got 'a'");
  EXPECT_EQ(table_error("a,linear,8,4,,,,,,1,1,no"), "no error");
  EXPECT_EQ(table_error(""), ":1: expected a layer below the names of the columns, found none");
  try {
    static_cast<void>(find_network("vgg"));
    ADD_FAILURE();
  } catch (const std::invalid_argument& error) {
    EXPECT_EQ(std::string(error.what())
                  .find("no network 'vgg', expected one of resnet50, resnet152, densenet201, inceptionv4, nano-conv, "
                        "resnet101, vgg16, vgg19, lstm-ptb, llama2-7b"),
              0U)
        << error.what();
  }
}

TEST(KfacNetwork, LinearLayersNeedNoImage) {
  const fs::path file = fs::path(testing::TempDir()) / ("weft_linear_" + std::to_string(getpid()) + ".csv");
  std::ofstream(file) << "layer,kind,channels_in,channels_out,bias\na,linear,8,4,no\n";
  EXPECT_EQ(models::load_network(file).layers.at(0).positions(), 1);
  std::ofstream(file) << "layer,kind,channels_in,channels_out,bias\na,norm,8,8,yes\n";
  try {
    static_cast<void>(models::load_network(file));
    ADD_FAILURE();
  } catch (const traces::FormatError& error) {
    EXPECT_NE(std::string(error.what()).find("expected a column 'height'"), std::string::npos) << error.what();
  }
  fs::remove(file);
  EXPECT_EQ(table_error("a,linear,8,4,,,,,,,,no"), "no error");
}

TEST(KfacNetwork, JsonIsReadAsATable) {
  const fs::path stem = fs::path(testing::TempDir()) / ("weft_network_" + std::to_string(getpid()));
  const fs::path file = stem.string() + ".json";
  const auto read = [&](const std::string& text) {
    std::ofstream(file) << text;
    return models::load_network(file);
  };
  const std::string linear = R"("kind": "linear", "channels_in": 4, "channels_out": 2, "height": 1, "width": 3, )";
  const Network network = read(R"({ "name": "mine", "batch": 7, "layers": [
      { "layer": "c", "kind": "conv", "channels_in": 3, "channels_out": 8, "kernel_height": 3, "kernel_width": 2,
        "stride": 2, "pad_height": 1, "pad_width": 0, "height": 9, "width": 6, "bias": true },
      { "layer": "l", )" + linear +
                               R"("bias": false } ] })");
  EXPECT_EQ(network.name, "mine");
  EXPECT_EQ(network.batch, 7);
  ASSERT_EQ(network.layers.size(), 2U);
  EXPECT_EQ(network.layers[0].positions(), 5 * 3);
  EXPECT_EQ(models::factor_a(network.layers[0]), 3 * 3 * 2 + 1);
  EXPECT_EQ(network.layers[1].positions(), 3);
  EXPECT_EQ(models::parameters(network.layers[1]), 8);
  EXPECT_EQ(read(R"({ "layers": [] })").name, stem.filename());
  EXPECT_EQ(read(R"({ "layers": [] })").batch, 1);

  const std::string head = R"({ "layers": [ { "layer": "a", )";
  const std::vector<std::pair<std::string, std::string>> wrong = {
      {"[]", ": expected an object with layers, got []"},
      {R"({ "layers": 3 })", ": layers: expected an array, got 3"},
      {R"({ "name": 3, "layers": [] })", ": name: expected a name, got 3"},
      {R"({ "batch": 0, "layers": [] })", ": batch: expected a whole number from 1 to 1048576, got 0"},
      {R"({ "layer": [] })", ": layer: expected one of name, batch, layers; did you mean \"layers\"?"},
      {R"({ "layers": [ 3 ] })", ": layers[0]: expected an object, got 3"},
      {R"({ "layers": [ { "kin": 1 } ] })",
       ": layers[0].kin: expected one of layer, kind, channels_in, channels_out, kernel_height, kernel_width, stride, "
       "pad_height, pad_width, height, width, bias; did you mean \"kind\"?"},
      {R"({ "layers": [ { "layer": 3 } ] })", ": layers[0].layer: expected a text, got 3"},
      {head + R"("kind": "linear", "channels_in": "4" } ] })",
       ": layers[0].channels_in: expected a whole number from 1 to 262144, got \"4\""},
      {head + R"("kind": "linear" } ] })", ": layers[0].channels_in: expected a whole number from 1 to 262144"},
      {head + linear + R"("bias": "no" } ] })", ": layers[0].bias: expected true or false, got \"no\""},
      {head + linear + R"("bias": false, "kernel_height": 3 } ] })",
       ": layers[0].kernel_height: expected nothing for a linear layer, got 3"},
      {head + linear + R"("bias": false }, { "layer": "a", )" + linear + R"("bias": false } ] })",
       ": layers[1].layer: expected a name that no other row has, got \"a\""}};
  for (const auto& [text, message] : wrong) {
    try {
      static_cast<void>(read(text));
      ADD_FAILURE() << text << " was accepted";
    } catch (const traces::FormatError& error) {
      EXPECT_EQ(error.what(), file.string() + message);
    }
  }
  fs::remove(file);
}

/// Bytes of a network's kernels that only move data, for one sample.
std::int64_t moved(const Network& network, bool backward) {
  std::int64_t bytes = 0;
  for (const models::Layer& layer : network.layers) {
    for (const LayerKernel& kernel : backward ? backward_kernels(layer, 1, false) : forward_kernels(layer, 1)) {
      const bool moves =
          kernel.name.starts_with("pool") || kernel.name.starts_with("concat") || kernel.name.starts_with("branches");
      if (!moves) continue;
      const auto& shape = std::get<accelerator::Elementwise>(kernel.shape);
      bytes += shape.read.count() + shape.written.count();
    }
  }
  return bytes;
}

// Of each network by hand. A maximum is 4 bytes and its index 8.
TEST(KfacNetwork, MovesWhatIsPooledAndConcatenated) {
  const std::int64_t first_pool = 64 * (112 * 112 * 4 + 56 * 56 * 12);
  const std::int64_t first_pool_back = 64 * (112 * 112 * 8 + 56 * 56 * 12);
  const std::int64_t last_pool = 2048 * (49 + 1) * 4;
  for (const char* name : {"resnet50", "resnet152"}) {
    EXPECT_EQ(moved(find_network(name), false), first_pool + last_pool) << name;
    EXPECT_EQ(moved(find_network(name), true), first_pool_back + last_pool) << name;
  }

  // Each layer of a block reads all results before it as one tensor, and what follows the block all of them. But for
  // the latter their gradients are added to others'.
  std::int64_t concatenated = 0;
  std::int64_t summed = 0;
  std::int64_t channels = 64;
  std::int64_t pooled = 0;
  for (const auto& [layers, side] : {std::pair{6, 56}, {12, 28}, {48, 14}, {32, 7}}) {
    const std::int64_t area = side * side;
    for (int layer = 0; layer < layers; ++layer, channels += 32) {
      concatenated += channels * area;
      summed += channels * area;
    }
    concatenated += channels * area;
    if (side == 7) {
      pooled += channels * (area + 1) * 4;
    } else {
      channels /= 2;
      pooled += channels * (area + area / 4) * 4;
    }
  }
  EXPECT_EQ(moved(find_network("densenet201"), false), first_pool + pooled + concatenated * 8);
  EXPECT_EQ(moved(find_network("densenet201"), true), first_pool_back + pooled + summed * 12);

  // The first of Inception-v4's: 64 channels go to a pool and a convolution, whose results become 160.
  const Network inception = find_network("inceptionv4");
  const auto mixed = std::find_if(inception.layers.begin(), inception.layers.end(),
                                  [](const models::Layer& layer) { return !layer.before.empty(); });
  ASSERT_NE(mixed, inception.layers.end());
  EXPECT_EQ(mixed->name, "features.3(Mixed_3a).conv");
  ASSERT_EQ(mixed->before.size(), 2U);
  EXPECT_EQ(mixed->before[0].kind, models::MoveKind::kBranches);
  EXPECT_EQ(mixed->before[0].elements_out, 2 * 64 * 109 * 109);
  EXPECT_EQ(mixed->before[1].kind, models::MoveKind::kMaxPool);
  EXPECT_EQ(mixed->before[1].elements_out, 64 * 54 * 54);
  // What is concatenated has as many elements as the branches that read it.
  std::int64_t joined = 0;
  std::int64_t modules = 0;
  for (const models::Layer& layer : inception.layers) {
    for (std::size_t i = 0; i + 1 < layer.before.size(); ++i) {
      if (layer.before[i].kind != models::MoveKind::kConcat) continue;
      if (layer.before[i + 1].kind != models::MoveKind::kBranches) continue;
      EXPECT_EQ(layer.before[i].elements_out, layer.before[i + 1].elements_in) << layer.name;
      joined += layer.before[i].elements_out;
      ++modules;
    }
  }
  EXPECT_EQ(modules, 18);
  EXPECT_EQ(joined, 160 * 54 * 54 + 192 * 52 * 52 + 5 * 384 * 25 * 25 + 8 * 1024 * 12 * 12 + 3 * 1536 * 5 * 5);
}

TEST(KfacNetwork, TransformersAreTheirMatrices) {
  const std::vector<models::Transformer> known = models::load_transformers();
  const Network network = network_of(find_transformer(known, "gpt3-175b"));
  const models::NetworkTotals sums = totals(network);
  EXPECT_EQ(sums.layers_with_factors, 96 * 6);
  EXPECT_EQ(sums.parameters, 96 * (std::int64_t{12} * 12288 * 12288 + 12288 * 5 + 49152));
  EXPECT_EQ(sums.largest_side, 49153);
  const Network by_name = models::find_network("gpt3-175b");
  EXPECT_EQ(by_name.layers.size(), network.layers.size());
  EXPECT_EQ(by_name.batch, 1);
}

// A small network by hand: 2 x 2 convolution with bias on 3 x 3 images, norm, linear.
TEST(KfacNetwork, KernelsHaveTheLayersShapes) {
  models::Layer conv{"c", models::LayerKind::kConv, 3, 5, 2, 2, 1, 0, 0, 3, 3, true};
  EXPECT_EQ(factor_a(conv), 13);
  EXPECT_EQ(factor_g(conv), 5);
  EXPECT_EQ(parameters(conv), 65);
  const auto product_of_factor = std::get<accelerator::Gemm>(factor_a_kernels(conv, 7).at(3).shape);
  EXPECT_EQ(product_of_factor.m, 13);
  EXPECT_EQ(product_of_factor.n, 13);
  EXPECT_EQ(product_of_factor.k, 7 * 4);
  EXPECT_EQ(std::get<accelerator::Elementwise>(factor_a_kernels(conv, 7).at(0).shape).read.count(), 4 * 7 * 3 * 9);
  EXPECT_EQ(std::get<accelerator::Gemm>(factor_g_kernels(conv, 7).at(4).shape).m, 5);
  EXPECT_EQ(backward_kernels(conv, 7, true).size(), 1U);
  EXPECT_EQ(backward_kernels(conv, 7, false).size(), 2U);
  const auto precondition = precondition_kernels(conv);
  EXPECT_EQ(std::get<accelerator::Gemm>(precondition.at(0).shape).k, 5);
  EXPECT_EQ(std::get<accelerator::Gemm>(precondition.at(1).shape).k, 13);
  const models::Layer norm{"n", models::LayerKind::kNorm, 5, 5, 1, 1, 1, 0, 0, 2, 2, true};
  const models::Layer linear{"l", models::LayerKind::kLinear, 20, 2};
  EXPECT_TRUE(factor_a_kernels(norm, 7).empty() && factor_g_kernels(norm, 7).empty());
  EXPECT_TRUE(precondition_kernels(norm).empty());
  EXPECT_EQ(factor_a_kernels(linear, 7).size(), 5U);
  models::Layer sum = norm;
  sum.residual = true;
  EXPECT_EQ(parameters(sum), parameters(norm));
  for (const auto& [with, without] : {std::pair(forward_kernels(sum, 7), forward_kernels(norm, 7)),
                                      std::pair(backward_kernels(sum, 7, false), backward_kernels(norm, 7, false))}) {
    ASSERT_EQ(with.size(), without.size() + 1);
    const auto added = std::find_if(with.begin(), with.end(),
                                    [](const LayerKernel& kernel) { return kernel.name.starts_with("addition"); });
    ASSERT_NE(added, with.end());
    EXPECT_EQ(std::get<accelerator::Elementwise>(added->shape).read.count(), 2 * 4 * 7 * 5 * 4);
  }

  const Network network{"small", 7, {conv, norm, linear}};
  EXPECT_EQ(factor_sides(network), (std::vector<std::int64_t>{13, 5, 20, 2}));
  const KernelTime one = [](const LayerKernel&) { return 1.0; };
  const std::vector<Ready> a = ready_factors_a(network, one);
  ASSERT_EQ(a.size(), 2U);
  EXPECT_EQ(a[0].compute, 7);          // patches, two scalings, product, average in three passes
  EXPECT_EQ(a[1].compute, 1 + 2 + 5);  // the convolution, the norm with activation, the factor
  EXPECT_EQ(a[1].elements, 210);
  const std::vector<Ready> g = ready_factors_g(network, one);
  ASSERT_EQ(g.size(), 2U);
  EXPECT_EQ(g[0].compute, 2 + 5);
  EXPECT_EQ(g[1].compute, 2 + 1 + 8);
  const std::vector<Ready> gradients = ready_gradients(network, one, false);
  ASSERT_EQ(gradients.size(), 3U);
  EXPECT_EQ(gradients[0].elements, 40);
  EXPECT_EQ(gradients[1].compute, 2);
  EXPECT_EQ(ready_gradients(network, one, true)[1].compute, 5 + 2);
  const Network empty{"empty", 1, {}};
  EXPECT_TRUE(ready_factors_a(empty, one).empty() && ready_factors_g(empty, one).empty());
  EXPECT_TRUE(ready_gradients(empty, one, true).empty() && factor_sides(empty).empty());
  EXPECT_EQ(totals(empty).parameters, 0);
}

TEST(KfacKernels, OfMixedPrecisionReadHalfTheActivationsAndMakeFactorsInFloat32) {
  const models::Layer linear{"l", models::LayerKind::kLinear, 20, 2};
  const Types types{accelerator::DataType::kBf16, accelerator::DataType::kTf32};
  const std::vector<LayerKernel> forward = forward_kernels(linear, 7, types);
  ASSERT_EQ(forward.size(), 2U);
  EXPECT_EQ(std::get<accelerator::Elementwise>(forward[0].shape).read.count(), 4 * 20 * 2) << "weights are cast";
  EXPECT_EQ(std::get<accelerator::Gemm>(forward[1].shape).type, accelerator::DataType::kBf16);
  const std::vector<LayerKernel> a = factor_a_kernels(linear, 7, types);
  EXPECT_EQ(a[0].name, "factor_a.cast");
  EXPECT_EQ(std::get<accelerator::Elementwise>(a[0].shape).read.count(), 2 * 7 * 20);
  EXPECT_EQ(std::get<accelerator::Elementwise>(a[0].shape).written.count(), 4 * 7 * 20);
  EXPECT_EQ(std::get<accelerator::Gemm>(a[2].shape).type, accelerator::DataType::kTf32);
  EXPECT_EQ(std::get<accelerator::Inverse>(inverse_kernels(20)[1].shape).type, accelerator::DataType::kFp32);
  EXPECT_EQ(std::get<accelerator::Gemm>(precondition_kernels(linear, types)[0].shape).type,
            accelerator::DataType::kTf32);
}

TEST(KfacKernels, WhatTravelsIsPackedByPositionsByOneKernelOrNotAtAll) {
  constexpr std::int64_t kElements = 10 * 11 / 2;
  const auto bytes = [](const std::vector<LayerKernel>& kernels) {
    std::int64_t sum = 0;
    for (const LayerKernel& kernel : kernels) {
      const auto& pass = std::get<accelerator::Elementwise>(kernel.shape);
      sum += (pass.read + pass.written).count();
    }
    return sum;
  };
  const auto doubles = [](const LayerKernel& kernel) {
    return std::get<accelerator::Elementwise>(kernel.shape).doubles_per_element;
  };
  // A list is 16 bytes an element; whoever reads it reads and writes an element of 4.
  const Packing indices = Packing::kIndices;
  EXPECT_EQ(bytes(pack_kernels(indices, 10)), (16 + 24) * kElements);
  EXPECT_EQ(bytes(unpack_kernels(indices, 10)), (2 * 16 + 3 * 24) * kElements);
  EXPECT_GT(doubles(pack_kernels(indices, 10)[0]), 0);
  EXPECT_EQ(doubles(pack_kernels(indices, 10)[1]), 0);
  EXPECT_EQ(bytes(pack_factor_kernels(indices, 10, false)), bytes(pack_kernels(indices, 10)));
  EXPECT_EQ(bytes(pack_factor_kernels(indices, 10, true)), bytes(pack_kernels(indices, 10)) + 8 * kElements);
  EXPECT_EQ(bytes(unpack_factor_kernels(indices, 10, false)), bytes(unpack_kernels(indices, 10)) + 8 * 10 * 10);
  EXPECT_EQ(bytes(unpack_factor_kernels(indices, 10, true)),
            bytes(unpack_factor_kernels(indices, 10, false)) + 8 * kElements);
  // One kernel reads the triangle and writes it, or both halves, wherever that is.
  for (const bool merged : {false, true}) {
    EXPECT_EQ(pack_factor_kernels(Packing::kFused, 10, merged).size(), 1U);
    EXPECT_EQ(bytes(pack_factor_kernels(Packing::kFused, 10, merged)), 2 * 4 * kElements);
    EXPECT_EQ(unpack_factor_kernels(Packing::kFused, 10, merged).size(), 1U);
    EXPECT_EQ(bytes(unpack_factor_kernels(Packing::kFused, 10, merged)), 4 * kElements + 4 * 10 * 10);
  }
  EXPECT_EQ(bytes(unpack_kernels(Packing::kFused, 10)), 4 * kElements + 4 * 10 * 10);
  // A square is sent from where it is; merged it is copied there and back.
  EXPECT_TRUE(pack_kernels(Packing::kSquares, 10).empty());
  EXPECT_TRUE(unpack_kernels(Packing::kSquares, 10).empty());
  EXPECT_TRUE(pack_factor_kernels(Packing::kSquares, 10, false).empty());
  EXPECT_EQ(bytes(pack_factor_kernels(Packing::kSquares, 10, true)), 8 * 100);
  EXPECT_EQ(bytes(unpack_factor_kernels(Packing::kSquares, 10, false)), 8 * 100);
  EXPECT_EQ(bytes(unpack_factor_kernels(Packing::kSquares, 10, true)), 2 * 8 * 100);
  EXPECT_EQ(sent_elements(Packing::kSquares, 10), 100);
  EXPECT_EQ(sent_elements(Packing::kFused, 10), kElements);
  EXPECT_EQ(cost_by_side(indices, LinearCost{7, 2})(10), 7 + 2 * kElements);
}

}  // namespace
}  // namespace weft::kfac
