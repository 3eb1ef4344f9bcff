#include "graph/dims/dim_info.hpp"

namespace dyn::graph {

DimInfo info_of(Dim dim) {
  const Interval values = bounds(dim);
  DimInfo info{.kind = DimInfo::Kind::expression,
               .text = to_string(dim),
               .low = values.low,
               .high = values.high,
               .divisor = known_divisor(dim)};
  if (dim.constant()) info.kind = DimInfo::Kind::constant;
  if (const std::optional<int> symbol = dim.symbol()) {
    const SymbolInfo& known = dim.table().info(*symbol);
    info.kind = DimInfo::Kind::named;
    info.hint = known.hint;
    info.computed = known.defined;
  }
  return info;
}

std::vector<DimInfo> infos_of(std::span<const Dim> dims) {
  std::vector<DimInfo> infos;
  for (const Dim dim : dims) infos.push_back(info_of(dim));
  return infos;
}

}  // namespace dyn::graph
