#include "targets/ptx/contraction/kernel.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "dyn/error.hpp"
#include "src/base/rounding.hpp"
#include "targets/llvm/problem/structure_key.hpp"
#include "targets/ptx/contraction/choice.hpp"
#include "targets/ptx/contraction/fix_up.hpp"
#include "targets/ptx/contraction/kernel_text.hpp"
#include "targets/ptx/contraction/program_memory.hpp"
#include "targets/ptx/copies/factor_sources.hpp"
#include "targets/ptx/ir/dtypes.hpp"
#include "targets/ptx/programs/candidates.hpp"
#include "targets/ptx/programs/epilogue_figures.hpp"
#include "targets/ptx/programs/later_code.hpp"
#include "targets/ptx/programs/tile_table.hpp"
#include "targets/ptx/tile/strip_layout.hpp"
#include "targets/ptx/tile/tree.hpp"
#include "targets/ptx/tile/window_layout.hpp"
#include "targets/ptx/tuning/contraction_space.hpp"
#include "targets/ptx/tuning/tuned_programs.hpp"

namespace dyn::ptx {
namespace {

using choice::GpuContraction;
using choice::GpuMachine;
using choice::GpuProgram;
using choice::GpuRegion;
using choice::GpuTile;
using rkernel::Operand;
using rkernel::Policy;
using rkernel::Problem;

// Bytes of a kernel's memory of choices: room for more than four hundred. Shapes seen before have
// plans.
constexpr std::size_t memory_bytes = 1 << 16;

bool is_factor(const Operand& operand, DType compute) {
  if (compute == DType::i8) return is_byte(operand.dtype);
  return is_float(operand.dtype) && can_load(operand.dtype);
}

// True where device code can run the problem.
bool supported(const Problem& problem, DType compute) {
  if (!problem.contraction || problem.contraction->zero != 0 ||
      !(is_float(compute) || compute == DType::i8))
    return false;
  std::vector<int> copied = problem.contraction->right_sides();
  if (right_factor(problem).is_computed()) copied.clear();
  if (!left_factor(problem).is_computed()) copied.push_back(problem.contraction->a);
  for (const int factor : copied) {
    const Operand& operand = problem.operands[static_cast<std::size_t>(factor)];
    if (!is_factor(operand, compute) || !operand.guards.empty() || operand.gathers ||
        (operand.window && factor != problem.contraction->a))
      return false;
  }
  const auto readable = [](const Operand& operand) {
    return can_load(operand.dtype) && operand.form == rkernel::Form::Strided;
  };
  const auto computable = [](const rkernel::Expr& expr) { return can_compute(expr.dtype); };
  return std::all_of(problem.operands.begin(), problem.operands.end(), readable) &&
         std::all_of(problem.exprs.begin(), problem.exprs.end(), computable);
}

// What code and choices of a problem depend on, whatever its names and dims.
std::string structure_of(const Problem& problem) {
  const auto& window = problem.operands[static_cast<std::size_t>(problem.contraction->a)].window;
  return codegen::structure_key(problem, codegen::SlotTable(problem)) +
         (window ? window_layout(*window).key() : "");
}

std::vector<TunedGpuProgram> tuned_for(const Problem& problem, const rkernel::Tuning* tuning) {
  if (tuning == nullptr) return {};
  return programs_for(*tuning, structure_of(problem));
}

std::vector<GpuTile> tiles_in(const std::vector<TunedGpuProgram>& programs,
                              const std::vector<GpuTile>& every) {
  std::vector<GpuTile> tiles;
  for (const TunedGpuProgram& each : programs) {
    for (const GpuTile& tile : each.program.tiles) {
      if (std::ranges::find(every, tile) != every.end()) tiles.push_back(tile);
    }
  }
  return tiles;
}

std::shared_ptr<const choice::GpuPaperSpaces> own_spaces(const GpuMachine& machine,
                                                         const std::vector<GpuTile>& tiles) {
  return std::make_shared<const choice::GpuPaperSpaces>(machine, choice::kinds_of(tiles));
}

class GpuContractionKernel final : public ContractionKernel {
 public:
  GpuContractionKernel(const Problem& problem, const GpuMachine& machine,
                       const Candidates& candidates, Policy policy, bool shares,
                       const std::string& target_name, const rkernel::Tuning* tuning,
                       const TargetShares& shared)
      : ContractionKernel(target_name),
        problem_(std::make_shared<const Problem>(problem)),
        machine_(machine),
        policy_(TilePolicies::acting(policy)),
        shares_(shares),
        tuned_(tuned_for(problem, tuning)),
        manifest_(*problem_, candidates.tiles,
                  useful_pairs(*problem_, machine, candidates.tiles, candidates.pairs),
                  tuned_.empty()
                      ? std::vector<GpuTile>()
                      : tiles_in(tuned_, every_tile(problem, machine, candidates.tiles))),
        slots_(*problem_),
        grid_(add_grid_slots(slots_, *problem_, manifest_.splits())),
        pair_slots_(*problem_),
        pair_grid_(add_pair_slots(pair_slots_, *problem_)),
        epilogue_(epilogue_figures(*problem_)),
        tiles_(manifest_.all_tiles()),
        later_(shared.code),
        policies_(
            machine, manifest_.tiles(), manifest_.pairs(), tiles_,
            shared.spaces ? shared.spaces : own_spaces(machine, manifest_.tiles()),
            [this](const GpuTile& tile) { return tile_for(tile, *problem_, machine_); },
            shared.searches) {
    if (tuning != nullptr) take_tuned(*tuning);
  }

