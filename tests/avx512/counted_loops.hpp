#pragma once
// Main loops that count their calls: the same functions behind one trampoline each.

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <utility>
#include <vector>

#include "targets/cpu/tile/main_loop.hpp"

namespace dyn::avx512_check {

template <class Function>
class CountedLoopsOf;

template <class... Arguments>
class CountedLoopsOf<void (*)(Arguments...)> {
 public:
  using Function = void (*)(Arguments...);
  static constexpr std::size_t most = 256;

  /// Functions that call `loops`, in that order; one table at a time.
  static std::vector<Function> wrap(const std::vector<Function>& loops) {
    if (loops.size() > most) throw std::length_error("more main loops than trampolines");
    static const std::array<Function, most> all = trampolines(std::make_index_sequence<most>());
    loops_ = loops;
    calls_.assign(loops.size(), 0);
    return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(loops.size())};
  }
  static std::int64_t calls(std::size_t loop) { return calls_.at(loop); }

 private:
  template <std::size_t index>
  static void call(Arguments... arguments) {
    ++calls_[index];
    loops_[index](arguments...);
  }
  template <std::size_t... indices>
  static std::array<Function, most> trampolines(std::index_sequence<indices...>) {
    return {&call<indices>...};
  }

  static inline std::vector<Function> loops_;
  static inline std::vector<std::int64_t> calls_;
};

using CountedLoops = CountedLoopsOf<cpu::MainLoop>;

}  // namespace dyn::avx512_check
