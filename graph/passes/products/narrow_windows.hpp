#pragma once

#include "graph/ir/module.hpp"

namespace dyn::graph {

/// Lets windows slide over bytes that become numbers by a cast and by scalars: what makes numbers
/// of them moves behind the windows, so that memory holds bytes. Outside lies the byte that becomes
/// what lay there; windows stay where there is no such byte. Runs when everything else is done to a
/// module but its fusion.
void narrow_windows(Module& module);

}  // namespace dyn::graph