  std::vector<codegen::KernelSource> sources() const override {
    const std::string structure = structure_text();
    std::vector<codegen::KernelSource> sources;
    for (const GpuContractionClass& shape_class : manifest_.classes())
      sources.push_back(source_of(shape_class, structure));
    return sources;
  }

  rkernel::Launch plan(const rkernel::PlanRequest& request) const override {
    std::vector<std::int64_t> ints = slots_.evaluate(request.symbols);
    const GpuProgram choice = remembered_choice(ints);
    return launch_of(choice, std::move(ints));
  }

  rkernel::Choices choices(const rkernel::PlanRequest& request, Policy policy) const override {
    if (policy == Policy::Vendor)
      return {{}, 0, "no vendor library runs on this device: oneDNN is for CPUs"};
    if (policy == Policy::Oracle)
      return {{}, 0, "the oracle takes its candidates from all other policies"};
    const std::vector<std::int64_t> ints = slots_.evaluate(request.symbols);
    const GpuContraction shape = sizes_of(ints);
    if (shape.batch * shape.m * shape.n == 0)
      return {{}, 0, "there is nothing to compute: the output is empty"};
    const MetContraction met = met_at(shape, ints);
    const std::optional<GpuProgram> tuned =
        policy == Policy::Dyn ? tuned_choice(ints) : std::nullopt;
    const GpuProgram choice = tuned ? *tuned : policies_.choose(policy, met);
    std::vector<ConsideredProgram> all = policies_.considered(policy, met);
    if (tuned && std::ranges::find(all, tuned->regions, &ConsideredProgram::regions) == all.end())
      all.push_back({tuned->regions, tuned->seconds});
    const TunedSizes sizes = tuned_sizes(shape, ints);
    const std::vector<GpuTile> tiles = tiles_.all();
    rkernel::Choices choices;
    for (ConsideredProgram& considered : all) {
      const double seconds =
          choice::gpu_program_cost(machine_, met.for_tile, tiles, considered.regions);
      if (considered.regions == choice.regions) choices.chosen = choices.candidates.size();
      const GpuProgram program{std::move(considered.regions), seconds};
      rkernel::Launch launch = launch_of(program, ints);
      std::string text =
          program_text(tiles, program.regions, met, launch.tickets, launch.grid.blocks);
      choices.candidates.push_back({std::move(text), considered.seconds, std::move(launch),
                                    [this, sizes, regions = program.regions] {
                                      return model_input_of(sizes, {tiles_.all(), regions});
                                    }});
    }
    return choices;
  }

