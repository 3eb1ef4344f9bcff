#include "targets/cpu/move/window_copy.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

using dyn::cpu::WindowForm;

TEST_CASE("windows of each form are copied by a function of their own") {
  const dyn::codegen::Isa& isa = dyn::codegen::all_isas().front();
  WindowForm plain;
  plain.axes = {{.has_taps = true, .of_m = true}, {.has_taps = false, .of_m = false}};
  const std::vector<std::function<void(WindowForm&)>> changes{
      [](WindowForm&) {},
      [](WindowForm& form) { form.axes[0].has_taps = false; },
      [](WindowForm& form) { form.axes[1].has_taps = true; },
      [](WindowForm& form) { form.axes[1].of_m = true; },
      [](WindowForm& form) { form.axes.push_back({.has_taps = true, .of_m = true}); },
      [](WindowForm& form) { form.unit_channels = true; },
      [](WindowForm& form) { form.run = true; },
      [](WindowForm& form) { form.segment = 9; },
      [](WindowForm& form) { form.segment = 16; }};
  std::set<std::string> keys;
  for (const auto& change : changes) {
    WindowForm form = plain;
    change(form);
    keys.insert(dyn::cpu::window_copy_source(isa, form).key);
  }
  CHECK(keys.size() == changes.size());
}
