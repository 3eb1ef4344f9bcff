#pragma once
// Times of one model at many shapes, for `dynrun bench` and `dynrun report`.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dyn/tensor.hpp"
#include "src/choice/gpu/gpu.hpp"
#include "src/cli/arguments.hpp"
#include "src/cli/input/session.hpp"
#include "src/cli/report/peak.hpp"
#include "src/cli/report/statistics.hpp"
#include "src/runtime/run/call_state.hpp"

namespace dyn::cli {

using ModelPtr = std::shared_ptr<const runtime::Model>;

/// The arguments with the first of several numbers of threads as the number: loads are timed with
/// it.
Arguments with_first_threads(Arguments arguments);

/// One shape of a model with its inputs, ready to run.
struct ShapeCall {
  /// `symbols`: values of the model's.
  ShapeCall(const ModelPtr& model, std::span<const std::int64_t> symbols,
            const std::map<std::string, Tensor>& loaded, const Arguments& arguments);

  ModelAt at;  ///< the model that runs at this shape
  std::vector<Tensor> inputs;
  std::shared_ptr<runtime::SessionState> session;
  runtime::CallState call;
  Row head;  ///< how every row about this shape begins: "model", each dim, "threads"
};

/// What the shapes of one command share. Not thread-safe.
class ModelBench {
 public:
  /// Loads the model once for each number of threads, and measures the machine where that was never
  /// done. Throws what loading and the command line's shapes throw.
  explicit ModelBench(const Arguments& arguments);

  const std::vector<ModelPtr>& models() const noexcept { return models_; }
  const std::vector<std::vector<std::int64_t>>& shapes() const noexcept { return shapes_; }
  const std::optional<Peak>& peak() const noexcept { return peak_; }

  ShapeCall make_call(const ModelPtr& model, const std::vector<std::int64_t>& symbols) const {
    return {model, symbols, loaded_, arguments_};
  }
  /// The row of a shape. first_ms: the first call at this shape; in the first row, the first call
  /// at all. new_shape_us: the time that planning adds to a steady call when a shape is new. All
  /// other columns are steady state.
  Row time(ShapeCall& shape) const;

 private:
  std::optional<double> limit_of(ShapeCall& shape) const;

  Arguments arguments_;
  std::vector<ModelPtr> models_;
  std::optional<Peak> peak_;               ///< the CPU's limits, for a model on it
  std::optional<choice::GpuMachine> gpu_;  ///< that it runs on; an emulated one has no speed
  std::map<std::string, Tensor> loaded_;
  std::vector<std::vector<std::int64_t>> shapes_;
};

}  // namespace dyn::cli
