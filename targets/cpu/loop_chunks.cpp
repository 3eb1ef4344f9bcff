// Lanes along a parallel axis: a ticket has a chunk of them, and every lane its own reductions.

#include "targets/cpu/loop_code.hpp"

namespace dyn::cpu {

using codegen::CountedLoop;
using codegen::LoopPass;
using llvm::Value;

void LoopCode::emit_chunk() {
  const std::vector<int> roots = passes_.final_roots();
  compiler_->enter(inner_, roots);
  over_range(lanes_, streaming(passes_.final_stores, lanes_), vectors(), [&](Value* begin, int count, Value* mask) {
    for (int i = 0; i < count; ++i)
      in_body({builder_.CreateAdd(begin, number(i * width_)), mask, {}}, [&] { store_all(passes_.final_stores); });
  });
  compiler_->leave();
}

/// Serial axes outside, lanes inside, accumulators in scratch: memory is read in long runs, whatever the strides of the serial axes.
void LoopCode::emit_reduced_chunk() {
  compiler_->enter(inner_);
  for (const LoopPass& pass : passes_.passes) {
    CountedLoop clear(builder_, lanes_.begin, lanes_.end, number(width_), "clear");
    for (const int expr : pass.reductions) store_scratch(reduction(expr).neutral(width_), accumulator_at(expr, clear.index()));
    clear.close();
    over_serial_axes(pass, 0, {}, nullptr, [&](const Values&, Value*) -> Values {
      const Streaming stores = pass.reductions.empty() ? streaming(pass.stores, lanes_) : Streaming{};
      over_range(lanes_, stores, vectors(), [&](Value* begin, int count, Value* mask) {
        for (int i = 0; i < count; ++i) {
          Body body{builder_.CreateAdd(begin, number(i * width_)), mask, {}};
          bind_reductions(body, &pass);
          Values accumulators;
          for (const int expr : pass.reductions)
            accumulators.push_back(load_scratch(problem_.exprs[static_cast<std::size_t>(expr)].dtype, accumulator_at(expr, body.begin)));
          sweep(pass, body, 0, 1, accumulators, nullptr);
          for (std::size_t r = 0; r < pass.reductions.size(); ++r) store_scratch(accumulators[r], accumulator_at(pass.reductions[r], body.begin));
        }
      });
      return {};
    });
  }
  over_range(lanes_, streaming(passes_.final_stores, lanes_), 1, [&](Value* begin, int, Value* mask) {
    Body body{begin, mask, {}};
    bind_reductions(body, nullptr);
    in_body(body, [&] { store_all(passes_.final_stores); });
  });
  compiler_->leave();
}

/// The results of the passes before one (nullptr: of all).
void LoopCode::bind_reductions(Body& body, const LoopPass* before) {
  for (const LoopPass& pass : passes_.passes) {
    if (&pass == before) return;
    for (const int expr : pass.reductions)
      body.bound.emplace_back(expr, load_scratch(problem_.exprs[static_cast<std::size_t>(expr)].dtype, accumulator_at(expr, body.begin)));
  }
}

/// Place in scratch: a chunk of lanes for each reduction.
Value* LoopCode::accumulator_at(int reduction, Value* lane) {
  std::int64_t position = 0;
  for (const LoopPass& pass : passes_.passes)
    for (const int expr : pass.reductions) {
      if (expr == reduction)
        return builder_.CreateAdd(builder_.CreateMul(operands_->slot(loop_.chunk_slot), number(position)), builder_.CreateSub(lane, lanes_.begin));
      ++position;
    }
  return nullptr;
}

}  // namespace dyn::cpu
