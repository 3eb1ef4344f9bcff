#pragma once
// A model whose structure the values or ranks of some inputs decide: each run has its own model.

#include "src/runtime/executables/executable.hpp"
#include "src/runtime/structures/structures.hpp"

namespace dyn::runtime {

class UndecidedExecutable final : public Executable {
 public:
  /// `device`: which all structures share; nullptr: they are the host's.
  UndecidedExecutable(ModelInfo info, Structures::Deciding deciding, Structures::Load load,
                      std::shared_ptr<rkernel::Device> device);

  std::string device_name() const override { return info().options.device; }
  std::shared_ptr<rkernel::Device> device() const override { return device_; }
  /// A session makes no difference: whoever makes one asks for the module, which throws.
  std::unique_ptr<Execution> make_execution(CallPorts& ports, SessionState* session) const override;

  std::vector<std::string> deciding_inputs() const override;
  void trim() const override { structures_.forget(); }
  const graph::Module& module() const override { refuse(); }
  const Binder& binder() const override { refuse(); }
  const Plans& plans() const override { refuse(); }

  /// For its executions; synchronised.
  Structures& structures() const noexcept { return structures_; }

 private:
  [[noreturn]] void refuse() const;

  const std::shared_ptr<rkernel::Device> device_;
  mutable Structures structures_;
};

}  // namespace dyn::runtime
