// What uses the host's own protobuf and LLVM.

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/wrappers.pb.h>
#include <llvm-c/Core.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Target.h>

namespace {

bool use_protobuf() {
  google::protobuf::StringValue written, read;
  written.set_value("seven");
  std::string bytes;
  return written.SerializeToString(&bytes) && read.ParseFromString(bytes) &&
         read.value() == "seven" &&
         google::protobuf::DescriptorPool::generated_pool()->FindMessageTypeByName(
             "google.protobuf.StringValue") != nullptr;
}

bool succeeded(LLVMErrorRef error) {
  if (error != nullptr) std::fprintf(stderr, "%s\n", LLVMGetErrorMessage(error));
  return error == nullptr;
}

bool use_llvm() {
  static const char text[] =
      "define i32 @three_times(i32 %x) {\n  %y = mul i32 %x, 3\n  ret i32 %y\n}\n";
  LLVMInitializeNativeTarget();
  LLVMInitializeNativeAsmPrinter();
  LLVMOrcThreadSafeContextRef context = LLVMOrcCreateNewThreadSafeContext();
  LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRange(text, sizeof text - 1, "m", 1);
  LLVMModuleRef module = nullptr;
  char* message = nullptr;
  if (LLVMParseIRInContext(LLVMOrcThreadSafeContextGetContext(context), buffer, &module, &message))
    return false;
  LLVMOrcLLJITRef jit = nullptr;
  LLVMOrcExecutorAddress address = 0;
  if (!succeeded(LLVMOrcCreateLLJIT(&jit, nullptr))) return false;
  const bool is_there =
      succeeded(LLVMOrcLLJITAddLLVMIRModule(jit, LLVMOrcLLJITGetMainJITDylib(jit),
                                            LLVMOrcCreateNewThreadSafeModule(module, context))) &&
      succeeded(LLVMOrcLLJITLookup(jit, &address, "three_times"));
  const bool is_right =
      is_there && reinterpret_cast<std::int32_t (*)(std::int32_t)>(address)(14) == 42;
  LLVMOrcDisposeThreadSafeContext(context);
  return succeeded(LLVMOrcDisposeLLJIT(jit)) && is_right;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int use_others(const char*) {
  if (!use_protobuf()) return 1;
  return use_llvm() ? 0 : 2;
}
