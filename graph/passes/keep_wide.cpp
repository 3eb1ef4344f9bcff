#include "graph/passes/keep_wide.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "graph/ir/op.hpp"
#include "graph/ir/scalars.hpp"
#include "graph/passes/rewriter.hpp"

namespace dyn::graph {
namespace {

class Keeper {
 public:
  explicit Keeper(Module& module) : module_(module), rewriter_(module) {}

  std::vector<std::size_t> run() {
    std::vector<std::size_t> places;
    for (Node node : std::vector<Node>(module_.nodes)) {
      const std::size_t place = place_++;
      rewriter_.begin(node, "");
      if (computes(node) && has_halves(node))
        widen(std::move(node));
      else if (moves(node) && reads_wide(node))
        widen(std::move(node));
      else
        keep(std::move(node));
      places.resize(rewriter_.node_count(), place);
    }
    for (const ValueId output : module_.outputs) make_narrow(output);
    places.resize(rewriter_.node_count(), place_ > 0 ? place_ - 1 : 0);
    rewriter_.finish();
    return places;
  }

 private:
  static bool moves(const Node& node) {
    if (node.op->id == OpId::Append) return false;
    return node.op->op_class == OpClass::View || node.op->op_class == OpClass::Indexed ||
           node.op->id == OpId::Split;
  }

  static bool computes(const Node& node) {
    if (node.op->id == OpId::Cast || node.op->id == OpId::BitCast) return false;
    return node.op->op_class != OpClass::Host && node.op->id != OpId::Append && !moves(node);
  }

  bool is_narrow(ValueId id) const { return is_half(rewriter_.type(id).dtype); }

  bool has_halves(const Node& node) const {
    const auto narrow = [this](ValueId id) { return is_narrow(id); };
    return std::ranges::any_of(node.inputs, narrow) || std::ranges::any_of(node.outputs, narrow);
  }

  bool reads_wide(const Node& node) const {
    return std::ranges::any_of(node.inputs, [this](ValueId id) { return wide_.contains(id); });
  }

  /// Casts are made for each reader, so that each reads memory as it is.
  ValueId wide_of(ValueId id) {
    const auto known = wide_.find(id);
    return known != wide_.end() ? known->second : cast(id, DType::f32);
  }

  ValueId cast(ValueId id, DType dtype, ValueId to = no_value) {
    return rewriter_.emit("cast", {id}, {dtype, rewriter_.type(id).dims},
                          {{"dtype", std::string(name_of(dtype))}}, to);
  }

  void widen(Node node) {
    for (ValueId& input : node.inputs)
      if (is_narrow(input)) input = wide_of(input);
    for (ValueId& output : node.outputs) {
      if (!is_narrow(output)) continue;
      const Value& value = module_.value(output);
      const ValueId narrow = output;
      output = rewriter_.result(value.name + ".wide", {DType::f32, value.type.dims});
      wide_[narrow] = output;
      missing_.insert(narrow);
    }
    rewriter_.keep(std::move(node));
  }

  /// A cast reads what was not rounded.
  void keep(Node node) {
    for (ValueId& input : node.inputs) {
      const auto known = wide_.find(input);
      if (node.op->id == OpId::Cast && known != wide_.end())
        input = known->second;
      else
        make_narrow(input);
    }
    rewriter_.keep(std::move(node));
  }

  void make_narrow(ValueId id) {
    if (missing_.erase(id) > 0) cast(wide_.at(id), rewriter_.type(id).dtype, id);
  }

  Module& module_;
  Rewriter rewriter_;
  std::size_t place_ = 0;
  std::map<ValueId, ValueId> wide_;  ///< f32 values by those of 16 bits that they stand for
  std::set<ValueId> missing_;        ///< the latter that no node gives so far
};

}  // namespace

std::vector<std::size_t> keep_wide(Module& module) { return Keeper(module).run(); }

}  // namespace dyn::graph
