// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "hw/core/config/any_config.h"
#include "hw/core/config/registry.h"
#include "sw/compression/config.h"
#include "sw/compression/kernel.h"
#include "sw/compression/scopes.h"

/// Ways of compressing the messages of collectives that sum, by the names that `compression.method` gives them. Weft's
/// own are listed in compressors.cpp, each in a file of sw/compression/methods; a user provides others before the
/// platform is read:
///
///     compression::provide({.name = "my-random",
///                           .doc = "elements at random",
///                           .plan = [](const compression::Message& message, const CompressionConfig& config) {
///                             return compression::pairs_plan(message, config, {...});
///                           },
///                           .make = [](const compression::Site& site) { return std::make_unique<MyRandom>(site); }});
namespace weft::compression {

/// What is to be summed: float32, or what travels by blocks.
struct Message {
  struct Tensor {
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    [[nodiscard]] std::int64_t elements() const { return rows * columns; }
  };
  std::int64_t elements = 0;
  /// Its parts, one behind the other, where the caller knows them; may be empty.
  std::vector<Tensor> tensors = {};
  /// Of an element in memory: 2 where 16-bit numbers travel by blocks (Blocks).
  std::int64_t element_bytes = kElement;
};

/// How what is left of a message travels.
enum class Wire : std::uint8_t {
  kGathered,  ///< an Allgather of what each rank sends, which each adds up
  kSummed,    ///< an AllReduce of fewer floats, of which each makes the sum
  kHops,      ///< a ring: every hop decompresses, adds and compresses again
};
inline EnumNames<Wire> enum_names(Wire /*tag*/) {
  return {{"allgather", Wire::kGathered}, {"all_reduce", Wire::kSummed}, {"hops", Wire::kHops}};
}

/// What compressing a message of one size takes, on every rank alike.
struct Plan {
  /// What is computed, and then sent.
  struct Round {
    Kernels kernels;
    std::uint64_t bytes = 0;  ///< of one rank; where they vary, what is aimed at
    std::uint64_t most = 0;   ///< that they can be; 0: the same
  };

  Wire wire = Wire::kGathered;
  std::vector<Round> rounds = {};  ///< at least one, more than one only where kSummed; none where kHops
  /// How much each rank sends is known when it has been compressed.
  bool varies = false;
  /// Bytes by which what is sent grows: messages are whole numbers of them.
  std::uint64_t unit = kElement;
  /// What came, of so many ranks, or of one sum, becomes the sum.
  std::function<Kernels(int messages)> after;
  // kHops, of one block of so many elements. Its codec keeps nothing from message to message.
  std::function<Kernels(std::int64_t elements)> first = {};  ///< it is compressed
  std::function<Kernels(std::int64_t elements)> hop = {};    ///< what came is added to it, and it is compressed
  std::function<Kernels(std::int64_t elements)> last = {};   ///< it is decompressed
  std::function<Kernels(std::int64_t elements)> add = {};    ///< what came is added to it; none: as `hop`
  std::function<std::uint64_t(std::int64_t elements)> block_bytes = {};
  std::function<std::uint64_t(std::int64_t elements)> most_block_bytes = {};  ///< none: the same
  /// That it keeps from step to step, beside what error feedback leaves behind.
  std::int64_t state_bytes = 0;

  [[nodiscard]] std::uint64_t most(std::size_t round) const {
    return rounds[round].most > 0 ? rounds[round].most : rounds[round].bytes;
  }
  /// Of all rounds.
  [[nodiscard]] std::uint64_t bytes() const {
    std::uint64_t sum = 0;
    for (const Round& round : rounds) sum += round.bytes;
    return sum;
  }
};

/// One rank's arithmetic for one message, from step to step.
class Codec {
 public:
  using Sent = std::vector<std::byte>;

  Codec() = default;
  virtual ~Codec() = default;
  Codec(const Codec&) = delete;
  Codec& operator=(const Codec&) = delete;

