#pragma once
// A loaded graph described: dyn.Dim, State, Metadata, Kernel, KernelChoice.

#include <string>
#include <vector>

#include "dyn/info.hpp"
#include "src/python/bindings/errors.hpp"

namespace dyn::python {

/// A list with an object for each.
template <class Info>
nb::object to_list(const std::vector<Info>& infos) {
  nb::list list;
  for (const Info& info : infos) list.append(nb::cast(info));
  return list;
}

nb::object to_list(const std::vector<std::string>& texts);

void register_info(nb::module_& module);

}  // namespace dyn::python