  std::unique_ptr<const rkernel::ProgramSpace> program_space(
      const rkernel::PlanRequest& request) const override {
    const std::vector<std::int64_t> ints = slots_.evaluate(request.symbols);
    const GpuContraction shape = sizes_of(ints);
    if (shape.batch * shape.m * shape.n == 0) return nullptr;
    choice::GpuPrograms programs{manifest_.tiles(), manifest_.tiles().size(), {}, false};
    for (const GpuTile& tile : every_tile(*problem_, machine_, manifest_.tiles())) {
      if (std::ranges::find(programs.tiles, tile) == programs.tiles.end())
        programs.tiles.push_back(tile);
    }
    const MetContraction met = met_at(shape, ints);
    if (met.pairs) programs.pairs = manifest_.pairs();
    programs.split = met.split;
    return make_program_space(
        machine_, std::move(programs), tuned_sizes(shape, ints),
        [this, shape, ints](const GpuTile& tile) { return shape_for(tile, shape, ints); });
  }

  std::string machine_name() const override { return machine_.product; }

  void choose_only(const rkernel::PlanRequest& request, Policy policy,
                   bool remembered) const override {
    const std::vector<std::int64_t> ints = slots_.evaluate(request.symbols);
    if (remembered && TilePolicies::acting(policy) == policy_)
      remembered_choice(ints);
    else
      policies_.choose(policy, met_at(sizes_of(ints), ints));
  }

  std::string explain(const rkernel::PlanRequest& request) const override {
    const std::vector<std::int64_t> ints = slots_.evaluate(request.symbols);
    const MetContraction met = met_at(sizes_of(ints), ints);
    const std::string by =
        policy_ == Policy::Dyn
            ? ""
            : fmt::format("  by policy {}{}\n", name_of(policy_),
                          policies_.is_tuned(policy_) ? ", micro-kernels of the tuning file" : "");
    const std::optional<GpuProgram> tuned =
        policy_ == Policy::Dyn ? tuned_choice(ints) : std::nullopt;
    std::vector<ConsideredProgram> considered = policies_.considered(Policy::Dyn, met);
    if (tuned) considered.push_back({tuned->regions, tuned->seconds});
    return by + (tuned ? "  by the tuning file\n" : "") +
           explained(met, std::move(considered), remembered_choice(ints).regions);
  }

  std::string describe() const override {
    std::string text =
        rkernel::to_string(contraction_tree(*problem_, manifest_.tiles().back(), machine_));
    return text + class_keys();
  }

 private:
  int sides() const { return static_cast<int>(problem_->contraction->right_sides().size()); }

  std::optional<std::size_t> class_at(const rkernel::PlanRequest& request) const override {
    const std::vector<std::int64_t> ints = slots_.evaluate(request.symbols);
    const GpuProgram choice = remembered_choice(ints);
    if (choice.regions.empty()) return std::nullopt;
    return class_of(choice.regions, ints);
  }

  std::string class_name(std::size_t index) const override {
    return listing_name(problem_->name, class_of_code(index));
  }

  codegen::KernelSource source_at(std::size_t index) const override {
    return source_of(class_of_code(index), structure_text());
  }

  // Later code is counted from the manifest's classes on.
  const GpuContractionClass& class_of_code(std::size_t index) const {
    const std::size_t known = manifest_.classes().size();
    return index < known ? manifest_.classes()[index] : later_.at(index - known).shape_class;
  }

  const void* code_at(std::size_t index) const {
    const std::size_t known = manifest_.classes().size();
    return index < known ? function_at(index) : later_.at(index - known).function;
  }

  // All classes have it in common.
  std::string structure_text() const {
    const auto& window = factor_a().window;
    return codegen::structure_key(*problem_, slots_) + (window ? window_layout(*window).key() : "");
  }

