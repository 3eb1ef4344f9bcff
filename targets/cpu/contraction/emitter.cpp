#include "targets/cpu/contraction/emitter.hpp"

#include <fmt/format.h>
#include <llvm/IR/Module.h>

#include <ranges>
#include <variant>
#include <vector>

#include "dyn/error.hpp"
#include "targets/cpu/contraction/epilogue_function.hpp"
#include "targets/cpu/contraction/full_tiles.hpp"
#include "targets/cpu/contraction/tiles.hpp"
#include "targets/cpu/tile/dot_loop.hpp"
#include "targets/cpu/tile/main_loop.hpp"
#include "targets/cpu/x86/functions.hpp"
#include "targets/llvm/code/loops.hpp"
#include "targets/llvm/problem/structure_key.hpp"

namespace dyn::cpu {
namespace {

using codegen::Conditional;
using codegen::CountedLoop;

/// Emits one ticket while the rKernel is walked. Every loop that opens adds its values to those of
/// the loops around it, and takes them along when it closes.
class TicketEmitter final : public rkernel::Emitter {
 public:
  /// What it is made from must outlive it.
  TicketEmitter(const ContractionFunction& code, llvm::Value* epilogue, Ticket ticket)
      : code_(code),
        source_(code.source()),
        builder_(code.builder()),
        epilogue_(epilogue),
        ticket_(std::move(ticket)) {}

  void open(int layer, const rkernel::Loop& loop) override {
    const rkernel::Contraction& contraction = source_.contraction();
    if (layer == threads_layer) return;  // the ticket is one iteration of all of its loops
    if (layer == l2_layer) {
      open_depth();
    } else if (loop.axis == contraction.n) {
      open_columns();
    } else {
      open_rows();
    }
  }

  void close(int layer, const rkernel::Loop&) override {
    if (layer == threads_layer) return;
    opened_.back().loop.close();
    opened_.pop_back();
  }

  void move(int, const rkernel::Move& move) override {
    emit_block_move(code_, ticket_, opened<BlockOfK>(), move);
  }

  void leaf(const rkernel::Layer&) override {
    const TileCode code = tile_code();
    const RowTile& tile = opened<RowTile>();
    llvm::Value* is_last = code.is_last_block();
    code.emit_products(tile, is_last);
    Conditional last(builder_, builder_.CreateAnd(is_last, builder_.CreateNot(tile.is_split)),
                     "epilogue");
    call_epilogue(builder_, epilogue_, code_.kernel_args(), code.outputs_of(tile),
                  code_.batch_of(ticket_));
    last.close();
  }

 private:
  struct Opened {
    CountedLoop loop;
    std::variant<BlockOfK, ColumnTile, RowTile> values;
  };

  /// The values of the innermost open loop that has such ones.
  template <class Values>
  const Values& opened() const {
    for (const Opened& one : std::views::reverse(opened_)) {
      if (const auto* values = std::get_if<Values>(&one.values)) return *values;
    }
    throw Error(ErrorKind::internal, "the loops of a contraction's rKernel stand in another order");
  }

  TileCode tile_code() const { return {code_, ticket_, opened<BlockOfK>(), opened<ColumnTile>()}; }

  void open_depth() {
    const BlockFactors factors = locate_factors(code_, ticket_);
    CountedLoop loop(builder_, code_.number(0), ticket_.region.k_blocks, code_.number(1), "depth");
    BlockOfK block = locate_block_of_k(code_, ticket_, factors, loop.index());
    opened_.push_back({std::move(loop), std::move(block)});
  }

  void open_columns() {
    const BlockOfK& block = opened<BlockOfK>();
    if (source_.shape_class.dot_rest) copy_rest_of_b(code_, ticket_, block);
    CountedLoop loop(builder_, code_.number(0),
                     source_.shape_class.dot ? code_.number(1) : ticket_.columns.tiles,
                     code_.number(1), "columns");
    const ColumnTile columns = locate_column_tile(code_, ticket_, block, loop.index());
    opened_.push_back({std::move(loop), columns});
  }

  void open_rows() {
    const TileCode code = tile_code();
    const TileRowsOfA a = code.locate_rows_of_a();
    CountedLoop loop(builder_, code.run_full_tiles(a), ticket_.rows.tiles, code_.number(1), "rows");
    const RowTile tile = code.locate_row_tile(a, loop.index());
    opened_.push_back({std::move(loop), tile});
  }

