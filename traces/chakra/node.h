// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

/// Chakra execution traces, the format of MLCommons in which ASTRA-sim reads its workloads: one file per rank, a graph
/// of compute, memory and communication nodes. Schema 1.0.0. These are the messages as plain types; what this version
/// of the schema does not know is kept in `unknown`, so that a file read and written stays what it was.
namespace weft::chakra {

/// What a node asks of the machine. Files may hold other numbers: see `name_of` and `is_known`.
enum class NodeType : int {
  kInvalid = 0,
  kMetadata = 1,
  kMemoryLoad = 2,
  kMemoryStore = 3,
  kCompute = 4,
  kSend = 5,
  kReceive = 6,
  kCollective = 7,
};
inline constexpr int kNodeTypes = 8;
[[nodiscard]] bool is_known(NodeType type);
/// As the schema writes it, such as COMP_NODE; a number for a type that it does not have.
[[nodiscard]] std::string name_of(NodeType type);
[[nodiscard]] std::optional<NodeType> node_type(std::string_view name);

/// The schema's CollectiveCommType, the values of the attribute comm_type.
enum class CollectiveType : int {
  kAllReduce = 0,
  kReduce = 1,
  kAllGather = 2,
  kGather = 3,
  kScatter = 4,
  kBroadcast = 5,
  kAllToAll = 6,
  kReduceScatter = 7,
  kReduceScatterBlock = 8,
  kBarrier = 9,
};
inline constexpr int kCollectiveTypes = 10;
/// As the schema writes it, such as ALL_REDUCE; a number for a type that it does not have.
[[nodiscard]] std::string name_of(CollectiveType type);
/// Whether one member has what all get, or gets what all have.
[[nodiscard]] constexpr bool has_root(CollectiveType type) {
  return type == CollectiveType::kBroadcast || type == CollectiveType::kReduce || type == CollectiveType::kGather ||
         type == CollectiveType::kScatter;
}

/// How the file holds a value: the field numbers of AttributeProto. A list follows its scalar.
enum class ValueKind : std::uint8_t {
  kNone = 0,
  kDouble = 3,
  kDoubleList = 4,
  kFloat = 5,
  kFloatList = 6,
  kInt32 = 7,
  kInt32List = 8,
  kInt64 = 9,
  kInt64List = 10,
  kUint32 = 11,
  kUint32List = 12,
  kUint64 = 13,
  kUint64List = 14,
  kSint32 = 15,
  kSint32List = 16,
  kSint64 = 17,
  kSint64List = 18,
  kFixed32 = 19,
  kFixed32List = 20,
  kFixed64 = 21,
  kFixed64List = 22,
  kSfixed32 = 23,
  kSfixed32List = 24,
  kSfixed64 = 25,
  kSfixed64List = 26,
  kBool = 27,
  kBoolList = 28,
  kString = 29,
  kStringList = 30,
  kBytes = 31,
  kBytesList = 32,
};
/// The schema's field name, such as "int64_val" or "bool_list"; "" for kNone.
[[nodiscard]] std::string_view name_of(ValueKind kind);
[[nodiscard]] std::optional<ValueKind> value_kind(std::string_view name);

/// Signed kinds are held as int64_t, unsigned ones as uint64_t, strings and bytes as string.
using Value = std::variant<std::monostate, double, float, std::int64_t, std::uint64_t, bool, std::string,
                           std::vector<double>, std::vector<float>, std::vector<std::int64_t>,
                           std::vector<std::uint64_t>, std::vector<bool>, std::vector<std::string>>;

struct Attribute {
  std::string name;
  std::string doc_string;
  /// Which alternative `value` holds follows from it; a 32-bit kind holds no more than 32 bits.
  ValueKind kind = ValueKind::kNone;
  Value value;
  /// Fields of this message and of its list that the schema does not have, encoded.
  std::string unknown;
  std::string list_unknown;

  bool operator==(const Attribute&) const = default;

