#include "src/import/onnx/sizes/freed_check.hpp"

#include <fmt/format.h>

#include "graph/shapes/propagate.hpp"

namespace dyn::onnx {

void check_freed(NodeContext& node, std::size_t first_new) {
  const FileSizes& sizes = node.sizes();
  if (sizes.freed().empty()) return;
  for (const FileSizes::Freed& freed : sizes.freed()) {
    const Dim dim = node.builder().resolve(freed.symbol);
    if (dim.constant())
      node.fail_unsupported(
          fmt::format("it needs {} to be {}, so that it cannot be freed; leave the file's size: {}",
                      freed.name, *dim.constant(), sizes.words_without({})));
  }
  for (std::size_t i = first_new; i < node.builder().node_count(); ++i) {
    for (const graph::Constraint& condition : node.builder().constraints(i)) {
      if (!sizes.binds(condition)) continue;
      const std::vector<Dim> sides{condition.left, condition.right};
      node.fail_unsupported(fmt::format(
          "{}; that holds for the file's sizes alone, and {} cannot be freed; leave the file's "
          "sizes: {}",
          graph::to_string(condition), sizes.names_in(sides), sizes.words_without(sides)));
    }
  }
}

}  // namespace dyn::onnx
