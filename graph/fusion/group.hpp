#pragma once
// Fusion groups: which nodes become one kernel, and how values lie in memory.

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/ir/coord.hpp"
#include "graph/ir/module.hpp"

namespace dyn::graph {

enum class Backbone : std::uint8_t {
  Matmul,
  Attention,
  Recurrence,
  Reduction,
  Elementwise,
  Copy,
  Host
};

/// Why a node became a member of a group, or did not. graph/fusion/rules.hpp lists all of them.
struct FusionRule {
  std::string_view name;  ///< unique: "next-to-member"
  std::string_view says;  ///< what holds where it decides, a clause about the node as "it"
  bool joins = false;     ///< else it refuses
};

/// A rule's decision on a node at a group.
struct FusionDecision {
  int node = -1;
  const FusionRule* rule = nullptr;
  ValueId about = no_value;  ///< the tensor by which it decided, where it was one
};

/// Nodes that one kernel computes. All nodes of a group share one index space: its backbone's, with
/// the reduced axes. A node that reads no memory (range, and cheap work on it) may be a member of
/// several groups.
struct Group {
  std::string name;  ///< unique in the module: "matmul_3", "softmax_0", ...
  Backbone backbone = Backbone::Elementwise;
  std::vector<int>
      nodes;  ///< ascending, so topological; a view is a member only as the one node of a Copy
  int backbone_node =
      -1;  ///< the (first) matmul, the first reduction, the last of a chain, or the copied view
  std::vector<ValueId> outputs;  ///< values written to memory; where their view's base is a state
                                 ///< or another result, into that
  std::vector<Dim> extents;      ///< of the axes of the index space; a matmul's last one is K,
                                 ///< attention's last two are keys and depth
  std::vector<bool> reduced;     ///< for each axis whether the backbone reduces it
  /// Where in outputs[i] an iteration writes; no terms along reduced axes: once for all of them.
  /// Empty for a Copy that writes its output densely in the order of its axes; one of an append
  /// writes what is appended.
  std::vector<Coords> output_coords;
  /// The last decision on each node that was considered, ascending by node. Empty unless
  /// FuseOptions::record_decisions asks for them, and for a Copy.
  std::vector<FusionDecision> decisions;
};

/// How a value is found in memory: element (i, j, ...) lies at offset + i * strides[0] + j *
/// strides[1] + ... elements from the start of the buffer of value `base`. A base is its own view.
struct View {
  ValueId base = no_value;
  Dim offset;
  std::vector<Dim> strides;
};

/// Why a tensor goes through memory between groups, for `inspect`.
struct MemoryReason {
  ValueId value;
  std::string text;
};

struct Fusion {
  std::vector<Group> groups;  ///< in an order of execution
  std::vector<View> views;    ///< by ValueId; base == no_value: the value is never in memory
  std::vector<MemoryReason> reasons;
  std::vector<ValueId>
      output_bases;  ///< for each graph output the value whose buffer is its memory, densely
};

/// Operators that stay whole because the target has a kernel for them.
struct DecomposeOptions {
  bool keep_attention = false;
  /// Attention whose queries may have more columns is split all the same.
  std::int64_t attention_depth = std::numeric_limits<std::int64_t>::max();
  std::vector<DType> key_dtypes = {};  ///< which of its keys and values it reads besides f32
  /// u8 or i16: products of u8 by constant i8 whose depth is a multiple of product_group stay
  /// contractions, and their left sides become that. f32: none does.
  DType integer_factor = DType::f32;
  bool multiplies_bfloats = false;  ///< so do products of bf16 by f32 weights
  bool codes_weights = false;       ///< so do products of u8 and i16 by f32 weights, which it
                                    ///< keeps in codes of 4 bits
  /// And where it does not, products by codes of the model itself in blocks of these sizes.
  std::span<const int> code_blocks = {};
};

// The passes; graph/passes/pipeline.hpp has their order.

/// Splits compound operators into primitives, marking them with their origin (docs/ir.md says into
/// what). Runs after widen_halves().
void decompose(Module& module, const DecomposeOptions& options = {});

/// Folds constants, removes identities, duplicates (common subexpressions) and dead nodes.
void simplify(Module& module);

/// Moves transposes that change the innermost axis behind what is computed element by element, so
/// that they meet and cancel (the next simplify() drops them). A model with channels last between
/// tensors that have them first is full of such: what is left stands where the order is really
/// another. Runs after simplify().
void sink_transposes(Module& module);

/// Makes one matmul of several that multiply the same value with constant weights, and one of each
/// element-wise node behind them where all have the same; the results become slices. With
/// `columns_apart` (FuseOptions) also where windows slide over them. Runs after simplify().
void merge_siblings(Module& module, bool columns_apart = false);

/// Element-wise work that would compute a factor of a matmul where it is moved.
struct PrologueWork {
  int factor = 0;              ///< the matmul's input
  std::int64_t operators = 0;  ///< on each element; a function counts as many
  std::vector<Dim> extents;    ///< of the group: batch, rows, columns, K
  std::int64_t products = 1;   ///< of the group, each with as many columns
  /// Another kernel has to pass over what the operators read, and could compute them meanwhile:
  /// what is saved is their result's way through memory, and no kernel.
  bool is_passed_over = false;
  std::vector<DType> dtypes;  ///< of the values that the last operator to join takes and makes
};

/// The target says here which of its kernels repay another fusion.
struct FuseOptions {
  bool place_parts = false;  ///< results that are only put side by side are computed in their
                             ///< places, in rows that lie apart
  /// Products of one left side by constant right sides that what follows combines, element by
  /// element, are one group where their columns are a multiple of this; 0: never.
  std::int64_t gated_columns = 0;
  std::size_t most_gated_products = 4;  ///< of one group
  /// Element-wise work on a factor of a matmul joins it where the product has so many columns for
  /// each operator of that work; 0: never.
  std::int64_t prologue_columns = 0;
  /// The same work on an image that windows slide over, where it has so many channels; 0: never.
  std::int64_t image_channels = 0;
  /// Decides in place of that number of columns whether such work joins, where it is given.
  std::function<bool(const PrologueWork&)> prologue_pays = nullptr;
  bool columns_apart = false;  ///< a product's columns may be stored in several tensors
  bool share_inputs = false;   ///< element-wise work, and reductions, that read one tensor are one
                               ///< group though neither reads the other
  bool record_decisions = false;  ///< fills Group::decisions, for people; changes nothing else
};

/// Chooses layouts (views) and groups. May insert `copy` groups where a view cannot be expressed or
/// an output must be dense in its own buffer.
Fusion fuse(Module& module, const FuseOptions& options = {});

}  // namespace dyn::graph