  static Attribute integer(std::string name, std::int64_t value);
  static Attribute natural(std::string name, std::uint64_t value);
  static Attribute boolean(std::string name, bool value);
  static Attribute text(std::string name, std::string value);
  static Attribute booleans(std::string name, std::vector<bool> values);
};

/// Record 0 of a file.
struct Metadata {
  std::string version;
  std::vector<Attribute> attributes;
  std::string unknown;

  bool operator==(const Metadata&) const = default;
};

/// Tensors that a node takes or gives, as PyTorch's tracer prints them.
struct InputOutput {
  std::string values;
  std::string shapes;
  std::string types;
  std::string unknown;

  bool operator==(const InputOutput&) const = default;
};

/// An attribute is not of the kind, or not in the range, that its name asks for. The text names node and attribute.
class AttributeError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A record of a trace. Ids are unique within their file; dependencies may come later in it.
struct Node {
  std::uint64_t id = 0;
  std::string name;
  NodeType type = NodeType::kInvalid;
  std::vector<std::uint64_t> control_dependencies;
  std::vector<std::uint64_t> data_dependencies;
  std::uint64_t start_time_micros = 0;
  std::uint64_t duration_micros = 0;
  std::optional<InputOutput> inputs;
  std::optional<InputOutput> outputs;
  std::vector<Attribute> attributes;
  std::string unknown;

  bool operator==(const Node&) const = default;

  /// The first attribute of that name, or null.
  [[nodiscard]] const Attribute* find(std::string_view attribute) const;
  /// "node 7 'conv1_FWD'", for messages.
  [[nodiscard]] std::string label() const;

  // The attributes that ASTRA-sim reads; each is none, or what is said, where the node lacks it. Any integer kind will
  // do for a number, since writers differ. They throw AttributeError.
  [[nodiscard]] bool is_cpu_op() const;                           ///< false
  [[nodiscard]] std::optional<std::int64_t> num_ops() const;      ///< floating-point operations of a compute node
  [[nodiscard]] std::optional<std::int64_t> tensor_size() const;  ///< bytes that a compute or memory node moves
  [[nodiscard]] std::optional<CollectiveType> comm_type() const;
  /// Bytes: of the whole buffer for all-reduce, reduce, broadcast, reduce-scatter, scatter and all-to-all; of one
  /// rank's part for all-gather and gather; of the message for send and receive.
  [[nodiscard]] std::optional<std::int64_t> comm_size() const;
  [[nodiscard]] std::optional<std::int64_t> comm_src() const;  ///< rank
  [[nodiscard]] std::optional<std::int64_t> comm_dst() const;  ///< rank
  [[nodiscard]] std::int64_t comm_tag() const;                 ///< 0
  /// The rank, of the machine and not of the group, that a collective with a root begins or ends at: comm_root, root or
  /// root_rank; else comm_src of a BROADCAST and SCATTER, comm_dst of a REDUCE and GATHER. The schema has none.
  [[nodiscard]] std::optional<std::int64_t> comm_root() const;
  [[nodiscard]] std::int64_t comm_priority() const;  ///< 0
  /// Which of the machine's logical dimensions take part; none means all.
  [[nodiscard]] std::optional<std::vector<bool>> involved_dim() const;
  /// Communicator group; "" is everybody, and so is the "0" that some writers put, which is given as "".
  [[nodiscard]] std::string pg_name() const;
  /// Nanoseconds: the attribute `duration_nanos` where there is one, else `duration_micros`. The attribute is Weft's
  /// own: a trace made from nanoseconds keeps them by it, where the schema has whole microseconds only.
  [[nodiscard]] std::uint64_t duration_nanos() const;
  /// Rounds `duration_micros` to whole microseconds, and adds the attribute where that loses anything.
  void set_duration_nanos(std::uint64_t nanos);

  /// Of a compute node, with Kineto's name: nodes of one stream follow each other, those of several may run together.
  [[nodiscard]] std::int64_t stream() const;  ///< 0
  /// SMs that a compute node runs on; none means all. Weft's own.
  [[nodiscard]] std::optional<std::int64_t> cores() const;

  /// The attribute as an integer of any kind, or none.
  [[nodiscard]] std::optional<std::int64_t> integer(std::string_view attribute) const;
};

}  // namespace weft::chakra
