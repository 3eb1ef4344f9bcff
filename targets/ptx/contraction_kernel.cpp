#include "targets/ptx/contraction_kernel.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <shared_mutex>

#include "targets/llvm/instruction_counts.hpp"
#include "targets/llvm/structure_key.hpp"
#include "targets/ptx/contraction_kernel_text.hpp"
#include "targets/ptx/contraction_tree.hpp"

namespace dyn::ptx {
namespace {

using rkernel::GpuContraction;
using rkernel::GpuMachine;
using rkernel::GpuTile;
using rkernel::Operand;
using rkernel::Problem;

constexpr std::size_t most_choices = 1 << 12;  ///< remembered by one kernel; beyond it the memory starts anew

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

bool has_code(DType dtype) { return dtype != DType::i8; }

bool is_plain_factor(const Operand& operand) { return is_float(operand.dtype) && operand.guards.empty() && !operand.gathers; }

// What device code can run.
bool supported(const Problem& problem, DType compute) {
  if (!problem.contraction || !is_float(compute)) return false;
  for (const int factor : {problem.contraction->a, problem.contraction->b}) {
    if (!is_plain_factor(problem.operands[static_cast<std::size_t>(factor)])) return false;
  }
  const auto readable = [](const Operand& operand) { return has_code(operand.dtype) && operand.form == rkernel::Form::Strided; };
  const auto computable = [](const rkernel::Expr& expr) { return has_code(expr.dtype); };
  return std::all_of(problem.operands.begin(), problem.operands.end(), readable) && std::all_of(problem.exprs.begin(), problem.exprs.end(), computable);
}

// Choices by sizes and copies. Thread-safe and bounded.
class ChoiceMemory {
 public:
  struct Key {
    std::int64_t batch, m, n, k;
    int vectors;
    auto operator<=>(const Key&) const = default;
  };
  template <class Choose>
  rkernel::GpuChoice find(const Key& key, const Choose& choose) {
    {
      const std::shared_lock lock(mutex_);
      if (const auto found = choices_.find(key); found != choices_.end()) return found->second;
    }
    const rkernel::GpuChoice choice = choose();
    const std::unique_lock lock(mutex_);
    if (choices_.size() >= most_choices) choices_.clear();
    choices_.emplace(key, choice);
    return choice;
  }

 private:
  std::shared_mutex mutex_;
  std::map<Key, rkernel::GpuChoice> choices_;
};

class GpuContractionKernel final : public ContractionKernel {
 public:
  GpuContractionKernel(const Problem& problem, const GpuMachine& machine, const std::vector<GpuTile>& tiles, const std::string& target_name)
      : problem_(std::make_shared<const Problem>(problem)),
        machine_(machine),
        target_name_(target_name),
        slots_(*problem_),
        grid_(add_grid_slots(slots_)),
        manifest_(*problem_, tiles),
        functions_(manifest_.classes().size(), nullptr) {
    const auto [a, b, m, n, k] = *problem_->contraction;
    epilogue_operations_ = 2;  // the tile is read, the result stored
    for (const rkernel::Expr& expr : problem_->exprs) epilogue_operations_ += codegen::instructions_of(*problem_, expr, codegen::StrideClass::Unit);
    for (int i = 0; i < static_cast<int>(problem_->operands.size()); ++i) {
      const Operand& operand = problem_->operands[static_cast<std::size_t>(i)];
      const bool dense = operand.strides[static_cast<std::size_t>(m)].constant() != 0 && operand.strides[static_cast<std::size_t>(n)].constant() != 0;
      if (i != a && i != b && dense) epilogue_bytes_ += static_cast<double>(size_of(operand.dtype));
    }
  }

  std::vector<codegen::KernelSource> sources() const override {
    const std::string structure = codegen::structure_key(*problem_, slots_);
    std::vector<codegen::KernelSource> sources;
    for (const GpuContractionClass& shape_class : manifest_.classes()) {
      const auto emit = [problem = problem_, machine = machine_, slots = slots_, grid = grid_, shape_class](llvm::Module& module, const std::string& symbol) {
        emit_gpu_contraction(module, symbol, contraction_tree(*problem, shape_class.tile, machine), slots, grid, shape_class);
      };
      sources.push_back({"gpu contraction " + to_string(shape_class) + " " + structure, emit});
    }
    return sources;
  }

  void bind(std::vector<const void*> functions) override { functions_ = std::move(functions); }

  rkernel::Launch plan(const rkernel::PlanRequest& request) const override {
    rkernel::Launch launch;
    launch.ints = slots_.evaluate(request.symbols);
    const GpuContraction shape = sizes_of(launch.ints);
    const rkernel::GpuChoice choice = choose(shape, launch.ints);
    const GpuTile& tile = manifest_.tiles().at(static_cast<std::size_t>(choice.tile));
    const std::int64_t m_blocks = ceil_div(shape.m, tile.block_m), n_blocks = ceil_div(shape.n, tile.block_n);
    launch.tickets = shape.batch * m_blocks * n_blocks;
    const auto set = [&](int slot, std::int64_t value) { launch.ints[static_cast<std::size_t>(slot)] = value; };
    set(grid_.m_blocks, m_blocks);
    set(grid_.n_blocks, n_blocks);
    set(grid_.tickets, launch.tickets);
    launch.grid.function = functions_.at(manifest_.class_for(tile, slots_, launch.ints));
    launch.grid.blocks = std::min(launch.tickets, std::int64_t{machine_.multiprocessors} * occupancy_of(tile).blocks);
    launch.grid.threads = tile.threads();
    launch.grid.shared_bytes = tile.shared_bytes();
    launch.predicted_seconds = choice.seconds;
    const double batch = static_cast<double>(shape.batch), m = static_cast<double>(shape.m), n = static_cast<double>(shape.n), k = static_cast<double>(shape.k);
    launch.flops = 2 * batch * m * n * k;
    launch.bytes = batch * (m * k * shape.a_element_bytes + m * n * shape.epilogue_bytes) + (b_shared() ? 1 : batch) * n * k * shape.b_element_bytes;
    return launch;
  }

