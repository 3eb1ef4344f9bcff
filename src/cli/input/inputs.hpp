#pragma once
// The tensors that a run is given: from files, or random ones that make sense to the model.

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "dyn/tensor.hpp"
#include "dyn/texts.hpp"
#include "src/cli/input/npy.hpp"
#include "src/runtime/load/model.hpp"

namespace dyn::cli {

/// Inputs from files, by name.
struct LoadedInputs {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, TextArray> texts;
};

/// NAME=FILE.npy entries, read. Throws Error(user) for a malformed entry or a name given twice.
LoadedInputs load_inputs(std::span<const std::string> entries);

/// The tensors as the model's inputs declare them (runtime::as_declared), with those that `texts`
/// makes of texts. Throws Error(user) for texts where the model has no input of texts.
std::map<std::string, Tensor> as_declared(const LoadedInputs& loaded, const runtime::Model& model,
                                          TextCoder& texts);

/// Counts the different values that an integer input may have, because it chooses along an axis of
/// a tensor somewhere; nothing where it chooses nowhere.
std::optional<graph::Dim> index_extent(const graph::Module& module, graph::ValueId input);

/// Fills a state with seeded random numbers: normal floats, small integers.
void fill_state(Tensor& state, const std::string& name, std::uint64_t seed);

/// One tensor for each input of the model, in its order: `given` where there is one, random
/// otherwise. Floats are normal, integers uniform in [0, extent), texts some of the port's list,
/// and whatever is called a mask is 1.
std::vector<Tensor> make_inputs(const runtime::Model& model, std::span<const std::int64_t> symbols,
                                const std::map<std::string, Tensor>& given, std::uint64_t seed);

}  // namespace dyn::cli
