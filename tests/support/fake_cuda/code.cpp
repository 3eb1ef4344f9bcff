// The fake driver's linker and modules. A cubin is a line with its architecture, and its PTX.

#include <cstring>
#include <regex>
#include <string_view>

#include "tests/support/fake_cuda/state.hpp"

namespace dyn::test::fake {
namespace {

constexpr std::string_view cubin_start = "fake cubin sm_";

std::string cubin_header() {
  return std::string(cubin_start) + std::to_string(state().control.capability) + "\n";
}

// The value of a JIT option, by its name.
void* option(unsigned int count, const JitOption* names, void* const* values, JitOption wanted) {
  for (unsigned int i = 0; i < count; ++i) {
    if (names[i] == wanted) return values[i];
  }
  return nullptr;
}

/// A failure of the link writes the log.
Result failed(const Call& call, const LinkTag& link) {
  const char* log = state().control.compiler_log;
  if (log != nullptr && link.error_log != nullptr)
    std::strncpy(link.error_log, log, link.error_log_bytes);
  return call.result();
}

std::set<std::string> symbols_of(const std::string& ptx) {
  std::set<std::string> symbols;
  const std::regex entry(R"(\.entry\s+(\w+))");
  for (auto match = std::sregex_iterator(ptx.begin(), ptx.end(), entry);
       match != std::sregex_iterator(); ++match)
    symbols.insert((*match)[1]);
  return symbols;
}

}  // namespace

Result cuLinkCreate(unsigned int options, JitOption* names, void** values, LinkHandle* link) {
  DYN_FAKE_CALL(Context);
  *link = new LinkTag;
  (*link)->error_log =
      static_cast<char*>(option(options, names, values, JitOption::ErrorLogBuffer));
  (*link)->error_log_bytes = reinterpret_cast<std::size_t>(
      option(options, names, values, JitOption::ErrorLogBufferSizeBytes));
  state().links.insert(*link);
  ++state().control.counts.links.made;
  return Result::Success;
}

Result cuLinkAddData(LinkHandle link, JitInput type, void* data, std::size_t bytes, const char*,
                     unsigned int, JitOption*, void**) {
  const Call call(__func__, Call::Needs::Context);
  if (!state().links.contains(link)) return call.misuse(Result::InvalidHandle);
  if (call.result() != Result::Success) return failed(call, *link);
  if (type != JitInput::Ptx || bytes == 0) return call.misuse(Result::InvalidValue);
  const auto* text = static_cast<const char*>(data);
  if (text[bytes - 1] != 0) return call.misuse(Result::InvalidPtx);
  const std::string ptx(text, bytes - 1);
  if (symbols_of(ptx).empty()) return Result::InvalidPtx;
  link->cubin = cubin_header() + ptx;
  return Result::Success;
}

Result cuLinkComplete(LinkHandle link, void** cubin, std::size_t* bytes) {
  const Call call(__func__, Call::Needs::Context);
  if (!state().links.contains(link)) return call.misuse(Result::InvalidHandle);
  if (call.result() != Result::Success) return failed(call, *link);
  ++state().control.counts.assembled;
  *cubin = link->cubin.data();
  *bytes = link->cubin.size();
  return Result::Success;
}

Result cuLinkDestroy(LinkHandle link) {
  DYN_FAKE_CALL(Context);
  if (state().links.erase(link) == 0) return call.misuse(Result::InvalidHandle);
  delete link;
  ++state().control.counts.links.ended;
  return Result::Success;
}

Result cuModuleLoadDataEx(ModuleHandle* module, const void* image, unsigned int, JitOption*,
                          void**) {
  DYN_FAKE_CALL(Context);
  const std::string text = static_cast<const char*>(image);
  if (!text.starts_with(cubin_start)) return Result::InvalidImage;
  if (!text.starts_with(cubin_header())) return Result::NoBinaryForGpu;
  auto made = std::make_unique<ModuleTag>();
  made->symbols = symbols_of(text);
  *module = made.release();
  state().modules.insert(*module);
  ++state().control.counts.modules.made;
  return Result::Success;
}

Result cuModuleUnload(ModuleHandle module) {
  DYN_FAKE_CALL(Context);
  run_all_streams();
  if (state().modules.erase(module) == 0) return call.misuse(Result::InvalidHandle);
  for (FunctionHandle function : module->functions) delete function;
  delete module;
  ++state().control.counts.modules.ended;
  return Result::Success;
}

Result cuModuleGetFunction(FunctionHandle* function, ModuleHandle module, const char* name) {
  DYN_FAKE_CALL(Context);
  if (!state().modules.contains(module)) return call.misuse(Result::InvalidHandle);
  if (!module->symbols.contains(name)) return Result::NotFound;
  *function = new FunctionTag{name};
  module->functions.push_back(*function);
  return Result::Success;
}

Result cuFuncSetAttribute(FunctionHandle function, FunctionAttribute, int value) {
  DYN_FAKE_CALL(Context);
  int most = 0;
  cuDeviceGetAttribute(&most, Attribute::MaxSharedMemoryPerBlockOptin, 0);
  if (value > most) return Result::InvalidValue;
  function->dynamic_shared_bytes = value;
  state().control.counts.opted_in_shared_bytes = value;
  return Result::Success;
}

}  // namespace dyn::test::fake