  codegen::KernelSource source_of(const GpuContractionClass& shape_class,
                                  const std::string& structure) const {
    const bool pair = shape_class.second.has_value();
    std::string key = "gpu contraction " + to_string(shape_class) + " " + structure;
    for (const std::size_t region : {std::size_t{0}, std::size_t{1}}) {
      if (region > 0 && !pair) break;
      const GpuContractionClass own = class_of_region(shape_class, region);
      if (own.a == Copy::Strips) key += strip_layout(*problem_, own.tile).value().key();
    }
    const auto emit = [problem = problem_, machine = machine_, slots = pair ? pair_slots_ : slots_,
                       grids = pair ? pair_grid_ : PairSlots{grid_, grid_},
                       shape_class](llvm::Module& module, const std::string& symbol) {
      std::vector<RegionTree> regions;
      for (std::size_t i = 0; i < (shape_class.second ? 2u : 1u); ++i) {
        const GpuContractionClass own = class_of_region(shape_class, i);
        regions.push_back(
            {contraction_tree(*problem, emitted_tile(own, own.tile), machine), grids[i]});
      }
      emit_gpu_contraction(module, symbol, regions, slots, shape_class);
    };
    return {std::move(key), emit};
  }

  std::string explained(const MetContraction& met, std::vector<ConsideredProgram> considered,
                        const std::vector<GpuRegion>& chosen) const {
    return explain_choice(machine_, tiles_.all(), met, std::move(considered), chosen);
  }

  const Operand& factor_a() const {
    return problem_->operands[static_cast<std::size_t>(problem_->contraction->a)];
  }

  std::int64_t extent(std::span<const std::int64_t> ints, int axis) const {
    return ints[static_cast<std::size_t>(slots_.extent(axis))];
  }

  // B is one matrix for all batches.
  bool b_shared() const {
    const rkernel::Contraction& contraction = *problem_->contraction;
    const int b = contraction.b, n = contraction.n, k = contraction.k;
    const Operand& operand = problem_->operands[static_cast<std::size_t>(b)];
    for (int axis = 0; axis < static_cast<int>(operand.strides.size()); ++axis) {
      if (axis != n && axis != k && slots_.stride(b, axis) != codegen::SlotTable::none)
        return false;
    }
    return true;
  }

  GpuContraction sizes_of(std::span<const std::int64_t> ints) const {
    const rkernel::Contraction& contraction = *problem_->contraction;
    const int b = contraction.b, m = contraction.m, n = contraction.n, k = contraction.k;
    GpuContraction shape;
    for (int axis = 0; axis < static_cast<int>(problem_->axes.size()); ++axis) {
      if (axis != m && axis != n && axis != k) shape.batch *= extent(ints, axis);
    }
    shape.m = extent(ints, m);
    shape.n = sides() * extent(ints, n);
    shape.k = extent(ints, k);
    shape.a_element_bytes = static_cast<double>(size_of(factor_a().dtype));
    if (factor_a().window) {
      shape.windows = true;
      shape.a_overlap = overlap_of_windows(shape, ints);
    }
    shape.b_element_bytes =
        static_cast<double>(size_of(problem_->operands[static_cast<std::size_t>(b)].dtype));
    shape.epilogue_operations = epilogue_.operations;
    shape.epilogue_bytes = epilogue_.bytes;
    const bool groups = manifest_.loads_groups(slots_, ints);
    const auto compute = [&](const ComputedFactor& factor, double& bytes, double& operations) {
      if (!factor.is_computed()) return;
      bytes = bytes_of_element(factor);
      operations = operations_of_element(factor, groups);
    };
    compute(left_factor(*problem_), shape.a_element_bytes, shape.a_operations);
    compute(right_factor(*problem_), shape.b_element_bytes, shape.b_operations);
    return shape;
  }

  // Elements of all windows for each element of the tensor's axes that they slide along.
  double overlap_of_windows(const GpuContraction& shape, std::span<const std::int64_t> ints) const {
    const codegen::WindowSlots& window = slots_.window(problem_->contraction->a);
    double elements = static_cast<double>(codegen::value_of(window.channels, ints));
    double windows = static_cast<double>(shape.k);
    for (const codegen::WindowAxisSlots& axis : window.axes) {
      elements *= static_cast<double>(codegen::value_of(axis.extent, ints));
      windows *= static_cast<double>(codegen::value_of(axis.count, ints));
    }
    return elements > 0 ? std::max(1.0, windows / elements) : 1;
  }

