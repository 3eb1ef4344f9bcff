// The table of device operations, and docs/device_operations.md, which is made from it.

#include "targets/ptx/ir/device_ops.hpp"

#include <doctest/doctest.h>

#include <set>

#include "tests/support/generated_page.hpp"
#include "tests/unit/ptx/ir/device_kernels.hpp"

using namespace dyn;
using namespace dyn::test;

namespace {

constexpr std::string_view begin_mark =
    "<!-- operations: generated from targets/ptx/ir/device_ops.def -->\n";
constexpr std::string_view end_mark = "<!-- end of operations -->\n";
/// In a cell of a table.
std::string cell(std::string_view text) {
  std::string result;
  for (const char c : text) result += c == '|' ? std::string("\\|") : std::string(1, c);
  return result;
}

void add_group(std::string& page, std::string_view title, std::string_view text) {
  page += "\n### " + std::string(title) + "\n\n" + std::string(text) +
          "\n\n| operation | signature | PTX | meaning |\n|---|---|---|---|\n";
}

void add_operation(std::string& page, const ptx::DeviceOp& op) {
  page += "| `" + cell(op.name) + "` | `" + cell(op.signature) + "` | `" + cell(op.ptx) + "` | " +
          cell(op.text) + " |\n";
}

std::string operation_reference() {
  std::string page = "\nIntrinsics of LLVM:";
  for (const unsigned intrinsic : ptx::device_intrinsics()) {
    page += (page.back() == ':' ? " `" : ", `") +
            llvm::Intrinsic::getBaseName(static_cast<llvm::Intrinsic::ID>(intrinsic)).str() + "`";
  }
  page += ".\n";
#define DYN_DEVICE_GROUP(title, text) add_group(page, title, text);
#define DYN_DEVICE_OP(id, name, signature, instruction, text) \
  add_operation(page, {ptx::Op::id, name, signature, instruction, text});
#include "targets/ptx/ir/device_ops.def"
#undef DYN_DEVICE_OP
  return page + "\n";
}

/// The error of verify_device_module() for a kernel with this body; "" where there is none.
std::string error_of(const std::function<void(const KernelBody&)>& body) {
  llvm::LLVMContext context;
  const auto module = device_kernel(context, body);
  return internal_error([&] { ptx::verify_device_module(*module); });
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

/// A call of a function that is declared here.
llvm::CallInst* call_of(const KernelBody& body, const std::string& name, llvm::Type* result,
                        std::vector<llvm::Value*> arguments) {
  std::vector<llvm::Type*> types;
  for (const llvm::Value* argument : arguments) types.push_back(argument->getType());
  return body.builder.CreateCall(body.kernel->getParent()->getOrInsertFunction(
                                     name, llvm::FunctionType::get(result, types, false)),
                                 arguments);
}

}  // namespace

TEST_CASE("every operation is found by its name, and once") {
  std::set<std::string_view> names;
  for (const ptx::DeviceOp& op : ptx::device_ops()) {
    INFO(op.name);
    CHECK(names.insert(op.name).second);
    CHECK(op.name.starts_with("dyn.dev."));
    CHECK(ptx::find_device_op(op.name) == &op);
    CHECK(&ptx::device_ops()[static_cast<std::size_t>(op.op)] == &op);
    CHECK(!op.text.empty());
  }
  CHECK(ptx::find_device_op("dyn.dev.ti") == nullptr);
  CHECK(ptx::find_device_op("dyn.dev.tid.") == nullptr);
}

TEST_CASE("signatures are types") {
  llvm::LLVMContext context;
  const auto type_of = [&](ptx::Op op) {
    return ptx::function_type(context, ptx::device_ops()[static_cast<std::size_t>(op)]);
  };
  CHECK(type_of(ptx::Op::Barrier)->getReturnType()->isVoidTy());
  const llvm::FunctionType* copy = type_of(ptx::Op::CopyAsync16);
  REQUIRE(copy->getNumParams() == 3);
  CHECK(copy->getParamType(0)->getPointerAddressSpace() == ptx::shared_space);
  CHECK(copy->getParamType(1)->getPointerAddressSpace() == ptx::global_space);
  CHECK(copy->getParamType(2)->isIntegerTy(32));
  const llvm::FunctionType* mma = type_of(ptx::Op::MmaBf16);
  CHECK(mma->getNumParams() == 10);
  CHECK(llvm::cast<llvm::StructType>(mma->getReturnType())->getNumElements() == 4);
}

TEST_CASE("every operation is a valid call, and its declaration tells the truth") {
  for (const ptx::DeviceOp& op : ptx::device_ops()) {
    INFO(op.name);
    llvm::LLVMContext context;
    const auto module = kernel_of(context, op);
    CHECK(internal_error([&] { ptx::verify_device_module(*module); }) == "");
    const llvm::Function* declaration = module->getFunction(op.name);
    CHECK(declaration->doesNotThrow());
    // Operations of several lanes keep their place; operations that touch memory or wait are not
    // free of effects.
    const bool together = has(std::string(op.name), ".sync") ||
                          has(std::string(op.name), "ldmatrix") ||
                          has(std::string(op.name), "mma.");
    CHECK(declaration->isConvergent() == together);
    const std::string_view arguments = op.signature.substr(op.signature.find('('));
    const bool has_pointer = arguments.find_first_of("sg") != std::string_view::npos;
    if (has_pointer || has(std::string(op.name), "fence") || has(std::string(op.name), "cp.async"))
      CHECK(!declaration->doesNotAccessMemory());
  }
}

TEST_CASE("a call that does not fit is refused where it is made") {
  llvm::LLVMContext context;
  const std::string error = internal_error([&] {
    device_kernel(context, [](const KernelBody& body) {
      ptx::call(body.builder, ptx::Op::WarpSync, {body.builder.getInt64(1)});
    });
  });
  CHECK(has(error, "dyn.dev.bar.warp.sync is not called with v(i)"));
}

TEST_CASE("what is no device operation is refused") {
  const auto i32 = [](const KernelBody& body) { return body.builder.getInt32Ty(); };
  CHECK(
      has(error_of([&](const KernelBody& body) { call_of(body, "dyn.dev.clock", i32(body), {}); }),
          "no such device operation"));
  CHECK(has(error_of([&](const KernelBody& body) {
              call_of(body, "expf", body.builder.getFloatTy(), {});
            }),
            "no such device operation"));
  CHECK(has(error_of([&](const KernelBody& body) {
              call_of(body, "dyn.dev.tid", body.builder.getInt64Ty(), {});
            }),
            "the signature of dyn.dev.tid is i()"));
  CHECK(has(error_of([&](const KernelBody& body) {
              call_of(body, "dyn.dev.bar.warp.sync", body.builder.getVoidTy(), {});
            }),
            "the signature of dyn.dev.bar.warp.sync is v(i)"));
  CHECK(has(error_of([&](const KernelBody& body) {
              llvm::Value* thread = ptx::call(body.builder, ptx::Op::Thread);
              ptx::call(body.builder, ptx::Op::NamedBarrier, {body.builder.getInt32(1), thread});
            }),
            "argument 1 of dyn.dev.barrier.sync.named must be a constant"));
  CHECK(has(error_of([&](const KernelBody& body) {
              body.builder.CreateIntrinsic(llvm::Intrinsic::sin, {body.builder.getFloatTy()},
                                           {llvm::ConstantFP::get(body.builder.getFloatTy(), 1)});
            }),
            "not an intrinsic that every lowering has"));
  CHECK(has(error_of([&](const KernelBody& body) {
              auto* type = llvm::FunctionType::get(body.builder.getVoidTy(), false);
              body.builder.CreateCall(type, llvm::Constant::getNullValue(body.builder.getPtrTy()));
            }),
            "only device operations and intrinsics"));
}

TEST_CASE("memory that a thread does not have is refused") {
  CHECK(has(error_of([](const KernelBody& body) {
              body.builder.CreateAlloca(body.builder.getInt32Ty());
            }),
            "a thread has no stack"));
  CHECK(has(error_of([](const KernelBody& body) {
              body.builder.CreateStore(body.builder.getInt32(1),
                                       llvm::Constant::getNullValue(body.builder.getPtrTy()));
            }),
            "memory is global"));
  CHECK(has(error_of([](const KernelBody& body) {
              body.builder.CreateFence(llvm::AtomicOrdering::SequentiallyConsistent);
            }),
            "not an access that every lowering has"));
  CHECK(has(error_of([](const KernelBody& body) {
              body.builder
                  .CreateAlignedStore(body.builder.getInt32(1), body.operand(0), llvm::Align(4))
                  ->setAtomic(llvm::AtomicOrdering::Release);
            }),
            "the only atomic access is a monotonic store"));
  CHECK(has(error_of([](const KernelBody& body) {
              body.builder.CreateAddrSpaceCast(body.operand(0), body.builder.getPtrTy());
            }),
            "stay in their address space"));
  CHECK(has(error_of([](const KernelBody& body) {
              auto* type = body.builder.getInt32Ty();
              new llvm::GlobalVariable(*body.kernel->getParent(), type, false,
                                       llvm::GlobalValue::PrivateLinkage, body.builder.getInt32(0),
                                       "counter");
            }),
            "the variable counter"));
}

TEST_CASE("arithmetic that machines do differently is refused") {
  const auto load = [](const KernelBody& body) {
    return body.builder.CreateLoad(body.builder.getFloatTy(), body.operand(0));
  };
  CHECK(has(error_of([&](const KernelBody& body) {
              llvm::Value* value = load(body);
              llvm::cast<llvm::Instruction>(body.builder.CreateFAdd(value, value))
                  ->setHasAllowContract(true);
            }),
            "there is no fast-math"));
  CHECK(has(error_of([&](const KernelBody& body) {
              body.builder.CreateFPTrunc(load(body), body.builder.getBFloatTy());
            }),
            "the bits of an i16"));
  CHECK(has(error_of([](const KernelBody& body) {
              body.builder.CreateLoad(body.builder.getHalfTy(), body.operand(0));
            }),
            "the bits of an i16"));
}

TEST_CASE("a kernel has its shape") {
  CHECK(error_of([](const KernelBody&) {}) == "");
  CHECK(has(error_of([](const KernelBody& body) { body.kernel->removeFnAttr("dyn.threads"); }),
            "needs the function attribute \"dyn.threads\""));
  CHECK(has(error_of([](const KernelBody& body) { body.kernel->addFnAttr("dyn.shared", "much"); }),
            "needs the function attribute \"dyn.shared\""));
  CHECK(has(error_of([](const KernelBody& body) { body.kernel->addFnAttr("dyn.threads", "0"); }),
            "has no threads"));
  CHECK(has(error_of([](const KernelBody& body) {
              body.kernel->setLinkage(llvm::GlobalValue::InternalLinkage);
            }),
            "must be external"));
  CHECK(has(error_of([](const KernelBody& body) {
              codegen::Builder builder(body.builder.getContext());
              ptx::create_kernel(builder, *body.kernel->getParent(), "second", 32, 0);
              builder.CreateRetVoid();
            }),
            "one kernel, not kernel and second"));
  CHECK(has(
      error_of([](const KernelBody& body) { body.kernel->getParent()->setDataLayout("e-i64:64"); }),
      "triple and data layout"));
  llvm::LLVMContext context;
  const auto empty = ptx::make_device_module(context, "nothing");
  CHECK(has(internal_error([&] { ptx::verify_device_module(*empty); }),
            "the device module nothing has no kernel"));
  const auto module = device_kernel(context, [](const KernelBody&) {}, 96, 2048);
  const ptx::KernelShape shape = ptx::kernel_shape(*module);
  CHECK(shape.symbol == "kernel");
  CHECK(shape.threads == 96);
  CHECK(shape.shared_bytes == 2048);
}

TEST_CASE("the page of operations is the table's") {
  testing::check_generated(DYN_SOURCE_DIR "/docs/device_operations.md", begin_mark, end_mark,
                           operation_reference());
}
