#pragma once
// A model of one operator, made as text and run through the public path.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dyn/options.hpp"
#include "src/cli/op/operand.hpp"
#include "src/runtime/load/model.hpp"
#include "src/runtime/run/call_state.hpp"
#include "src/runtime/system/memory_block.hpp"

namespace dyn::cli {

/// The operator's result at one shape. Throws Error(user) for an operator that does not exist or a
/// dim without a value, Error(model) where it does not take these operands.
struct OpResult {
  DType dtype = DType::f32;
  Shape shape;
};
OpResult result_of(const OpProblem& problem, const DimMap& values);

/// `copies` independent instances of the operator, each with operands of its own; copy c has the
/// inputs x0_c, x1_c, ... and the output y_c. The same errors.
std::string model_text(const OpProblem& problem, int copies);

/// Loads such models. Shapes that follow each other often share one: the last is kept. Not
/// thread-safe.
class OpModels {
 public:
  explicit OpModels(Options options) : options_(std::move(options)) {}
  /// Releases a different model that was loaded before first, so that its memory is free.
  std::shared_ptr<const runtime::Model> get(const OpProblem& problem, int copies, int threads);
  const std::shared_ptr<const runtime::Model>& last() const noexcept { return model_; }

 private:
  Options options_;
  std::string key_;
  std::shared_ptr<const runtime::Model> model_;
};

/// Such a model at one shape, with random operands and outputs in huge pages. Not thread-safe.
class OpRun {
 public:
  OpRun(std::shared_ptr<const runtime::Model> model, const DimMap& values, std::uint64_t seed);

  /// Runs by this plan of the model's for these values from now on.
  void use_plan(runtime::PlanPtr plan) { call_.use_plan(std::move(plan)); }
  /// Runs all copies once.
  void run() { call_.run(); }

  const runtime::Plan& plan() const { return call_.plan(); }  ///< the plan of the last run
  Tensor& output(std::size_t index) { return outputs_[index]; }

 private:
  runtime::MemoryBlock memory_;
  std::vector<Tensor> outputs_;
  runtime::CallState call_;
};

/// How constant right sides of matmuls are kept.
const std::string& kept_weights_of(const Options& options);

/// The least bytes that one copy must move: each operand once (from operands that the operator only
/// selects from, at most as much as it selects), and the result. The constant right side of a
/// matmul counts in the bytes that the options keep it in.
double compulsory_bytes(const OpProblem& problem, const DimMap& values, const Options& kept);

}  // namespace dyn::cli
