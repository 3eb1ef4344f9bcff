#include "src/runtime/build/plugins.hpp"

#include <utility>

namespace dyn::runtime {

Options with_plugins(Options options) {
  for (const std::string& path : std::exchange(options.plugins, {}))
    options.operators = options.operators.joined(Operators::from_plugin(path));
  return options;
}

}  // namespace dyn::runtime
