#pragma once
// Symbolic dims: interned, immutable integer expressions over named symbols.

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dyn::graph {

struct DimNode;
class DimTable;

enum class DimOp : std::uint8_t { Constant, Symbol, Add, Mul, FloorDiv, Mod, Min, Max, Named };

/// The model says this much about a symbol. Bounds are inclusive; every value is a multiple of
/// `divisor`.
struct SymbolInfo {
  std::string name;
  std::int64_t low = 0;
  std::int64_t high = std::numeric_limits<std::int64_t>::max();
  std::int64_t divisor = 1;
  std::optional<std::int64_t> hint;
  bool defined = false;  ///< the run of an operator decides it: no other dim replaces it, and no
                         ///< input gives it
};

/// A handle to an interned expression: two handles compare equal exactly where the simplified
/// expressions are the same. The DimTable that made it must outlive it. Dims of different tables do
/// not mix. Operators simplify at once and never throw for overflow: a product of constants that
/// overflows saturates, and evaluate() reports overflow of values as an Error(user).
class Dim {
 public:
  Dim() = default;
  bool valid() const noexcept { return node_ != nullptr; }
  const DimNode* node() const noexcept { return node_; }
  bool operator==(const Dim&) const = default;

  DimTable& table() const noexcept;
  std::optional<std::int64_t> constant() const noexcept;
  /// Index of the symbol where the dim is just a symbol.
  std::optional<int> symbol() const noexcept;

 private:
  friend class DimTable;
  friend struct DimInterner;
  explicit Dim(const DimNode* node) : node_(node) {}
  const DimNode* node_ = nullptr;
};

struct DimNode {
  DimOp op;
  std::int64_t value;         ///< Constant: the value; Symbol: its index
  std::vector<Dim> operands;  ///< Add and Mul: two or more, in canonical order; FloorDiv, Mod, Min,
                              ///< Max: two; Named: what it is a name for
  DimTable* table;
  int id;  ///< dense, in order of creation: operands have smaller ids than their users
};

/// Owns all dims of one model. Building is not thread-safe; reading is. Proofs build the
/// expressions that they need. An expression that grows beyond max_expression_size nodes is an
/// Error(model); one that has a name is a single node in others.
class DimTable {
 public:
  DimTable();
  ~DimTable();
  DimTable(const DimTable&) = delete;
  DimTable& operator=(const DimTable&) = delete;

  Dim constant(std::int64_t value);
  /// A new symbol; its name must not be taken (an empty name gives a fresh one, "_0", "_1", ...).
  Dim symbol(SymbolInfo info);
  std::optional<Dim> find_symbol(std::string_view name) const;
  const SymbolInfo& info(int symbol) const;
  /// Narrows what is known of a symbol (intersection of bounds, least common multiple of divisors).
  void refine(int symbol, std::int64_t low, std::int64_t high, std::int64_t divisor = 1);
  /// Marks a symbol as defined by the run of an operator.
  void define(int symbol);
  /// The dim as an atom of others, of which rules and proofs know nothing but bounds and divisor.
  /// Equal dims are one atom. It is called `name`, where that is given and it has no other; else
  /// size_ and a hash of its text, which does not depend on what was named before. A symbol, a
  /// constant and an atom are given back as they are.
  Dim named(Dim dim, const std::string& name = "");
  const std::string& name_of(Dim named) const;
  int symbol_count() const;
  int node_count() const;
  Dim at(int id) const;

  Dim add(Dim a, Dim b);
  Dim multiply(Dim a, Dim b);
  Dim floordiv(Dim a, Dim b);
  Dim mod(Dim a, Dim b);
  Dim minimum(Dim a, Dim b);
  Dim maximum(Dim a, Dim b);

  /// `dim` with each symbol s replaced by replacement[s], where that is valid.
  Dim substitute(Dim dim, std::span<const Dim> replacement);

 private:
  friend struct DimInterner;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Nodes that one expression may have, written out as a tree. Shapes of real models have tens; a
/// hostile text could otherwise ask for exponentially many.
inline constexpr int max_expression_size = 2000;
/// Nodes of a size that stays an expression. Sizes of sizes may so be large, each of them is small.
inline constexpr int max_plain_size = 64;

/// The dim, named where it has more than max_plain_size nodes.
Dim abbreviated(Dim dim);
/// The named dims that it is made of, itself among them where it is one: each once, and after those
/// that it is made of itself.
std::vector<Dim> named_parts(Dim dim);

Dim operator+(Dim a, Dim b);
Dim operator-(Dim a, Dim b);
Dim operator*(Dim a, Dim b);
Dim operator+(Dim a, std::int64_t b);
Dim operator-(Dim a, std::int64_t b);
Dim operator*(Dim a, std::int64_t b);
Dim floordiv(Dim a, Dim b);
Dim mod(Dim a, Dim b);
Dim min(Dim a, Dim b);
Dim max(Dim a, Dim b);

/// Calls visit(symbol) for the symbols in the dim, those of named dims in it among them; for some
/// more than once.
template <class Visit>
void for_each_symbol(Dim dim, const Visit& visit) {
  const auto walk = [&](const auto& self, Dim part) -> void {
    if (const auto symbol = part.symbol()) visit(*symbol);
    if (part.node()->op == DimOp::Named) return;
    for (const Dim operand : part.node()->operands) self(self, operand);
  };
  walk(walk, dim);
  for (const Dim named : named_parts(dim)) walk(walk, named.node()->operands[0]);
}

struct Interval {
  std::int64_t low, high;
  bool operator==(const Interval&) const = default;
};
/// Bounds from interval arithmetic over the symbols' bounds; saturates at the ends of int64.
Interval bounds(Dim dim);

/// The greatest integer known to divide every value of the dim; 0 for the constant 0.
std::int64_t known_divisor(Dim dim);

/// true: equal for all values that the symbols may have; false: different for all; nothing:
/// unknown.
std::optional<bool> prove_equal(Dim a, Dim b);
/// The same for "dim is a multiple of factor" (factor >= 1), "a <= b", "a < b".
std::optional<bool> prove_multiple(Dim dim, std::int64_t factor);
std::optional<bool> prove_less_equal(Dim a, Dim b);
std::optional<bool> prove_less(Dim a, Dim b);

/// Text that the IR parser reads back: "B * S + 1", "floordiv(S, 2)", "min(S, 4)".
std::string to_string(Dim dim);
std::string to_string(std::span<const Dim> dims);  ///< "[B, S, 768]"

/// The value with symbols[i] for symbol i. Throws Error(user) on overflow or division by zero,
/// naming the expression.
std::int64_t evaluate(Dim dim, std::span<const std::int64_t> symbols);

/// Many dims evaluated at once, each shared subexpression once; for bind and plan. Immutable once
/// built.
class DimProgram {
 public:
  /// Registers a dim and returns its slot; the same dim gives the same slot.
  int slot(Dim dim);
  int size() const noexcept { return static_cast<int>(steps_.size()); }
  /// values[slot] for every registered dim; `values` must hold size() entries. No allocation.
  void run(std::span<const std::int64_t> symbols, std::span<std::int64_t> values) const;

 private:
  int slot_of(Dim dim);

  struct Step {
    DimOp op;
    std::int64_t value;
    std::vector<int> operands;
    Dim dim;
  };
  std::vector<Step> steps_;
  std::vector<int> slot_of_node_;  ///< by node id; -1 where not registered
};

}  // namespace dyn::graph