  /// Before anything: what the gradient itself becomes.
  virtual void prepare(std::span<float> /*gradient*/) {}
  /// What is sent of `values` in a round; `came`, from the second on, is the sum that came of the round before.
  [[nodiscard]] virtual Sent compress(std::span<const float> values, std::size_t round,
                                      std::span<const std::byte> came) = 0;
  /// Adds what a message of the last round stands for: a rank's, or the sum of those of all ranks.
  virtual void add(std::span<const std::byte> message, std::span<float> values) const = 0;
  /// The same in place of what `values` were.
  virtual void read(std::span<const std::byte> message, std::span<float> values) const {
    std::fill(values.begin(), values.end(), 0.0F);
    add(message, values);
  }
  /// When the messages of all ranks have been added.
  virtual void finish(std::span<float> /*sum*/, int /*ranks*/) const {}
};

/// What a codec is made for.
struct Site {
  const Message& message;
  const CompressionConfig& config;
  std::uint64_t seed = 0;  ///< the same for all ranks, and of this message
  int rank = 0;

  /// The fields of the compressor of this name.
  template <typename Own>
  [[nodiscard]] const Own& own(std::string_view name) const {
    return config.own.of(name).template as<Own>();
  }
};

/// A way of compressing.
struct Compressor {
  std::string name;
  std::string doc;  ///< a few words, behind the name in the reference of `compression.method`

  /// The fields that it has for itself, at `compression.NAME` with _ for -. May be none.
  AnyConfig config = {};
  std::string config_doc = {};

  /// Which of the common fields it follows.
  bool follows_ratio = true;
  bool follows_stages = false;
  bool follows_error_feedback = true;
  /// Without data the ratio stands for what fields of its own decide, and with data these alone.
  bool ratio_stands_for_own = false;
  /// What comes is what was sent, to the bit, whatever it means.
  bool exact = false;
  /// A message stands for all of its elements, not for a sum: an Allgather, a ReduceScatter, an AllToAll or a send can
  /// have it as well. Those that travel by hops all do.
  bool dense = false;

  /// Throws ConfigError for fields of its own that it cannot have; `path` is where they stand. May be none.
  std::function<void(const CompressionConfig& config, const std::string& path)> check = {};
  std::function<Plan(const Message& message, const CompressionConfig& config)> plan;
  std::function<std::unique_ptr<Codec>(const Site& site)> make;
};

/// Adds a user's own. Throws std::invalid_argument for a name that is taken, or that a field beside its own has.
void provide(Compressor compressor);

/// All there are.
[[nodiscard]] const Registry<Compressor>& compressors();
/// Throws ConfigError, with the path of the configuration, if there is none of this name. Not for `none`.
[[nodiscard]] const Compressor& compressor_of(const CompressionConfig& config,
                                              const std::string& path = "workload.compression");

/// Throws ConfigError, with the path of the configuration, for values that it cannot have.
void check(const CompressionConfig& config, const std::string& path);
/// The same of all scopes; also where a scope has a compressor that none of its messages can have.
void check(const MessageCompression& config, const std::string& path = "collectives.compression");
/// Names of those whose messages can be of any collective or send (Blocks).
[[nodiscard]] std::vector<std::string> compressors_by_blocks();

/// For the checks of fields. Throws ConfigError: expected `what`, got `value`.
void expect(bool held, const std::string& path, const std::string& what, double value);

/// Fields of a configuration that change nothing, and why: for remarks.
struct Unfollowed {
  std::string field;
  std::string why;
};
/// `real`: with data on.
[[nodiscard]] std::vector<Unfollowed> unfollowed(const CompressionConfig& config, bool real, const std::string& path);
[[nodiscard]] std::vector<Unfollowed> unfollowed(const MessageCompression& config, bool real,
                                                 const std::string& path = "collectives.compression");

/// What the compressor says, of each tensor by itself if the configuration has it so.
[[nodiscard]] Plan plan_of(const Message& message, const CompressionConfig& config);
[[nodiscard]] std::unique_ptr<Codec> codec_of(const Site& site);

/// Takes what a message of its own stands for from `values`, which keeps the rest: what is added to the next one (error
/// feedback: Seide et al., Interspeech 2014; Stich et al., NeurIPS 2018).
void leave(const Codec& codec, std::span<const std::byte> message, std::span<float> values);

}  // namespace weft::compression
