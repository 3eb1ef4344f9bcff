#pragma once
// Shape propagation as a worklist over nodes.

#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/ir/op.hpp"
#include "graph/shapes/unifier.hpp"

namespace dyn::graph {

/// "a (dim 1), which is S, must be equal to b (dim 0), which is 7"
std::string to_string(const Constraint& constraint);

/// One run of propagation. A node is (re)computed when all its inputs have types and one of them or
/// one of its constraints changed. Inference that must make two dims equal replaces a symbol, which
/// changes the types of siblings and of the nodes before them, and thereby puts those back on the
/// list.
class Propagation final : public InferContext {
 public:
  explicit Propagation(Module& module);
  /// Propagates through a module that has all its nodes.
  void run();

  /// Propagates through a growing module: its last node, and the values added with it. The results
  /// have types afterwards.
  void add_node();
  /// Call these after new symbols came into the module's dims, and for the type of an input or of a
  /// state that came after nodes.
  void add_symbols() { unifier_.add_symbols(); }
  void add_given(const TensorType& type);
  /// Checks the claims once the last node is there, and records the conditions that bind has to
  /// check.
  void finish();
  Dim resolve(Dim dim) const { return unifier_.resolve(dim); }
  /// The conditions to check for this node when sizes are known.
  std::span<const Constraint> constraints(std::size_t node) const { return constraints_[node]; }

  const Module& module() const override { return module_; }
  DimTable& dims() override { return *module_.dims; }
  const Node& node() const override { return module_.nodes[static_cast<std::size_t>(current_)]; }
  std::size_t input_count() const override { return node().inputs.size(); }
  const TensorType& input(std::size_t index) const override {
    return module_.value(node().inputs[index]).type;
  }
  [[noreturn]] void fail(const std::string& message) const override;
  void require_equal(Dim a, Dim b, const std::string& a_what, const std::string& b_what) override;
  Dim broadcast(Dim a, Dim b, const std::string& a_what, const std::string& b_what) override;
  void require_less_equal(Dim a, Dim b, const std::string& a_what,
                          const std::string& b_what) override;
  void require_multiple(Dim a, Dim b, const std::string& what) override;
  void require_other_than(Dim a, std::int64_t value, const std::string& what) override;

 private:
  void add_values();
  void add_uses(int node);
  bool is_ready(int node) const;
  void enqueue_users(ValueId value);
  void compute(int node);
  void store(std::vector<TensorType>& outputs);
  void check_output_type(const TensorType& type) const;
  void drain();
  void check_claims();
  void resolve_module();
  bool resolve_dims(std::vector<Dim>& dims) const;
  void resolve_attrs(Node& node) const;
  bool resolve_constraints(std::vector<Constraint>& constraints) const;
  void record(Constraint::Kind kind, Dim left, Dim right, const std::string& left_what,
              const std::string& right_what);
  /// A dim is the broadcast of itself, or of the dims that broadcast() made it from.
  struct Broadcast {
    std::vector<Dim> operands;  ///< by rising id
    Dim greatest, least;        ///< of them
  };
  Broadcast broadcast_of(Dim dim) const;
  Dim join(const Broadcast& a, const Broadcast& b);
  void collect_constraints();
  void check_symbols() const;
  SourceLocation location() const;
  std::string who() const;

  Module& module_;
  Unifier unifier_;
  std::vector<std::vector<int>> users_;  ///< nodes by value
  std::vector<bool> known_;              ///< by value: has its type
  std::set<int> worklist_;               ///< the first node in topological order comes first
  int current_ = -1;                     ///< the node being computed; -1: the outputs' claims
  int generation_ = 0;                   ///< of the unifier, up to which the module is resolved
  std::vector<std::vector<Constraint>> constraints_;  ///< by node
  std::vector<Constraint> claim_constraints_;
  std::unordered_map<const DimNode*, Broadcast> broadcasts_;  ///< by the dims that join() gave
};

}  // namespace dyn::graph
