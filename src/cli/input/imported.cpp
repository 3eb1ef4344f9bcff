#include "src/cli/input/imported.hpp"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dyn/error.hpp"
#include "src/cli/input/inputs.hpp"

namespace dyn::cli {

onnx::Imported imported_model(const Arguments& arguments, const std::string& weights_name) {
  onnx::Imported imported = onnx::import_model(arguments.model, weights_name,
                                               {.known = load_inputs(arguments.load_inputs).tensors,
                                                .free_dims = arguments.options.free_dims,
                                                .strict = arguments.options.strict,
                                                .alone = true});
  if (imported.undecided.empty()) return imported;
  throw Error(ErrorKind::user, fmt::format("the values of its input(s) {} decide the structure of "
                                           "the model; give them with --load-inputs NAME=FILE.npy",
                                           fmt::join(imported.undecided, ", ")));
}

}  // namespace dyn::cli
