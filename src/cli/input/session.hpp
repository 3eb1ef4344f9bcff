#pragma once
// A loaded model with the shapes that the command line asks for.

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dyn/tensor.hpp"
#include "src/cli/arguments.hpp"
#include "src/runtime/load/model.hpp"
#include "src/runtime/run/call_state.hpp"
#include "src/runtime/session/session_state.hpp"

namespace dyn::cli {

/// Loads the model; log lines go to stderr where that is a terminal.
std::shared_ptr<const runtime::Model> load_model(const Arguments& arguments);

/// The values of all symbols, one entry for each shape asked for: the product of --dims, or what
/// each --shapes and all --load-inputs say, or the model's hints. Throws Error(user) where they do
/// not fit the model.
std::vector<std::vector<std::int64_t>> requested_shapes(
    const runtime::Model& model, const Arguments& arguments,
    const std::map<std::string, Tensor>& loaded);

/// Exactly one shape; Error(user) where there are several.
std::vector<std::int64_t> requested_shape(const runtime::Model& model, const Arguments& arguments,
                                          const std::map<std::string, Tensor>& loaded);

/// The model that runs at a shape, where the shape may change its structure.
struct ModelAt {
  std::shared_ptr<const runtime::Model> model;
  std::vector<std::int64_t> symbols;  ///< of this model
};
/// `symbols`: values of the given model's.
ModelAt model_at(const std::shared_ptr<const runtime::Model>& model,
                 std::span<const std::int64_t> symbols);

/// A session for these values, of a model with states; nullptr for others. Every run finds as many
/// positions as the values say, filled with seeded random numbers.
std::shared_ptr<runtime::SessionState> make_session(
    const std::shared_ptr<const runtime::Model>& model, std::span<const std::int64_t> symbols,
    std::uint64_t seed);

/// A call in the session where there is one, else of the model alone.
runtime::CallState make_call(const std::shared_ptr<const runtime::Model>& model,
                             const std::shared_ptr<runtime::SessionState>& session);

/// One run at the shape asked for, with the `given` inputs, and random ones for the others. The
/// call holds the outputs.
std::unique_ptr<runtime::CallState> run_once(const std::shared_ptr<const runtime::Model>& model,
                                             std::span<const std::int64_t> symbols,
                                             const std::map<std::string, Tensor>& given,
                                             std::uint64_t seed);

/// The declared dims by name, for rows and messages.
std::vector<std::pair<std::string, std::int64_t>> named_dims(const runtime::Model& model,
                                                             std::span<const std::int64_t> symbols);

/// "bert_base" of "models/bert_base.dyn".
std::string model_name(const Arguments& arguments);

}  // namespace dyn::cli
