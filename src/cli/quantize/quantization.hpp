#pragma once
// A model in fewer bits, and how far its values are from what they were.

#include <map>
#include <optional>
#include <vector>

#include "src/cli/quantize/errors.hpp"
#include "src/cli/quantize/layers.hpp"
#include "src/cli/quantize/model_text.hpp"

namespace dyn::cli {

/// Quantises Arguments::model as Arguments::quantize says. Not thread-safe.
class Quantization {
 public:
  /// Reads the model. Throws Error(user) where no layer can be quantised so, or the options
  /// contradict each other.
  explicit Quantization(const Arguments& arguments);

  /// The model and its file of weights of this name. Runs both models on all samples.
  ModelText make(const std::string& file);

  /// A row for each layer: its format, and how far its results are from those before, with all that
  /// lies before it; after make().
  std::vector<Row> layer_rows() const;
  /// The same for outputs of f32.
  std::vector<Row> output_rows() const;

 private:
  bool by_bytes() const { return wanted_.compute == "i8"; }
  bool by_codes() const { return wanted_.weights == "i4"; }
  std::string format_of(const QuantizedLayer& layer) const;
  bool is_chosen(const graph::Node& node) const;
  std::vector<graph::ValueId> results() const;
  std::shared_ptr<const runtime::Model> load(const ModelText& weights,
                                             const graph::Module& module) const;
  void narrow(graph::Module& module) const;
  void watch_originals();
  void widen(graph::ValueId left, const Tensor& tensor);
  void compare(const std::shared_ptr<const runtime::Model>& quantised);

  const Arguments& arguments_;
  const QuantizeArguments& wanted_;
  const ModelText source_;
  const graph::Module module_;
  const std::vector<QuantizedLayer> layers_;
  const std::vector<LoadedInputs> samples_;
  std::map<graph::ValueId, double> reaches_;                 ///< of left sides, in all samples
  std::vector<std::vector<Tensor>> originals_;               ///< by sample: outputs, then layers
  std::vector<RelativeError> errors_;                        ///< by layer
  std::vector<std::optional<RelativeError>> output_errors_;  ///< nothing: not of f32
};

}  // namespace dyn::cli
