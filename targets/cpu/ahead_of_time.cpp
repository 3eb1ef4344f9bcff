#include "targets/cpu/ahead_of_time.hpp"

#include <utility>

#include "targets/cpu/measure/read_loop.hpp"
#include "targets/cpu/move/move_functions.hpp"
#include "targets/cpu/move/window_copy.hpp"
#include "targets/cpu/tile/dot_loop.hpp"
#include "targets/cpu/tile/main_loop.hpp"

namespace dyn::cpu {

namespace {

/// Windows along one axis or two, of all batches, over channels that lie together: those of most
/// convolutions.
std::vector<WindowForm> usual_windows() {
  std::vector<WindowForm> forms;
  for (const std::vector<bool>& taps :
       {std::vector{true}, {true, true}, {false, true}, {true, false}, {false, false}}) {
    for (const bool run : {false, true}) {
      WindowForm form;
      form.axes.push_back({.has_taps = false, .of_m = true});
      for (const bool has_taps : taps) form.axes.push_back({.has_taps = has_taps, .of_m = true});
      form.unit_channels = true;
      form.run = run;
      forms.push_back(std::move(form));
    }
  }
  return forms;
}

}  // namespace

std::vector<rkernel::Factors> usual_weights(const codegen::Isa& isa) {
  const std::vector<DType> widened = codegen::widened_dtypes(isa);
  std::vector<rkernel::Factors> all(widened.begin(), widened.end());
  const DType scale = codegen::can_widen(isa, DType::f16) ? DType::f16 : DType::f32;
  all.emplace_back(rkernel::Coding{rkernel::usual_coding_block, scale});
  return all;
}

std::vector<codegen::KernelSource> ahead_of_time_sources(const codegen::Isa& isa) {
  std::vector<codegen::KernelSource> sources = dot_loop_sources(isa);
  for (const rkernel::Factors& weights : usual_weights(isa)) {
    const std::vector<codegen::KernelSource> loops = main_loop_sources(isa, weights);
    sources.insert(sources.end(), loops.begin(), loops.end());
  }
  const std::vector<codegen::KernelSource> moves = move_sources(isa);
  sources.insert(sources.end(), moves.begin(), moves.end());
  for (const WindowForm& form : usual_windows()) sources.push_back(window_copy_source(isa, form));
  sources.push_back(read_loop_source(isa));
  return sources;
}

}  // namespace dyn::cpu
