#pragma once
// What a dyn::Call holds.

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "src/runtime/load/model.hpp"
#include "src/runtime/run/call_ports.hpp"
#include "src/runtime/run/run_request.hpp"

namespace dyn::runtime {

/// One caller's run, for callers inside dyn that need a profile. Not thread-safe.
class CallState {
 public:
  explicit CallState(std::shared_ptr<const Model> model);
  explicit CallState(std::shared_ptr<SessionState> session);
  /// `executable` must outlive the call.
  explicit CallState(const Executable& executable);
  ~CallState();
  CallState(const CallState&) = delete;
  CallState& operator=(const CallState&) = delete;

  void set_input(std::size_t index, Tensor tensor) { ports_.set_input(index, std::move(tensor)); }
  /// As CallPorts'.
  void share_input(std::size_t index, const CallPorts& from) { ports_.share_input(index, from); }
  void set_output(std::size_t index, Tensor tensor) { ports_.set_output(index, std::move(tensor)); }
  void set_output(std::size_t index, const std::shared_ptr<rkernel::Device>& device) {
    ports_.set_output(index, device);
  }
  /// Throw Error(user) where there is none.
  std::size_t input_index(std::string_view name) const { return ports_.input_index(name); }
  std::size_t output_index(std::string_view name) const { return ports_.output_index(name); }

  void run(const RunRequest& request);
  void run(RunProfile* profile = nullptr) { run(RunRequest{.profile = profile}); }
  void run(const RunControl& control);
  /// As dyn::Call's.
  void run(Profile& profile, const RunOptions& options = {});
  /// Throws Error(user) where the model does not run on this device.
  void check_device(const rkernel::Device& device) const {
    ports_.check_device(device, "the stream");
  }
  /// As dyn::Call's; the stream is the device's.
  void set_stream(std::shared_ptr<rkernel::Stream> stream);
  void wait();
  /// A run has returned while the device worked, and nobody has waited for it yet.
  bool in_flight() const;
  /// Runs by this plan of the model's, for as long as shapes are those that it was made for; all
  /// inputs are set. Asks the model for no plan. Throws Error(user) where it was made for other
  /// shapes.
  void use_plan(PlanPtr plan);
  const Tensor& input(std::size_t index) const { return ports_.input(index); }
  void drop_outputs() { ports_.drop_outputs(); }
  const Tensor& output(std::size_t index) const { return ports_.output(index); }
  /// The plan of the last run; throws Error(user) where there was none, or no plan covered it.
  const Plan& plan() const;
  /// The same, nullptr in place of the error.
  PlanPtr plan_or_null() const;

 private:
  std::shared_ptr<const Model> model_;     ///< nullptr: the executable is another's
  std::shared_ptr<SessionState> session_;  ///< nullptr: none
  CallPorts ports_;
  std::unique_ptr<Execution> execution_;
  Executor* const executor_;  ///< the model's options keep it; nullptr: none
};

}  // namespace dyn::runtime
