#pragma once
// ONNX models as dyn's text format and a safetensors file.

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "dyn/graph.hpp"
#include "src/import/onnx/reader/model_files.hpp"
#include "src/import/onnx/reader/weights.hpp"
#include "src/import/onnx/sizes/ones.hpp"
#include "src/import/onnx/sizes/shared_names.hpp"

namespace dyn::onnx {

/// A model in dyn's own formats. The text names `weights_name` as its file of weights, where it has
/// any.
struct Imported {
  std::string text;
  Weights weights;
  /// For each node of the text, in its order, with those of bodies: the node of the file that it is
  /// from; empty: none.
  std::vector<std::string> sources;
  /// Names of inputs whose values decide the structure: the axes of a reduction, the shape of a
  /// reshape. Where their values were not given there is no text, and of outputs nothing is known
  /// but what the file declares.
  std::vector<std::string> undecided;
  /// Names of inputs whose ranks nobody has given, likewise.
  std::vector<std::string> unranked;
  bool is_undecided() const { return !undecided.empty() || !unranked.empty(); }
  std::vector<PortInfo> inputs, outputs;
  ModelMetadata metadata;
  /// The given values that decided it.
  std::map<std::string, dyn::Tensor> decided;
  /// Sizes that the text holds for: these are 1, and those may not be 1.
  Ones ones;
  UnlikeOnes unlike_ones;
  /// Names that the import took for one size each. A strict import has none.
  SharedNames shared_names;
  std::vector<std::string> warnings;   ///< for a log
  std::map<std::string, int> remarks;  ///< Module::remarks, which the text has not
};

/// The text with comments that name the source of each statement, for messages.
std::string text_with_sources(const Imported& imported);

/// Values of inputs that are known when a model is imported. Values that decide its structure
/// become constants; all inputs remain.
using KnownInputs = std::map<std::string, dyn::Tensor>;
/// dyn::Options::free_dims.
using FreeDims = std::map<std::string, std::vector<std::string>>;

struct ImportOptions {
  KnownInputs known = {};
  FreeDims free_dims = {};
  std::map<std::string, int> ranks = {};  ///< of inputs for which the file has no shape
  Ones ones = {};                         ///< sizes that are 1, and conditions on sizes that hold
  Splits splits = {};
  /// Conditions on sizes for each of which the model has two structures; import_model finds them.
  std::set<std::string> by_sizes = {};
  std::set<std::string> by_data = {};  ///< loops whose end data decide; import_model finds them
  /// The program's operators, which take precedence over those of the same names; nullptr: none.
  std::shared_ptr<const graph::CustomOps> operators = nullptr;
  bool strict = false;  ///< dyn::Options::strict, for what the text no longer shows
  bool alone = false;   ///< the text refuses sizes that it does not hold for: nobody imports again
};

/// Opsets that are read. A newer one is tried where every operator of the file is known.
inline constexpr int first_opset = 1, last_opset = 28;

/// Named dims become symbols, unnamed ones fresh symbols; free_dims frees others. Throws
/// Error(model) for a broken file, and Error(unsupported) for operators and dtypes that dyn does
/// not have; it names all such operators at once, each with its count and first node. Weights in
/// other files are looked for below the model's folder. The files of a model that is undecided, or
/// does not hold for all sizes, are all open afterwards.
Imported import_model(ModelFiles& files, const std::string& weights_name,
                      const ImportOptions& options = {});
/// The same of a model that is imported once.
Imported import_model(const std::string& path, const std::string& weights_name,
                      const ImportOptions& options = {});

}  // namespace dyn::onnx