  void refuse_more(const char* what, std::int64_t count, std::int64_t most) const {
    if (count <= most) return;
    throw Error(ErrorKind::unsupported,
                fmt::format("{} has {} {}: a GPU kernel of it can have {}; cut the tensor, or run "
                            "the model on a CPU",
                            problem_->name, count, what, most));
  }

  // Coordinates in a tensor, windows and elements of K are numbers of 32 bits in the kernel.
  void refuse_huge_windows(const GpuContraction& shape, std::span<const std::int64_t> ints) const {
    refuse_more("windows", std::max(shape.m, shape.batch), most_windows);
    refuse_more("elements in a window", shape.k, most_windows);
    for (const codegen::WindowAxisSlots& axis : slots_.window(problem_->contraction->a).axes) {
      refuse_more("elements along one axis", codegen::value_of(axis.extent, ints),
                  most_window_extent);
      refuse_more("elements before one axis", codegen::value_of(axis.before, ints),
                  most_window_extent);
    }
  }

  GpuContraction shape_for(const GpuTile& tile, GpuContraction shape,
                           std::span<const std::int64_t> ints) const {
    const Copy a = manifest_.a_copy(tile, slots_, ints), b = manifest_.b_copy(tile, slots_, ints);
    shape.a_vectors = a == Copy::Vectors, shape.a_words = a == Copy::Words;
    shape.b_vectors = b == Copy::Vectors, shape.b_words = b == Copy::Words;
    if (a == Copy::Strips) {
      const StripLayout strips = strip_layout(*problem_, tile).value();
      shape.a_strips = static_cast<double>(strips.step) / strips.run;
    }
    return shape;
  }

  // Tiles of one engine agree on what can be copied as vectors: the first and the last stand for
  // both. All that have strips agree on them.
  int vectors_of(std::span<const std::int64_t> ints) const {
    int vectors = 2 * manifest_.loads_groups(slots_, ints) + manifest_.strips(slots_, ints);
    for (GpuTile tile : {manifest_.tiles().front(), manifest_.tiles().back()}) {
      tile.strip_bytes = 0;
      vectors = 4 * vectors + 2 * (manifest_.a_copy(tile, slots_, ints) == Copy::Vectors) +
                (manifest_.b_copy(tile, slots_, ints) == Copy::Vectors);
    }
    return vectors;
  }

  // `ints` must outlive it.
  MetContraction met_at(const GpuContraction& shape, std::span<const std::int64_t> ints) const {
    return {shape,
            [this, shape, ints](const GpuTile& tile) { return shape_for(tile, shape, ints); },
            vectors_of(ints), manifest_.runs_pairs(slots_, ints), shares_ && manifest_.splits()};
  }

  // The program that the kernel's own policy takes.
  GpuProgram remembered_choice(std::span<const std::int64_t> ints) const {
    const GpuContraction shape = sizes_of(ints);
    const ProgramKey key(shape, vectors_of(ints));
    if (auto known = memory_.find(key)) return *std::move(known);
    std::optional<GpuProgram> tuned;
    if (policy_ == Policy::Dyn) tuned = tuned_choice(ints);
    GpuProgram program = tuned ? *std::move(tuned) : policies_.choose(policy_, met_at(shape, ints));
    memory_.insert(key, program);
    return program;
  }

  TunedSizes tuned_sizes(const GpuContraction& shape, std::span<const std::int64_t> ints) const {
    return {structure_of(*problem_), shape, vectors_of(ints)};
  }

  // None where the tuning file has no program for exactly these sizes.
  std::optional<GpuProgram> tuned_choice(std::span<const std::int64_t> ints) const {
    if (tuned_.empty()) return std::nullopt;
    const ProgramKey key(sizes_of(ints), vectors_of(ints));
    const bool runs_pairs = manifest_.runs_pairs(slots_, ints);
    for (const TunedGpuProgram& each : tuned_) {
      if (ProgramKey(each.sizes.shape, each.sizes.vectors).words() == key.words() &&
          (each.program.regions.size() == 1 || runs_pairs))
        return GpuProgram{each.program.regions, each.seconds};
    }
    return std::nullopt;
  }

