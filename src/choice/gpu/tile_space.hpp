#pragma once
// The programs of a contraction on a GPU as points of a discrete space: every tile, every number of
// stages, blocks that share tiles in other ways, and cuts beyond those that dyn's rules look at.

#include <cstdint>
#include <string>
#include <vector>

#include "src/choice/gpu/programs.hpp"
#include "src/rkernel/target/program_space.hpp"

namespace dyn::choice {

/// The tiles and pairs that there are. `tiles` begins with dyn's own candidates, as many as `own`,
/// which pairs are of.
struct GpuPrograms {
  std::vector<GpuTile> tiles;
  std::size_t own = 0;
  std::vector<GpuPair> pairs = {};
  bool split = false;  ///< code for shared tiles is there
};

/// Describes why there is no code for a program; empty where it can be launched: its regions cover
/// the output in steps of its tiles' blocks, two of them by a pair, and tiles are shared by blocks
/// as kernels can.
std::string gpu_illegality(const GpuPrograms& programs, const GpuContraction& shape,
                           const std::vector<GpuRegion>& regions);

class GpuTileSpace {
 public:
  using Axis = rkernel::ProgramSpace::Axis;
  using Point = rkernel::ProgramSpace::Point;

  /// `machine` and `programs` must outlive it.
  GpuTileSpace(const GpuMachine& machine, const GpuPrograms& programs, GpuShapeFor shape_for);

  const std::vector<Axis>& axes() const noexcept { return axes_; }
  /// There is code for it, and no value that says nothing is another than the first of its axis.
  bool allows(const Point& point) const;
  /// The program of a point, with its predicted time; of an allowed one.
  GpuProgram program_at(const Point& point) const;
  /// Preferences that are not met (TSCompiler, section 5.1): tensor cores where there are any, and
  /// copies as vectors.
  double unmet(const Point& point) const;
  /// dyn's own candidates of one region, each alone, best predicted first.
  std::vector<Point> seeds() const;

 private:
  /// None: the point's tile does not exist.
  const GpuTile* tile_at(const Point& point) const;
  std::vector<GpuRegion> regions_at(const Point& point) const;
  GpuSplit split_at(const Point& point, const GpuTile& tile, const GpuContraction& shape) const;
  bool says_nothing(const Point& point) const;

  const GpuMachine& machine_;
  const GpuPrograms& programs_;
  GpuShapeFor shape_for_;
  std::vector<Axis> axes_;
};

}  // namespace dyn::choice
