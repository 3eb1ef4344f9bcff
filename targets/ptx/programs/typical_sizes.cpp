#include "targets/ptx/programs/typical_sizes.hpp"

#include <algorithm>

#include "src/base/rounding.hpp"

namespace dyn::ptx {

std::vector<std::int64_t> typical_symbols(const graph::DimTable& dims, std::int64_t unknown) {
  std::vector<std::int64_t> symbols;
  for (int symbol = 0; symbol < dims.symbol_count(); ++symbol) {
    const graph::SymbolInfo& info = dims.info(symbol);
    const std::int64_t size = round_up(info.hint.value_or(unknown), info.divisor);
    symbols.push_back(std::clamp(size, info.low, std::max(info.low, info.high)));
  }
  return symbols;
}

}  // namespace dyn::ptx
