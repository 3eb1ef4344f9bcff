#pragma once
// Values of a model when it runs, and how far another model's are from them.

#include <functional>
#include <string>
#include <vector>

#include "graph/ir/module.hpp"
#include "src/cli/arguments.hpp"
#include "src/cli/input/inputs.hpp"
#include "src/runtime/load/model.hpp"

namespace dyn::cli {

/// The inputs that a model is run on: of each folder in `folder` the files NAME.npy, or those of
/// the folder itself where it holds such; those of --load-inputs, or none, where its name is empty.
/// Inputs that a sample does not name are random. Throws Error(user) where there is no file.
std::vector<LoadedInputs> samples_of(const Arguments& arguments, const std::string& folder);

/// The same module, which gives these values too, behind its own outputs.
graph::Module watching(graph::Module module, const std::vector<graph::ValueId>& values);

/// Runs the model once for each sample, at the shape that the arguments or the sample say.
/// `visit`: gets all outputs of a run, in their order, before the next one.
void run_samples(const std::shared_ptr<const runtime::Model>& model, const Arguments& arguments,
                 const std::vector<LoadedInputs>& samples,
                 const std::function<void(std::size_t sample, const std::vector<Tensor>&)>& visit);

/// The root of the sum of squared differences over that of squares; of f32.
class RelativeError {
 public:
  void add(const Tensor& expected, const Tensor& found);
  double value() const;

 private:
  double missing_ = 0, all_ = 0;
};

}  // namespace dyn::cli