  // Regions of tuned programs name the manifest's tiles from now on.
  void take_tuned(const rkernel::Tuning& tuning) {
    const std::vector<GpuTile>& tiles = manifest_.all_tiles();
    const choice::GpuPrograms programs{tiles, manifest_.tiles().size(), manifest_.pairs(),
                                       shares_ && manifest_.splits()};
    for (TunedGpuProgram& each : tuned_) {
      for (GpuRegion& region : each.program.regions) {
        const auto place = std::ranges::find(tiles, each.program.tiles.at(region.tile));
        region.tile = static_cast<std::size_t>(place - tiles.begin());
      }
      const std::string wrong =
          choice::gpu_illegality(programs, each.sizes.shape, each.program.regions);
      if (!wrong.empty()) throw rkernel::broken_program(tuning, each.number, wrong);
    }
  }

  // Tickets of the regions one after another; a region's slots say where its own end.
  std::int64_t place_regions(const std::vector<GpuRegion>& regions, const GpuContraction& shape,
                             std::vector<std::int64_t>& ints) const {
    const bool pair = regions.size() > 1;
    if (pair) ints.resize(static_cast<std::size_t>(pair_slots_.size()));
    const auto set = [&](int slot, std::int64_t value) {
      if (slot != codegen::SlotTable::none) ints[static_cast<std::size_t>(slot)] = value;
    };
    std::int64_t tickets = 0;
    for (std::size_t i = 0; i < regions.size(); ++i) {
      const auto& [tile_index, m0, m, n0, n, split] = regions[i];
      const GpuTile& tile = tiles_.at(tile_index);
      const GridSlots& grid = pair ? pair_grid_[i] : grid_;
      const std::int64_t m_blocks = ceil_div(m, tile.block_m), n_blocks = ceil_div(n, tile.block_n);
      const std::int64_t steps = ceil_div(shape.k, tile.block_k),
                         whole = shape.batch * m_blocks * n_blocks - split.tiles;
      tickets += whole + split.blocks(steps);
      set(grid.whole, whole);
      set(grid.span, split.span);
      set(grid.shared_steps, split.tiles * steps);
      fill_raster(grid.raster, *problem_, slots_, m_blocks, n_blocks, ints);
      set(grid.vector_outputs, manifest_.vector_outputs(slots_, ints) ? 1 : 0);
      set(grid.tickets, tickets);
      set(grid.m_begin, m0);
      set(grid.m_end, m0 + m);
      set(grid.n_begin, n0 / sides());
      set(grid.n_end, (n0 + n) / sides());
    }
    return tickets;
  }

  // Index of the code of a program: the manifest's where it has one.
  std::size_t class_of(const std::vector<GpuRegion>& regions,
                       std::span<const std::int64_t> ints) const {
    const std::size_t first = regions.front().tile, last = regions.back().tile;
    const bool pair = regions.size() > 1;
    if (!pair && first < manifest_.all_tiles().size())
      return manifest_.class_for(manifest_.all_tiles()[first], slots_, ints);
    if (pair && std::max(first, last) < manifest_.tiles().size()) {
      if (const auto known = manifest_.class_for(choice::GpuPair{first, last}, slots_, ints))
        return *known;
    }
    const GpuContractionClass later =
        manifest_.class_now(tiles_.at(first), pair ? &tiles_.at(last) : nullptr, slots_, ints);
    return manifest_.classes().size() + later_.number_of(later, [&] {
      codegen::KernelSource source = source_of(later, structure_text());
      source.problem = problem_->name;
      return source;
    });
  }

  // Memory for the sums of tiles that blocks share.
  std::size_t sums_bytes(const GpuRegion& region, const GpuContraction& shape) const {
    if (region.split.tiles == 0) return 0;
    const GpuTile& tile = tiles_.at(region.tile);
    return FixUp::bytes(region.split.blocks(ceil_div(shape.k, tile.block_k)), region.split.tiles,
                        std::int64_t{tile.block_m} * tile.block_n);
  }

