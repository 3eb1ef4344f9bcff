#pragma once
// The node that a function of a plug-in is called for, as C sees it.

#include <deque>
#include <exception>
#include <string>

#include "dyn/operator.hpp"
#include "dyn/plugin.h"

/// The type of C is a name alone: pointers to it are pointers to these.
struct dyn_plugin_dim {
  dyn::Dim dim;
};

struct dyn_plugin_node {
  const dyn::NodeAttributes* attributes = nullptr;
  const dyn::ShapeContext* shape = nullptr;  ///< nullptr: no shape function runs
  std::string message;                       ///< of fail()
  std::exception_ptr error;                  ///< the first that a function of the host has met
  std::deque<dyn_plugin_dim> dims;           ///< their addresses stay
  std::deque<std::string> words;
  std::deque<std::vector<std::int64_t>> lists;

  const dyn_plugin_dim* keep(dyn::Dim dim) {
    return &dims.emplace_back(dyn_plugin_dim{std::move(dim)});
  }
};

namespace dyn::c {

/// What every function of a plug-in gets.
const dyn_plugin_host& plugin_host();

}  // namespace dyn::c
