#pragma once
// The rKernel (Vortex, Algorithm 1 and Figure 10): one tree of plain data that describes a kernel
// on any machine, and the recursive functions over it.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "src/rkernel/problem/problem.hpp"

namespace dyn::rkernel {

enum class LoopKind : std::uint8_t {
  Parallel,          ///< iterations run on different units of this layer
  TemporalSpatial,   ///< serial, each iteration makes other outputs
  TemporalReduction  ///< serial, iterations add to the same outputs
};

/// One loop of a layer over one axis of the problem. One iteration covers `tile` of the axis, which
/// is the extent that the layer below sees; 0: known only at run time (a slot of the launch), -1:
/// all of it. With `inner` the loop counts the indices of two axes as one, those along `inner`
/// innermost, and no other loop has that axis.
struct Loop {
  int axis = 0;
  LoopKind kind = LoopKind::TemporalSpatial;
  std::int64_t tile = 0;
  int inner = -1;
};

/// The layout of an operand's elements after a Move.
enum class MoveForm : std::uint8_t { AsItLies, RowCopy, Panels, Swizzled };

/// Brings an operand's tile from one layer's memory to another's before the loops below run.
struct Move {
  int operand = 0;
  int from_layer = 0, to_layer = 0;
  MoveForm form = MoveForm::AsItLies;
  int stages = 1;  ///< buffers of a pipeline: the move runs up to stages - 1 iterations ahead of
                   ///< the loops below; 1: they wait for it
  DType dtype = DType::f32;  ///< dtype of the elements after the move
  bool overlapped = false;   ///< it runs ahead for the next iteration of the loops above before the
                             ///< outputs of this one are stored
};

/// The source of a layer's cost: timed on the machine once, taken from the description of a machine
/// that is not measured, or computed from the layer below. The first two are Vortex's empirical
/// layers.
enum class Analysis : std::uint8_t { Empirical, Described, Analytical };

/// A value that a reduction loop keeps from iteration to iteration, one for each point of `axes`.
/// Parts of the reduction may run at the same time where every carried value has a merge: their
/// results are merged in the order of the parts.
struct Carried {
  std::string name;
  std::vector<int> axes;
  double initial = 0;
  std::string update, merge;  ///< as formulas, for people
};

struct Layer {
  std::string name;  ///< "registers", "cache", "threads"
  std::vector<Loop> loops;
  std::vector<Move> moves;
  Analysis analysis = Analysis::Analytical;
  int units = 1;                      ///< the machine runs so many of these at once
  std::vector<Carried> carried = {};  ///< values that its reduction loops carry, beside sums
};

/// layers[0]: registers; the last: threads (CPU) or grid (GPU).
struct RKernel {
  const Problem* problem = nullptr;
  std::vector<Layer> layers;
  int vector_width = 1;  ///< lanes of one register for the accumulator's dtype
};

/// Generates code while walk() goes through the tree. Loops nest: open and close calls pair up. In
/// a loop whose moves run ahead, move() brings what the iteration stages - 1 after this one needs;
/// run_ahead() has brought what the first stages - 1 need.
class Emitter {
 public:
  virtual ~Emitter() = default;
  virtual void open(int layer, const Loop& loop) = 0;
  virtual void close(int layer, const Loop& loop) = 0;
  virtual void move(int layer, const Move& move) = 0;
  /// Before the innermost loop of a layer opens: its moves of more than one stage. Never called
  /// where there are none.
  virtual void run_ahead(int /*layer*/, std::span<const Move> /*moves*/) {}
  /// The body of layer 0: all its loops, unrolled and vectorised, as the tree's tiles say.
  virtual void leaf(const Layer& registers) = 0;
};

/// Top to bottom: for each layer its loops in order (before the last one run_ahead(), where moves
/// do), then its moves, then the layers below; layer 0 is the leaf.
void walk(const RKernel& kernel, Emitter& emitter);

/// Readable text, one line a loop, indented by depth.
std::string to_string(const RKernel& kernel);

/// Limits of a machine; 0: this machine has no such limit.
struct Limits {
  int vector_registers = 0;  ///< registers of one core, for outputs and operands of layer 0
  int thread_registers =
      0;            ///< 32-bit registers of one thread, for its outputs and everything else
  int threads = 0;  ///< threads that share the memory which moves fill
  std::int64_t staged_bytes = 0;  ///< bytes of that memory
};

/// Threads that share one unit of the top layer: the units of the layers between it and the
/// registers.
int threads_below_top(const RKernel& kernel);

/// Describes what is wrong with a tree; nothing where it is legal: every axis tiled with multiples
/// from layer to layer, reductions never Parallel, known parallel trips as many as the layer has
/// units (below the top), moves downwards, all within the limits.
std::vector<std::string> illegalities(const RKernel& kernel, const Limits& limits);

/// Throws Error(internal) with all illegalities of a tree; emitters call it before they walk.
void legalise(const RKernel& kernel, const Limits& limits);

}  // namespace dyn::rkernel