  rkernel::Launch launch_of(const GpuProgram& program, std::vector<std::int64_t> ints) const {
    if (program.regions.empty())
      throw Error(ErrorKind::internal,
                  "no tile of " + problem_->name + " fits " + machine_.product);
    rkernel::Launch launch;
    launch.ints = std::move(ints);
    const GpuContraction shape = sizes_of(launch.ints);
    if (shape.windows) refuse_huge_windows(shape, launch.ints);
    const std::size_t chosen = class_of(program.regions, launch.ints);
    launch.grid.function = code_at(chosen);
    launch.tickets = place_regions(program.regions, shape, launch.ints);
    refuse_more("blocks", launch.tickets, most_tickets);
    launch.shared_bytes = sums_bytes(program.regions.front(), shape);
    std::vector<GpuTile> tiles;
    for (std::size_t i = 0; i < program.regions.size(); ++i) {
      const GpuContractionClass own = class_of_region(class_of_code(chosen), i);
      tiles.push_back(emitted_tile(own, own.tile));
    }
    launch.grid.blocks =
        std::min(launch.tickets, std::int64_t{machine_.multiprocessors} *
                                     choice::program_occupancy(machine_, tiles).blocks);
    for (const GpuTile& tile : tiles) {
      launch.grid.threads = std::max(launch.grid.threads, tile.threads());
      launch.grid.shared_bytes = std::max(launch.grid.shared_bytes, tile.shared_bytes());
    }
    launch.predicted_seconds = program.seconds;
    const double batch = static_cast<double>(shape.batch), m = static_cast<double>(shape.m),
                 n = static_cast<double>(shape.n), k = static_cast<double>(shape.k);
    launch.flops = 2 * batch * m * n * k;
    launch.bytes =
        batch * (m * k * shape.a_element_bytes / shape.a_overlap + m * n * shape.epilogue_bytes) +
        (b_shared() ? 1 : batch) * n * k * shape.b_element_bytes;
    return launch;
  }

  std::shared_ptr<const Problem> problem_;
  GpuMachine machine_;
  Policy policy_;
  bool shares_;
  std::vector<TunedGpuProgram> tuned_;
  ContractionManifest manifest_;
  codegen::SlotTable slots_;
  GridSlots grid_;
  codegen::SlotTable
      pair_slots_;  ///< for programs of two regions: the problem's slots are the same
  PairSlots pair_grid_;
  const EpilogueFigures epilogue_;
  mutable TileTable tiles_;  ///< regions name these: all_tiles(), and those of papers behind them
  mutable LaterCode later_;
  TilePolicies policies_;
  mutable ProgramMemory memory_{memory_bytes};
};

}  // namespace

bool multiplies_bytes(const Problem& problem) {
  // A factor that is computed of bytes, such as a cast, is a float.
  const auto are_bytes = [&](int factor, const ComputedFactor& computed) {
    return !computed.is_computed() &&
           is_byte(problem.operands[static_cast<std::size_t>(factor)].dtype);
  };
  return problem.contraction && are_bytes(problem.contraction->a, left_factor(problem)) &&
         are_bytes(problem.contraction->b, right_factor(problem));
}

std::optional<ContractionKernel::Draft> ContractionKernel::draft(const Problem& problem,
                                                                 const GpuMachine& machine,
                                                                 DType compute, bool allow_tf32,
                                                                 const std::string& target_name) {
  return draft(problem, machine, compute, choice::gpu_tiles(machine, compute, allow_tf32),
               target_name);
}

std::optional<ContractionKernel::Draft> ContractionKernel::draft(
    const Problem& problem, const GpuMachine& machine, DType compute,
    const std::vector<GpuTile>& tiles, const std::string& target_name, Policy policy,
    const std::vector<choice::GpuPair>& pairs, bool shares, const rkernel::Tuning* tuning,
    const TargetShares& shared) {
  if (!supported(problem, compute)) return std::nullopt;
  if (has_plain_factor(problem))
    return draft(with_plain_factors(problem), machine, compute, tiles, target_name, policy, pairs,
                 shares, tuning, shared);
  const Candidates candidates = candidates_of(problem, machine, tiles, pairs);
  if (candidates.tiles.empty()) return std::nullopt;
  return Draft(std::make_unique<GpuContractionKernel>(problem, machine, candidates, policy, shares,
                                                      target_name, tuning, shared));
}

}  // namespace dyn::ptx
