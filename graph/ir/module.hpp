#pragma once
// The model as data: values and nodes in topological order. No behaviour, no hardware.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "dyn/dtype.hpp"
#include "graph/dims/dim.hpp"
#include "graph/ir/source_text.hpp"

namespace dyn::graph {

/// A place in the source text; line 0: none (made by a pass).
struct SourceLocation {
  int line = 0, column = 0;
};

struct TensorType {
  DType dtype = DType::f32;
  std::vector<Dim> dims;
  int rank() const noexcept { return static_cast<int>(dims.size()); }
};
std::string to_string(const TensorType& type);  ///< "f32[B, S, 768]"

using ValueId = std::int32_t;
inline constexpr ValueId no_value = -1;

enum class ValueKind : std::uint8_t {
  Input,     ///< a graph input
  Weight,    ///< a constant tensor: file, splat or random
  Constant,  ///< a scalar literal, rank 0
  State,     ///< a buffer that a session keeps from run to run; only `append` takes it
  Result     ///< made by a node
};

/// A weight's elements come from here.
struct WeightSource {
  enum class Kind : std::uint8_t {
    File,
    Splat,
    Random,
    Parts,
    Blocks,
    Padded,
    Codes,
    Scales,
    Sums
  } kind = Kind::File;
  double splat = 0;        ///< Splat: every element
  std::uint64_t seed = 0;  ///< Random: normal, 1/sqrt(fan-in), by this seed and the weight's name
  /// Parts: other weights, each with a source of its own, joined along the last axis; of f16 or
  /// bf16 where the weight is f32. Only passes make such weights.
  /// Padded: a weight of the same dtype and rank, with zeros behind its elements along each axis.
  /// Only passes make such weights.
  /// Blocks: codes, scales and perhaps zeros, of which unpack_blocks makes the weight; f32.
  /// Codes, Scales, Sums: an f32 weight, whose columns are quantised by their greatest magnitudes:
  /// i8 codes, the f32 that each code of a column counts, and for each column 128 times the sum of
  /// its codes, i32.
  std::vector<ValueId> parts;
  /// Blocks: elements along the last axis that share a scale. Codes, Scales, Sums: elements of a
  /// column that follow each other; 0: columns are the last axis.
  std::int64_t block = 0;
  int bits = 4;  ///< Blocks: of a code, or 8
};

struct Value {
  std::string name;  ///< unique; for weights the key in the safetensors file
  ValueKind kind = ValueKind::Result;
  TensorType type;
  int producer = -1;         ///< Result: index of the node
  int output_index = 0;      ///< Result: which output of it
  WeightSource weight;       ///< Weight
  double constant = 0;       ///< Constant, of a float dtype
  std::int64_t integer = 0;  ///< Constant, of an integer dtype or bool
  SourceLocation location;
};

/// No value is one. Where all alternatives are of kinds that it knows, the variant of libstdc++ 12
/// takes for granted that it holds one, and destroys what a copy without memory has not made.
struct NeverHeld {
  NeverHeld() = default;
  NeverHeld(const NeverHeld&) noexcept {}
  NeverHeld& operator=(const NeverHeld&) noexcept { return *this; }
  ~NeverHeld() = default;
  bool operator==(const NeverHeld&) const = default;
};

/// bool, float, bare word, dim expression (integers are constant dims), list of dims.
using AttrValue = std::variant<bool, double, std::string, Dim, std::vector<Dim>, NeverHeld>;
struct Attr {
  std::string name;
  AttrValue value;
};

struct OpDef;  // graph/ir/op.hpp

struct Node {
  const OpDef* op = nullptr;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  std::vector<Attr> attrs;
  /// The compound operator that a pass split this node from, such as "softmax", and which instance
  /// of it; -1: none. Fusion keeps such siblings together.
  std::string origin;
  int origin_id = -1;
  SourceLocation location;

  const AttrValue* find_attr(std::string_view name) const;
};

/// A condition between dims that could not be decided when the model was loaded, checked at bind.
struct Constraint {
  enum class Kind : std::uint8_t {
    Equal,
    EqualOrOne,
    LessEqual,
    Multiple,
    NotEqual
  } kind = Kind::Equal;
  /// Equal: left == right. EqualOrOne (broadcasting): left == right, or one of them is 1.
  /// LessEqual: left <= right. Multiple: left is a multiple of right. NotEqual: left != right.
  Dim left, right;
  std::string left_tensor, right_tensor;  ///< for the message, such as "mask (dim 1)"
  std::string reason;                     ///< such as "add (line 7)"
};

/// The texts of a port, each once: its elements, of i64, are places in this list. nullptr: they are
/// numbers.
using Texts = std::shared_ptr<const std::vector<std::string>>;

/// One graph with its dims. Nodes are in topological order.
struct Module {
  std::string name;
  std::string source_name;                        ///< file name for messages
  std::shared_ptr<const SourceText> source_text;  ///< for messages that show the line; may be null
  /// Segments of one module share its table.
  std::shared_ptr<DimTable> dims = std::make_shared<DimTable>();
  /// Symbols in the order in which the text declares them. Fresh ones are not listed, nor are those
  /// that shape propagation replaced.
  std::vector<int> declared_symbols;
  /// Symbols that shape propagation found to be equal to another dim; no type or attribute uses
  /// them any more.
  std::vector<std::pair<int, Dim>> replaced_symbols;
  std::vector<std::string> weight_files;
  std::vector<Value> values;
  std::vector<Node> nodes;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  std::vector<std::string> output_names;  ///< as the signature names them, parallel to outputs
  /// The types that the signature declares, parallel to outputs: claims that shape propagation
  /// checks. An invalid Dim makes no claim on that dim (text `_`). Empty: no claims.
  std::vector<TensorType> output_types;
  /// Parallel to inputs and outputs; empty: all of them are numbers. Bodies have none.
  std::vector<Texts> input_texts, output_texts;
  std::vector<Constraint> constraints;
  /// What `loop` runs: graphs with dims of their own, each after those that it runs itself.
  std::vector<std::shared_ptr<const Module>> bodies;
  std::vector<ValueId> states;  ///< in the order of their declarations
  /// Ways in which nodes compute other bits than the file's own operators, and how many do.
  std::map<std::string, int> remarks;
  /// The symbol P of `append ... at=P`, which a session gives, and how many positions a run adds to
  /// it; not valid where no append has one.
  Dim length, growth;

  Value& value(ValueId id) { return values[static_cast<std::size_t>(id)]; }
  const Value& value(ValueId id) const { return values[static_cast<std::size_t>(id)]; }
};

/// True where a port is one of texts.
bool has_texts(const Module& module);

/// nullptr: the module has no body of this name.
const Module* find_body(const Module& module, std::string_view name);

}  // namespace dyn::graph
