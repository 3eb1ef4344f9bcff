#include "src/cli/input/imported.hpp"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "dyn/error.hpp"
#include "src/cli/input/inputs.hpp"
#include "src/cli/input/standard_input.hpp"
#include "src/runtime/build/plugins.hpp"

namespace dyn::cli {

onnx::Imported imported_model(const Arguments& arguments, const std::string& weights_name) {
  const std::unique_ptr<onnx::ModelFiles> files =
      is_standard_input(arguments.model) ? onnx_files_of_standard_input()
                                         : std::make_unique<onnx::DiskModelFiles>(arguments.model);
  const Operators operators = runtime::with_plugins(arguments.options).operators;
  onnx::Imported imported = onnx::import_model(*files, weights_name,
                                               {.known = load_inputs(arguments.load_inputs).tensors,
                                                .free_dims = arguments.options.free_dims,
                                                .operators = operators.set(),
                                                .strict = arguments.options.strict,
                                                .alone = true});
  if (!imported.is_undecided()) return imported;
  if (imported.undecided.empty())
    throw Error(ErrorKind::user,
                fmt::format("the file does not say what rank its input(s) {} have; "
                            "give their dims with --free INPUT=DIM,DIM,...",
                            fmt::join(imported.unranked, ", ")));
  throw Error(ErrorKind::user, fmt::format("the values of its input(s) {} decide the structure of "
                                           "the model; give them with --load-inputs NAME=FILE.npy",
                                           fmt::join(imported.undecided, ", ")));
}

}  // namespace dyn::cli
