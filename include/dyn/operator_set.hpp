#pragma once
// dyn::Operators: the program's own operators, as options take them.

#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "dyn/export.hpp"

struct dyn_plugin;

namespace dyn {

struct Operator;  // dyn/operator.hpp

namespace graph {
class CustomOps;
}

/// A set of operators that the program gives (dyn/operator.hpp). Immutable and thread-safe; copies
/// share it, and models that use it keep it.
class DYN_API Operators {
 public:
  /// None.
  Operators() = default;
  /// Throws Error(user) for an operator that cannot be one, naming it, and for two of one name.
  Operators(std::initializer_list<Operator> operators);
  explicit Operators(const std::vector<Operator>& operators);
  /// Those of a plug-in (dyn/plugin.h): a shared object, which stays loaded as long as anything
  /// uses the set. Throws Error(device) for a file that cannot be loaded, Error(unsupported) for a
  /// plug-in of a newer version, Error(user) for one that is broken; all name the file.
  static Operators from_plugin(const std::string& path);
  /// The same of a table in this program, which stays, and so do the operators and what they need,
  /// as long as anybody has `owner`; whatever uses the set does. Throws as from_plugin, but for the
  /// file.
  static Operators from_table(const dyn_plugin& table, const std::shared_ptr<void>& owner);
  /// The operators of both sets. Throws Error(user) where both have one of the same name.
  Operators joined(const Operators& others) const;

  bool empty() const noexcept { return set_ == nullptr; }
  /// "domain::name" of each, sorted.
  std::vector<std::string> names() const;

  /// Inside dyn; not part of the stable API. nullptr: none.
  const std::shared_ptr<const graph::CustomOps>& set() const noexcept { return set_; }

 private:
  std::shared_ptr<const graph::CustomOps> set_;
};

}  // namespace dyn
