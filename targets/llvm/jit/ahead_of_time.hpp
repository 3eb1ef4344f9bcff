#pragma once
// Functions that depend on the ISA alone, not on a model, are compiled when dyn is built, and are a
// part of it.

#include <span>
#include <string_view>

namespace dyn::codegen {

struct Isa;

struct AheadOfTime {
  std::string_view isa, key;
  void* address = nullptr;
};

/// dyn-aot writes it when dyn is built; in that program it is empty.
std::span<const AheadOfTime> ahead_of_time_table();

/// The function of the source with this key; nullptr where it was not compiled. Thread-safe.
void* ahead_of_time_function(const Isa& isa, std::string_view key);

}  // namespace dyn::codegen