  const ContractionFunction& code_;
  const ContractionSource& source_;
  codegen::Builder& builder_;
  llvm::Value* const epilogue_;
  const Ticket ticket_;
  std::vector<Opened> opened_;  ///< loops below the threads layer, outermost first
};

void emit_tickets(const ContractionSource& source, codegen::Builder& builder,
                  llvm::Function* function) {
  const codegen::KernelArgsValues args = codegen::load_kernel_args(builder, function->getArg(0));
  codegen::Operands operands(
      builder, source.problem(), source.slots,
      std::vector(source.problem().operands.size(), codegen::StrideClass::Any), args,
      source.isa.f32_lanes);
  const ContractionFunction code(source, builder, function, operands, args);
  llvm::Value* epilogue =
      builder.CreateIntToPtr(code.slot(source.strategy.epilogue), builder.getPtrTy());
  CountedLoop tickets(builder, function->getArg(1),
                      builder.CreateAdd(function->getArg(1), function->getArg(2)), code.number(1),
                      "ticket");
  TicketEmitter emitter(code, epilogue, locate_ticket(code, tickets.index()));
  rkernel::walk(source.kernel, emitter);
  tickets.close();
  builder.CreateRetVoid();
}

void emit_contraction(llvm::Module& module, const std::string& symbol,
                      const rkernel::Problem& factors, const codegen::Isa& isa,
                      const ContractionClass& shape_class) {
  const rkernel::RKernel kernel = contraction_rkernel(factors, isa, 1, shape_class.dot);
  rkernel::legalise(kernel, {.vector_registers = isa.vector_registers});
  const ContractionSlots slots(factors);
  const ContractionSource source{kernel, isa, slots.table, slots.strategy, shape_class};
  codegen::Builder builder(module.getContext());
  llvm::Function* function = create_kernel_function(builder, module, symbol, isa);
  emit_tickets(source, builder, function);
}

}  // namespace

rkernel::Problem factors_only(rkernel::Problem problem) {
  problem.operands.resize(factor_count);
  problem.exprs.clear();
  // Their values are behind the pointers of moves.
  for (int* value : {&problem.contraction->a_value, &problem.contraction->b_value})
    *value = std::min(*value, 0);
  problem.stores.clear();
  return problem;
}

rkernel::RKernel contraction_rkernel(const rkernel::Problem& problem, const codegen::Isa& isa,
                                     int threads, bool dot) {
  using rkernel::Analysis;
  using rkernel::LoopKind;
  const rkernel::Contraction& contraction = *problem.contraction;
  const Tile largest =
      dot ? std::ranges::max(dot_tiles(isa), {}, &Tile::rows) : largest_panel_tile(isa);
  rkernel::RKernel kernel{&problem, {}, isa.f32_lanes};
  kernel.layers.push_back(
      register_layer({largest.rows, largest.columns}, contraction, dot ? isa.f32_lanes : 1));
  kernel.layers.push_back({"L1",
                           {{contraction.n, LoopKind::TemporalSpatial, 0},
                            {contraction.m, LoopKind::TemporalSpatial, 0}},
                           {},
                           Analysis::Analytical,
                           1});
  rkernel::Layer l2{"L2",
                    {{contraction.k, LoopKind::TemporalReduction, 0}},
                    {{contraction.a, threads_layer, l2_layer, rkernel::MoveForm::RowCopy}},
                    Analysis::Analytical,
                    1};
  l2.carried = {
      {"sum", {contraction.m, contraction.n}, 0, "sum + a * b", "sum over slices, in their order"}};
  if (dot) {
    l2.moves.push_back({contraction.b, threads_layer, l2_layer, rkernel::MoveForm::RowCopy});
  } else if (problem.operands[static_cast<std::size_t>(contraction.b)].form !=
             rkernel::Form::Packed) {
    l2.moves.push_back({contraction.b, threads_layer, l2_layer, rkernel::MoveForm::Panels});
  }
  kernel.layers.push_back(std::move(l2));
  rkernel::Layer top{"threads", {}, {}, Analysis::Analytical, threads};
  for (const int axis : batch_axes(problem)) top.loops.push_back({axis, LoopKind::Parallel, 1});
  top.loops.push_back({contraction.k, LoopKind::Parallel, 0});
  top.loops.push_back({contraction.n, LoopKind::Parallel, 0});
  top.loops.push_back({contraction.m, LoopKind::Parallel, 0});
  kernel.layers.push_back(std::move(top));
  return kernel;
}

codegen::KernelSource contraction_source(const rkernel::Problem& factors, const codegen::Isa& isa,
                                         const ContractionClass& shape_class) {
  return {fmt::format("contraction {}{}{}{} {}",
                      shape_class.dot            ? "dot "
                      : shape_class.dot_rest     ? "rest "
                      : shape_class.rest_as_rows ? "rows "
                                                 : "",
                      shape_class.strips ? "strips " : "", int{shape_class.a_unit},
                      int{shape_class.b_unit},
                      codegen::structure_key(factors, ContractionSlots(factors).table)),
          [&factors, &isa, &shape_class](llvm::Module& module, const std::string& symbol) {
            emit_contraction(module, symbol, factors, isa, shape_class);
          }};
}

}  // namespace dyn::cpu
