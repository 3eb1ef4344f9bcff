#pragma once
// The operator registry: every operator's name, arguments, attributes, shape inference and
// documentation.

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/ir/module.hpp"
#include "graph/ir/op_id.hpp"

namespace dyn::graph {

/// The compiler treats an operator by its class.
enum class OpClass : std::uint8_t {
  Elementwise,  ///< each output element from the same index of the (broadcast) inputs
  Reduction,    ///< one of sum, max, min, product over some axes
  Contraction,  ///< matmul, also of windows
  Attention,    ///< two chained contractions with a softmax between; whole, or split by a pass
  Recurrence,   ///< lstm, gru, rnn: steps that each multiply the last one's state
  View,         ///< only another way to index its input: reshape, transpose, slice, expand; append
  Indexed,      ///< gather, concat, pad, range, windows: each output element from a computed place
  Host,         ///< over whole tensors: a function of the host (targets/host), or a device's kernel
  Compound      ///< split into the others by a pass
};

/// True for operators that read each element of their inputs for many results, from memory.
constexpr bool contracts(OpClass op_class) noexcept {
  return op_class == OpClass::Contraction || op_class == OpClass::Attention ||
         op_class == OpClass::Recurrence;
}

enum class AttrKind : std::uint8_t { Boolean, Float, Word, Integer, Dim, IntegerList, DimList };

struct AttrDef {
  std::string name;
  AttrKind kind;
  std::optional<std::string> default_text;  ///< as the IR writes it; nothing: required
  std::string doc;
};

/// Inference sees a node through this, and acts through it; errors carry the node's place.
class InferContext {
 public:
  virtual ~InferContext() = default;
  virtual const Module& module() const = 0;
  virtual DimTable& dims() = 0;
  virtual const Node& node() const = 0;
  virtual std::size_t input_count() const = 0;
  virtual const TensorType& input(std::size_t index) const = 0;
  /// Throws Error(model) with file:line:column, the line and a caret.
  [[noreturn]] virtual void fail(const std::string& message) const = 0;

  /// States that a == b must hold: decided now (false: fail), unified where one side is a symbol
  /// that may be replaced, or recorded as a Constraint. `a_what` and `b_what` name the tensors'
  /// dims for messages.
  virtual void require_equal(Dim a, Dim b, const std::string& a_what,
                             const std::string& b_what) = 0;
  /// Broadcasting of two dims: the result's dim. Unifies where neither can be 1; else records
  /// EqualOrOne.
  virtual Dim broadcast(Dim a, Dim b, const std::string& a_what, const std::string& b_what) = 0;
  virtual void require_less_equal(Dim a, Dim b, const std::string& a_what,
                                  const std::string& b_what) = 0;
  virtual void require_multiple(Dim a, Dim b, const std::string& what) = 0;
  virtual void require_other_than(Dim a, std::int64_t value, const std::string& what) = 0;

  // Attributes, with the operator's defaults applied.
  bool boolean(std::string_view name) const;
  double number(std::string_view name) const;
  std::string word(std::string_view name) const;
  std::int64_t integer(std::string_view name) const;
  Dim dim(std::string_view name) const;
  std::vector<std::int64_t> integers(std::string_view name) const;
  std::vector<Dim> dim_list(std::string_view name) const;
};

/// Ranks above this are refused.
inline constexpr int max_rank = 8;

using InferFunction = void (*)(InferContext&, std::vector<TensorType>& outputs);

struct ScalarOpInfo;

/// Elements along K that a contraction of narrow elements takes at once, at most: as many as four
/// bytes hold, of integers as many as of bytes; f16 is multiplied as f32.
inline constexpr std::int64_t product_group = 4;
constexpr std::int64_t product_group_of(DType left) noexcept {
  return left == DType::bf16 ? 2 : left == DType::f16 ? 1 : product_group;
}
/// Groups that are less than half full are no gain: products of fewer terms are computed without.
inline constexpr std::int64_t least_grouped_depth = 3;

struct OpDef {
  OpId id;
  OpClass op_class;
  int min_inputs, max_inputs;  ///< max -1: any number
  int outputs;                 ///< -1: any number (split)
  std::vector<AttrDef> attrs;
  InferFunction infer;
  std::string summary;  ///< one sentence: what it computes
  std::string shapes;   ///< input and output shapes
  std::string dtypes;   ///< accepted dtypes and the result's
  std::string errors;   ///< what is refused
  /// Attributes whose dims are symbols that the values of this operator's inputs decide: they are
  /// known when it has run.
  std::vector<std::string> defines = {};
  /// Set for a scalar operator.
  const ScalarOpInfo* scalar = nullptr;
  std::string name = {};  ///< name_of(id): the registry sets it

  const AttrDef* find_attr(std::string_view name) const;
};

/// nullptr where no operator has that name.
const OpDef* find_op(std::string_view name);
/// All operators, sorted by name.
std::span<const OpDef> all_ops();

// Attributes of a node with the operator's defaults applied, for passes; the verifier has checked
// kinds before.
bool attr_boolean(const Node& node, std::string_view name);
double attr_number(const Node& node, std::string_view name);
std::string attr_word(const Node& node, std::string_view name);
std::int64_t attr_integer(const Node& node, std::string_view name);
Dim attr_dim(const Module& module, const Node& node, std::string_view name);
std::vector<std::int64_t> attr_integers(const Node& node, std::string_view name);
std::vector<Dim> attr_dims(const Module& module, const Node& node, std::string_view name);

/// A negative axis counted from the end; nothing where it is out of range.
std::optional<int> normalize_axis(std::int64_t axis, int rank);

/// True where the node addresses this operand beyond its own index space, or many times: the
/// operand has to be in memory.
bool reads_memory(const Module& module, const Node& node, std::size_t input);

/// Symbols that the node's run decides, in the order of OpDef::defines. An attribute that is a list
/// gives only those symbols that no input's shape has.
std::vector<int> defined_symbols(const Module& module, const Node& node);

/// The input that a View shows in another way. `append` shows what it appends: its result is the
/// state that contains it.
ValueId viewed(const Node& view);

/// Worklist propagation (TSCompiler, Algorithm 1): infers every value's type, forwards and to
/// siblings, unifying symbols, checking declared shapes, and recording what remains as
/// module.constraints. Throws Error(model).
void propagate_shapes(Module& module);

/// Checks the structure (ids, topological order, arity, attributes, dtypes, types present); throws
/// Error(model) for what a text can cause, Error(internal) otherwise. Runs after every pass in
/// tests.
void verify(const Module& module);

}  // namespace dyn::graph
