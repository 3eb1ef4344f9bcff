#include "targets/llvm/jit/ahead_of_time.hpp"

#include <map>
#include <utility>

#include "targets/llvm/jit/isa.hpp"

namespace dyn::codegen {

void* ahead_of_time_function(const Isa& isa, std::string_view key) {
  static const auto functions = [] {
    std::map<std::pair<std::string_view, std::string_view>, void*> all;
    for (const AheadOfTime& one : ahead_of_time_table())
      all.emplace(std::pair{one.isa, one.key}, one.address);
    return all;
  }();
  const auto found = functions.find({isa.name, key});
  return found == functions.end() ? nullptr : found->second;
}

}  // namespace dyn::codegen
