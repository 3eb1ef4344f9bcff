#pragma once
// Equations between dims, solved by replacing symbols.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/dims/polynomial.hpp"
#include "graph/ir/module.hpp"

namespace dyn::graph {

/// Knows which symbols were replaced, and by what: a constant, another symbol, or, for symbols that
/// the text does not declare or that no input gives, any expression.
class Unifier {
 public:
  explicit Unifier(Module& module);

  /// The dim with all replacements so far, simplified under what is known now.
  Dim resolve(Dim dim) const;

  enum class Answer { Equal, Unknown, Contradiction };
  struct Outcome {
    Answer answer;
    std::string why;  ///< where bounds or divisors are the contradiction
  };
  /// Makes a and b equal, by replacing a symbol where they are not so already.
  Outcome unify(Dim a, Dim b);

  /// Call this after new symbols came into the module's dims.
  void add_symbols();
  /// Inputs, or a session, give the symbols of this dim.
  void mark_given(Dim dim);

  /// Grows with each replacement: dims that were read before may be out of date.
  int generation() const { return static_cast<int>(replaced_.size()); }
  const std::vector<std::pair<int, Dim>>& replaced() const { return replaced_; }
  bool is_replaced(int symbol) const;
  /// Conditions that replaced symbols put on the expressions that took their place.
  const std::vector<Constraint>& constraints() const { return constraints_; }

 private:
  /// Tells how freely a symbol may be replaced. A symbol that a declaration names and an input
  /// gives is replaced only by a symbol or constant, so that inputs go on giving the values of
  /// symbols.
  enum class Freedom { Given, NotGiven, Fresh };
  struct Solution {
    int symbol;
    Dim value;
  };

  Freedom freedom(int symbol) const;
  std::optional<Solution> solve(const Polynomial& zero) const;
  std::optional<Solution> solve_for(const Polynomial& zero, std::size_t term) const;
  std::optional<std::string> replace(Solution solution);
  std::optional<std::string> narrow(const SymbolInfo& replaced, Dim by);

  Module& module_;
  std::vector<bool> declared_,
      given_;                     ///< by symbol; given: part of an input's dims, or a session's
  std::vector<Dim> replacement_;  ///< by symbol
  std::vector<std::pair<int, Dim>> replaced_;
  std::vector<Constraint> constraints_;
};

}  // namespace dyn::graph
