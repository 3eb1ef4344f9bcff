#include "graph/fusion/rules.hpp"

#include <algorithm>
#include <utility>

#include "graph/fusion/grower.hpp"
#include "graph/fusion/layout.hpp"
#include "graph/fusion/prologue.hpp"

namespace dyn::graph {
namespace {

const Node& node_of(const Grower& group, const Candidate& candidate) {
  return group.graph().node(candidate.node);
}

OpClass class_of(const Grower& group, const Candidate& candidate) {
  return node_of(group, candidate).op->op_class;
}

const std::vector<Dim>& dims_of(const Grower& group, const Candidate& candidate) {
  return group.graph().dims(node_of(group, candidate).outputs[0]);
}

const std::vector<Edge>& readers_of(const Grower& group, const Candidate& candidate) {
  return group.graph().readers(node_of(group, candidate).outputs[0]);
}

/// Whether the group would have to write the node's result to memory.
bool kept(const Grower& group, const Candidate& candidate) {
  return group.graph().is_output(node_of(group, candidate).outputs[0]) ||
         std::ranges::any_of(readers_of(group, candidate),
                             [&](const Edge& edge) { return !group.is_member(edge.node); });
}

// Refusals by kind.

bool host_stands_alone(const Grower& group, Candidate& candidate) {
  return group.kind() == Backbone::Host || class_of(group, candidate) == OpClass::Host;
}

bool attention_stands_alone(const Grower& group, Candidate&) {
  return group.kind() == Backbone::Attention;
}

bool recurrence_stands_alone(const Grower& group, Candidate& candidate) {
  return group.kind() == Backbone::Recurrence || class_of(group, candidate) == OpClass::Recurrence;
}

bool contraction_starts_group(const Grower& group, Candidate& candidate) {
  return contracts(class_of(group, candidate));
}

bool indexed_starts_group(const Grower& group, Candidate& candidate) {
  return class_of(group, candidate) == OpClass::Indexed && candidate.reads_member;
}

bool indexed_before_matmul(const Grower& group, Candidate& candidate) {
  return class_of(group, candidate) == OpClass::Indexed && group.kind() == Backbone::Matmul;
}

/// Reductions get groups in the order in which they can run, so one that a member reads has its own
/// already.
bool reduction_starts_group(const Grower& group, Candidate& candidate) {
  return class_of(group, candidate) == OpClass::Reduction &&
         (group.kind() != Backbone::Reduction || !(candidate.reads_member || candidate.beside));
}

bool chain_grows_upwards(const Grower& group, Candidate& candidate) {
  return group.kind() == Backbone::Elementwise && candidate.reads_member;
}

bool taken(const Grower& group, Candidate& candidate) {
  return group.graph().group_of(candidate.node) != no_group;
}

bool another_reduction(const Grower& group, Candidate& candidate) {
  return class_of(group, candidate) == OpClass::Reduction &&
         !group.place_of_reduction(candidate.node);
}

bool group_is_full(const Grower& group, Candidate& candidate) {
  return !group.has_room_for(candidate.node);
}

/// Narrow numbers that a product reads are in memory whatever happens: who reads wide ones widens
/// them itself, in place of wide numbers that are in memory too.
bool widens_kept(const Grower& group, Candidate& candidate) {
  const Node& node = node_of(group, candidate);
  if (!candidate.reads_member || node.op->id != OpId::Cast) return false;
  const auto bytes_of = [&](ValueId id) { return size_of(group.module().value(id).type.dtype); };
  const ValueId narrow = node.inputs[0];
  return bytes_of(narrow) < bytes_of(node.outputs[0]) && bytes_of(narrow) <= sizeof(std::int16_t) &&
         std::ranges::any_of(
             group.graph().readers(group.graph().root(narrow)),
             [&](const Edge& edge) {
               return contracts(group.graph().node(edge.node).op->op_class);
             });
}

/// A kernel that reads a concatenation chooses among its parts for each element. Up to here that
/// costs less than another kernel would, where parts cannot lie side by side after all.
constexpr std::size_t few_parts = 3;

/// True where other groups write all parts of a concatenation to memory, for it alone, and can
/// write them side by side: readers then find one tensor.
bool parts_lie_in_place(const Grower& group, Candidate& candidate) {
  const FusionGraph& graph = group.graph();
  const Node& node = node_of(group, candidate);
  if (!group.options().place_parts || candidate.reads_member || node.op->id != OpId::Concat ||
      node.inputs.size() <= few_parts)
    return false;
  const auto computed_elsewhere = [&](ValueId part) {
    const int producer = graph.root_producer(part);
    return computed_for_one(graph, part) && !group.is_member(producer) &&
           graph.group_of(producer) != no_group;
  };
  const std::vector<Dim>& dims = dims_of(group, candidate);
  DimTable& table = *group.module().dims;
  const View whole{node.outputs[0], table.constant(0), dense_strides(table, dims)};
  return std::ranges::all_of(node.inputs, computed_elsewhere) &&
         !views_in_concat(graph, node, whole).empty();
}

/// The factor of the matmul that the candidate would compute.
std::optional<int> fed_factor(const Grower& group, const Candidate& candidate) {
  if (candidate.reads_member || class_of(group, candidate) != OpClass::Elementwise)
    return std::nullopt;
  return factor_fed_by(group, candidate.node);
}

bool read_from_memory(const Grower& group, Candidate& candidate) {
  if (candidate.reads_member || fed_factor(group, candidate)) return false;
  for (const Edge& edge : readers_of(group, candidate)) {
    const Node& reader = group.graph().node(edge.node);
    if (!reads_memory(group.module(), reader, static_cast<std::size_t>(edge.input)) ||
        !group.is_member(edge.node))
      continue;
    candidate.about = reader.outputs[0];
    return true;
  }
  return false;
}

constexpr RefusingRule by_kind[] = {
    {"host-alone", "a function of the host is a group of its own, over whole tensors",
     host_stands_alone},
    {"attention-alone", "attention's kernel computes nothing else", attention_stands_alone},
    {"recurrence-alone", "the steps of a recurrent layer are a group of their own",
     recurrence_stands_alone},
    {"contraction-starts", "a matmul or attention is the backbone of a group of its own",
     contraction_starts_group},
    {"indexed-starts", "it reads at computed places, so it does not follow a member",
     indexed_starts_group},
    {"indexed-before-matmul",
     "a matmul's epilogue would gather, pad or concatenate for each result", indexed_before_matmul},
    {"reduction-starts",
     "a reduction joins behind a member of a group around a reduction, or beside one, nowhere else",
     reduction_starts_group},
    {"chain-upwards", "a chain of element-wise work grows from its last node to what it reads",
     chain_grows_upwards},
    {"taken", "it is a member of another group already", taken},
    {"full", "one kernel holds no more: compiling and registers would cost more than it saves",
     group_is_full},
    {"other-reduction", "it reduces other axes, or another index space, than the group",
     another_reduction},
    {"widens-kept", "it widens what a product reads from memory, and so will its readers",
     widens_kept},
    {"parts-in-place", "its parts are computed elsewhere, and are written side by side where it is",
     parts_lie_in_place},
    {"read-from-memory", "a member reads its result from memory, each element for many results",
     read_from_memory},
};

// Joining rules.

std::optional<Coords> place_beside_member(const Grower& group, const Candidate& candidate) {
  if (!candidate.beside) return std::nullopt;
  if (class_of(group, candidate) == OpClass::Reduction)
    return group.place_of_reduction(candidate.node);
  return group.whole_space();
}

std::optional<Coords> place_beside_reduction(const Grower& group, const Candidate& candidate) {
  if (!candidate.reads_member || class_of(group, candidate) != OpClass::Reduction)
    return std::nullopt;
  return group.place_of_reduction(candidate.node);
}

/// The place of the member that makes `input`, carried along the views between the two.
std::optional<Coords> place_behind_views(const Grower& group, ValueId input) {
  const FusionGraph& graph = group.graph();
  std::vector<int> views;
  for (ValueId value = input; value != graph.root(input); value = viewed(graph.node(views.back())))
    views.push_back(group.module().value(value).producer);
  std::optional<Coords> coords = group.place_of(graph.root_producer(input));
  for (; coords && !views.empty(); views.pop_back())
    coords = coords_out_of_view(group.module(), graph.node(views.back()), *coords);
  return coords;
}

std::optional<Coords> place_next_to_member(const Grower& group, const Candidate& candidate) {
  if (!candidate.reads_member || class_of(group, candidate) != OpClass::Elementwise)
    return std::nullopt;
  for (const ValueId input : node_of(group, candidate).inputs) {
    const int producer = group.graph().root_producer(input);
    if (producer < 0 || !group.is_member(producer) ||
        !same_dims(group.graph().dims(input), dims_of(group, candidate)))
      continue;
    if (auto coords = place_behind_views(group, input)) return coords;
  }
  return std::nullopt;
}

std::optional<Coords> place_over_whole_space(const Grower& group, const Candidate& candidate) {
  if (!candidate.reads_member || class_of(group, candidate) != OpClass::Elementwise ||
      group.kind() != Backbone::Reduction || !group.matches_extents(dims_of(group, candidate)))
    return std::nullopt;
  return group.whole_space();
}

/// Where the first member reads it; two_places sees to the others.
std::optional<Coords> place_where_read(const Grower& group, const Candidate& candidate) {
  if (candidate.reads_member) return std::nullopt;
  for (const Edge& edge : readers_of(group, candidate)) {
    if (group.is_member(edge.node))
      return group.root_place(edge.node, edge.input, group.place_of(edge.node));
  }
  return std::nullopt;
}

constexpr JoiningRule joining[] = {
    {"same-input", "it reads what a member reads, all of it, so both read it once",
     place_beside_member},
    {"same-reduction", "it reduces the group's axes of the group's index space",
     place_beside_reduction},
    {"next-to-member", "it works element by element on a member's result, where that is computed",
     place_next_to_member},
    {"whole-space", "it runs over all of the reduction's index space, where its inputs are read",
     place_over_whole_space},
    {"feeds-members", "members read its result at one place, so it is computed there",
     place_where_read},
};

// Refusals at a place.

bool kept_before_matmul(const Grower& group, Candidate& candidate) {
  return !candidate.reads_member && group.kind() == Backbone::Matmul && kept(group, candidate);
}

bool two_places(const Grower& group, Candidate& candidate) {
  if (candidate.reads_member) return false;
  bool first = true;
  for (const Edge& edge : readers_of(group, candidate)) {
    if (!group.is_member(edge.node)) continue;
    if (std::exchange(first, false)) continue;
    const auto place = group.root_place(edge.node, edge.input, group.place_of(edge.node));
    if (!place || !group.same_place(*place, candidate.place)) {
      candidate.about = group.graph().node(edge.node).outputs[0];
      return true;
    }
  }
  return false;
}

/// Reductions that read a member come after the backbone, as do all of their readers.
bool read_too_early(const Grower& group, Candidate& candidate) {
  if (candidate.reads_member && class_of(group, candidate) == OpClass::Reduction) return false;
  for (const Edge& edge : readers_of(group, candidate)) {
    if (group.is_member(edge.node) || group.graph().time_of(edge.node) > group.anchor()) continue;
    candidate.about = group.graph().node(edge.node).outputs[0];
    return true;
  }
  return false;
}

/// Other passes over what it reads compute it for less, or all of its elements for each block of
/// results cost more than one pass of its own.
bool prologue_costs(const Grower& group, Candidate& candidate) {
  const std::optional<int> factor = fed_factor(group, candidate);
  return factor && !prologue_pays(group, *factor, candidate.node);
}

bool passed_over(const Grower& group, Candidate& candidate) {
  return fed_factor(group, candidate) && another_passes_over(group, candidate.node);
}

bool across_moves(const Grower& group, Candidate& candidate) {
  const std::optional<int> factor = fed_factor(group, candidate);
  return factor && (!is_place_of_factor(group, *factor, candidate.place) ||
                    reads_across(group, *factor, candidate.node, candidate.place));
}

bool not_whole(const Grower& group, Candidate& candidate) {
  const bool may_be_kept = candidate.reads_member
                               ? class_of(group, candidate) == OpClass::Elementwise
                               : kept(group, candidate);
  return may_be_kept && !group.spans(candidate.place, dims_of(group, candidate));
}

bool repeats_work(const Grower& group, Candidate& candidate) {
  return !candidate.reads_member && !fed_factor(group, candidate) &&
         (group.kind() == Backbone::Matmul || group.graph().expensive(candidate.node)) &&
         !group.spans(candidate.place, dims_of(group, candidate));
}

/// One input of a candidate; `root` is the value behind its views.
struct Operand {
  int input;
  ValueId root;
  bool from_memory;  ///< else the group computes it
  bool by_address;   ///< the node reads it from memory, at places of its own
};

/// Whether `wrong` holds for an operand; that one decides.
template <class Wrong>
bool any_operand(const Grower& group, Candidate& candidate, Wrong wrong) {
  const FusionGraph& graph = group.graph();
  const Node& node = node_of(group, candidate);
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const ValueId root = graph.root(node.inputs[i]);
    const int producer = group.module().value(root).producer;
    const bool from_memory = producer < 0 || !(group.is_member(producer) || graph.free(producer));
    if (!wrong(
            Operand{static_cast<int>(i), root, from_memory, reads_memory(group.module(), node, i)}))
      continue;
    candidate.about = root;
    return true;
  }
  return false;
}

/// A producer without a group may still join later, as far as it does not need the group itself.
bool operand_too_late(const Grower& group, Candidate& candidate) {
  return any_operand(group, candidate, [&](const Operand& operand) {
    return operand.from_memory && group.graph().available(operand.root) >= group.anchor();
  });
}

bool operand_without_place(const Grower& group, Candidate& candidate) {
  if (class_of(group, candidate) != OpClass::Indexed) return false;
  const Node& node = node_of(group, candidate);
  return any_operand(group, candidate, [&](const Operand& operand) {
    return !operand.by_address &&
           !operand_place(group.module(), node, operand.input, candidate.place);
  });
}

bool operand_elsewhere(const Grower& group, Candidate& candidate) {
  return any_operand(group, candidate, [&](const Operand& operand) {
    if (operand.from_memory) return false;
    if (operand.by_address) return true;
    const auto place = group.root_place(candidate.node, operand.input, candidate.place);
    const int producer = group.module().value(operand.root).producer;
    return !place ||
           (!group.graph().free(producer) && !group.same_place(*place, group.place_of(producer)));
  });
}

constexpr RefusingRule at_place[] = {
    {"kept-before-matmul", "others read it too, and a matmul's epilogue keeps only what follows it",
     kept_before_matmul},
    {"passed-over", "a kernel that passes over one of its operands computes it meanwhile",
     passed_over},
    {"across-moves", "its operands lie across the moves of the factor that it computes",
     across_moves},
    {"prologue-costs", "each block of results would compute it anew, for too few products",
     prologue_costs},
    {"two-places", "members read its result at different places", two_places},
    {"read-too-early", "what runs before the group reads its result", read_too_early},
    {"not-whole", "the group does not run over its result's elements once each", not_whole},
    {"repeats-work", "it would be computed anew for each index along a broadcast axis",
     repeats_work},
    {"operand-too-late", "an operand is ready only after the group has begun", operand_too_late},
    {"operand-without-place", "no affine function of the axes says where it reads an operand",
     operand_without_place},
    {"operand-elsewhere", "it reads a member's result at another place than the group computes it",
     operand_elsewhere},
};

}  // namespace

constexpr FusionRule no_place{
    "no-place", "no affine function of the group's axes says where it is computed", false};
constexpr FusionRule free_work{
    "free", "it reads no memory and costs next to nothing: each group that reads it computes it",
    true};

constexpr FusionRule same_left_side{
    "same-left-side",
    "it multiplies the group's left side too, and members combine both products element by element",
    true};

std::span<const RefusingRule> refusals_by_kind() { return by_kind; }
std::span<const JoiningRule> joining_rules() { return joining; }
std::span<const RefusingRule> refusals_at_place() { return at_place; }

std::vector<const FusionRule*> fusion_rules() {
  std::vector<const FusionRule*> rules;
  for (const FusionRule& rule : by_kind) rules.push_back(&rule);
  for (const FusionRule& rule : joining) rules.push_back(&rule);
  rules.push_back(&no_place);
  for (const FusionRule& rule : at_place) rules.push_back(&rule);
  rules.push_back(&free_work);
  rules.push_back(&same_left_side);
  return rules;
}

}  // namespace dyn::graph