  std::string explain(const rkernel::PlanRequest& request) const override {
    const std::vector<std::int64_t> ints = slots_.evaluate(request.symbols);
    const GpuContraction shape = sizes_of(ints);
    return explain_choice(machine_, shape, manifest_.tiles(), [&](const GpuTile& tile) { return shape_for(tile, shape, ints); }, choose(shape, ints));
  }

  std::string target_name() const override { return target_name_; }

  std::string describe() const override {
    std::string text = rkernel::to_string(contraction_tree(*problem_, manifest_.tiles().back(), machine_));
    for (const codegen::KernelSource& source : sources()) text += "class " + source.key + "\n";
    return text;
  }

  std::vector<rkernel::CodeListing> listings() const override {
    std::vector<rkernel::CodeListing> listings;
    const std::vector<codegen::KernelSource> all = sources();
    for (std::size_t i = 0; i < all.size(); ++i) listings.push_back(list_code(listing_name(problem_->name, manifest_.classes()[i]), all[i]));
    return listings;
  }

  std::string listings_key() const override { return codegen::joined_keys(sources()); }

 private:
  rkernel::Occupancy occupancy_of(const GpuTile& tile) const { return rkernel::occupancy(machine_, tile.threads(), tile.registers(), tile.shared_bytes()); }

  std::int64_t extent(std::span<const std::int64_t> ints, int axis) const { return ints[static_cast<std::size_t>(slots_.extent(axis))]; }

  // B is one matrix for all batches.
  bool b_shared() const {
    const auto [a, b, m, n, k] = *problem_->contraction;
    const Operand& operand = problem_->operands[static_cast<std::size_t>(b)];
    for (int axis = 0; axis < static_cast<int>(operand.strides.size()); ++axis) {
      if (axis != n && axis != k && slots_.stride(b, axis) != codegen::SlotTable::none) return false;
    }
    return true;
  }

  GpuContraction sizes_of(std::span<const std::int64_t> ints) const {
    const auto [a, b, m, n, k] = *problem_->contraction;
    GpuContraction shape;
    for (int axis = 0; axis < static_cast<int>(problem_->axes.size()); ++axis) {
      if (axis != m && axis != n && axis != k) shape.batch *= extent(ints, axis);
    }
    shape.m = extent(ints, m);
    shape.n = extent(ints, n);
    shape.k = extent(ints, k);
    shape.a_element_bytes = static_cast<double>(size_of(problem_->operands[static_cast<std::size_t>(a)].dtype));
    shape.b_element_bytes = static_cast<double>(size_of(problem_->operands[static_cast<std::size_t>(b)].dtype));
    shape.epilogue_operations = epilogue_operations_;
    shape.epilogue_bytes = epilogue_bytes_;
    return shape;
  }

  GpuContraction shape_for(const GpuTile& tile, GpuContraction shape, std::span<const std::int64_t> ints) const {
    shape.a_vectors = manifest_.a_vectors(tile, slots_, ints);
    shape.b_vectors = manifest_.b_vectors(tile, slots_, ints);
    return shape;
  }

  rkernel::GpuChoice choose(const GpuContraction& shape, std::span<const std::int64_t> ints) const {
    // Tiles of one engine agree on what can be copied as vectors: the first and the last stand for both.
    int vectors = 0;
    for (const GpuTile& tile : {manifest_.tiles().front(), manifest_.tiles().back()}) {
      vectors = 4 * vectors + 2 * manifest_.a_vectors(tile, slots_, ints) + manifest_.b_vectors(tile, slots_, ints);
    }
    return memory_.find({shape.batch, shape.m, shape.n, shape.k, vectors}, [&] {
      return rkernel::select_gpu_tile(machine_, [&](const GpuTile& tile) { return shape_for(tile, shape, ints); }, manifest_.tiles());
    });
  }

  std::shared_ptr<const Problem> problem_;
  GpuMachine machine_;
  std::string target_name_;
  codegen::SlotTable slots_;
  GridSlots grid_;
  ContractionManifest manifest_;
  double epilogue_operations_ = 0, epilogue_bytes_ = 0;
  std::vector<const void*> functions_;
  mutable ChoiceMemory memory_;
};

}  // namespace

std::unique_ptr<ContractionKernel> ContractionKernel::create(const Problem& problem, const GpuMachine& machine, DType compute, bool allow_tf32,
                                                             const std::string& target_name) {
  return create(problem, machine, compute, rkernel::gpu_tiles(machine, compute, allow_tf32), target_name);
}

std::unique_ptr<ContractionKernel> ContractionKernel::create(const Problem& problem, const GpuMachine& machine, DType compute,
                                                             const std::vector<GpuTile>& tiles, const std::string& target_name) {
  if (tiles.empty() || !supported(problem, compute)) return nullptr;
  return std::make_unique<GpuContractionKernel>(problem, machine, tiles, target_name);
}

}  // namespace dyn::ptx
