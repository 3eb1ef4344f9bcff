#pragma once
// From the shapes of the inputs to the value of every symbol.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "dyn/tensor.hpp"
#include "graph/ir/module.hpp"

namespace dyn::runtime {

/// Immutable once built; thread-safe. A symbol is bound by the first input axis that is just the
/// symbol, else by the first that is `factor * symbol + constant`; a session gives the values of
/// its own symbols, and the run of a whole model those of a segment. All other axes, bounds,
/// divisors and the module's constraints are then checked.
class Binder {
 public:
  /// Throws Error(unsupported) where an axis would have to be solved and is not of that form,
  /// Error(model) for a dim that the graph uses and no input has. `module` must outlive the binder.
  explicit Binder(const graph::Module& module);
  /// For a segment, whose run is given the values of all symbols: none of them need be found.
  static Binder of_segment(const graph::Module& module) { return {module, true}; }
  /// Whether shapes alone say too little, as the values of all symbols are given.
  bool is_of_segment() const noexcept { return all_given_; }

  /// Returns the value of every symbol. `shapes`: one for each input, in the module's order;
  /// `session`: for a module with states, what bind_session() gave, with the session's length in
  /// its place; for a segment, the value of every symbol. Throws Error(user) naming inputs, axes,
  /// dims and values.
  std::vector<std::int64_t> bind(std::span<const Shape* const> shapes,
                                 std::span<const std::int64_t> session = {}) const;

  /// Checks symbols that a run has just defined: their bounds, and the constraints on known dims
  /// that depend on them. Throws Error(user).
  void check_defined(std::span<const int> defined, std::span<const std::int64_t> symbols,
                     const std::vector<bool>& known) const;

  /// Returns the values of the symbols of the states' dims, and 0 for all others. `dims`: values by
  /// name; a dim without one takes its hint. Throws Error(user).
  std::vector<std::int64_t> bind_session(const std::map<std::string, std::int64_t>& dims) const;

  /// Returns the value of every symbol. `dims`: values by name; a dim without one takes its hint,
  /// and a session's length without a hint is 0. Throws Error(user).
  std::vector<std::int64_t> bind_dims(const std::map<std::string, std::int64_t>& dims) const;

  /// Those that bind_dims() would miss: dims that it needs, and that have neither a value in `dims`
  /// nor a hint.
  std::vector<std::string> dims_without_value(
      const std::map<std::string, std::int64_t>& dims) const;

  /// "it has B, S": for messages.
  std::string known_dims() const;

  std::vector<Shape> input_shapes(std::span<const std::int64_t> symbols) const;

 private:
  /// An input's axis.
  struct Axis {
    int input = 0, axis = 0;
    graph::Dim dim;
    int slot = 0;  ///< of `program_`
  };
  /// symbol = (size of the axis - constant) / factor
  struct Rule {
    int symbol = -1;
    std::size_t axis = 0;  ///< into axes_
    std::int64_t factor = 1, constant = 0;
  };
  struct Check {
    const graph::Constraint* constraint;
    int left_slot, right_slot;
  };

  Binder(const graph::Module& module, bool all_given);
  void find_rules();
  bool is_given(std::size_t symbol) const { return in_session_[symbol] || defined_[symbol]; }
  /// Whether bind_dims() needs a value or a hint for it.
  bool is_needed(std::size_t symbol) const;
  bool is_length(int symbol) const {
    return module_.length.valid() && module_.length.symbol() == symbol;
  }
  void require_bound() const;
  const Rule* rule_of(int symbol) const;
  std::string place(const Axis& axis) const;  ///< "input 'ids' (axis 1)"
  std::string symbol_values(graph::Dim dim,
                            std::span<const std::int64_t> symbols) const;  ///< "S = 7, T = 2"
  void check_ranks(std::span<const Shape* const> shapes) const;
  void solve(std::span<const Shape* const> shapes, std::vector<std::int64_t>& symbols) const;
  void check_symbols(std::span<const std::int64_t> symbols) const;
  void check_symbol(int symbol, std::int64_t value) const;
  std::vector<std::int64_t> evaluate(std::span<const std::int64_t> symbols) const;
  void check_axes(std::span<const Shape* const> shapes, std::span<const std::int64_t> symbols,
                  std::span<const std::int64_t> values) const;
  void check_constraints(std::span<const std::int64_t> values) const;
  static void check_constraint(const graph::Constraint& constraint, std::int64_t left,
                               std::int64_t right);

  const graph::Module& module_;
  bool all_given_;
  graph::DimProgram program_;
  std::vector<Axis> axes_;
  std::vector<Rule> rules_;
  std::vector<Check> checks_;
  std::vector<const graph::Constraint*> later_;  ///< of dims that a run defines
  std::vector<bool> used_;                       ///< by symbol
  std::vector<bool> defined_;                    ///< by symbol: the run defines it
  std::vector<bool> in_session_;                 ///< by symbol: a session gives it, or the run of
                                                 ///< which this is a segment
};

}  // namespace dyn::runtime
