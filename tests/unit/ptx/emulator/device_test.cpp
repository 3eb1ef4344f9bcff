// The emulator as a device: memory, streams, loading, hashes, counts.

#include <doctest/doctest.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "dyn/error.hpp"
#include "targets/ptx/ir/device_module.hpp"
#include "targets/ptx/ir/kernel_symbol.hpp"
#include "targets/ptx/lowering/ptx_lowering.hpp"
#include "tests/unit/ptx/emulator/fixture.hpp"
#include "tests/unit/ptx/ir/device_kernels.hpp"

using namespace dyn;
using namespace dyn::test;
using ptx::Fault;

namespace {

/// out[i] = in[i] * factor, 64 elements for each block.
codegen::KernelSource scaling(float factor) {
  return {"test scaling by " + std::to_string(factor),
          [factor](llvm::Module& module, const std::string& symbol) {
            codegen::Builder builder(module.getContext());
            llvm::Function* kernel = ptx::create_kernel(builder, module, symbol, 64, 0);
            const KernelBody body{builder, kernel};
            llvm::Type* element = builder.getFloatTy();
            llvm::Value* block = ptx::call(builder, ptx::Op::Block);
            llvm::Value* index = builder.CreateAdd(builder.CreateMul(block, builder.getInt32(64)),
                                                   ptx::call(builder, ptx::Op::Thread));
            llvm::Value* x = builder.CreateAlignedLoad(
                element, builder.CreateGEP(element, body.operand(0), index), llvm::Align(4));
            x = builder.CreateFMul(x, llvm::ConstantFP::get(element, factor));
            builder.CreateAlignedStore(x, builder.CreateGEP(element, body.operand(1), index),
                                       llvm::Align(4));
            builder.CreateRetVoid();
          }};
}

ptx::EmulatorOptions options(std::size_t memory_bytes = std::size_t{1} << 30,
                             const std::string& cache_dir = "") {
  return {emulated_machine(), memory_bytes, cache_dir};
}

std::vector<float> scaled(Emulated& device, const void* function, std::size_t count) {
  std::vector<float> in(count), out(count);
  for (std::size_t i = 0; i < count; ++i) in[i] = static_cast<float>(i) - 20;
  const EmulatedBuffer buffers[] = {read_buffer(in), written_buffer(out)};
  CHECK(text_of(device.launch(function, static_cast<std::int64_t>(count / 64), 64, 0, buffers)) ==
        "");
  return out;
}

}  // namespace

TEST_CASE("emulator: one and the same module") {
  Emulated& device = shared_emulator();
  const codegen::KernelSource source = scaling(3);
  rkernel::CompileReport report;
  const void* function = device.emulator().load({&source, 1}, 1, report).at(0);
  llvm::LLVMContext context;
  const auto module = ptx::emit_device_module(context, source, ptx::kernel_symbol(source.key));
  std::string lowered;
  ptx::lower_to_ptx(*module, &lowered);
  CHECK(device.emulator().module_hash_of(function) == ptx::module_hash(*module));
  CHECK(device.emulator().module_hash_of(function) == lowered);
  // Another kernel has another hash.
  const codegen::KernelSource other = scaling(4);
  CHECK(device.emulator().module_hash_of(device.emulator().load({&other, 1}, 1, report).at(0)) !=
        lowered);
  CHECK_THROWS_AS(device.emulator().module_hash_of(&report), Error);
}

TEST_CASE("emulator: sources are compiled once, and kept on disk") {
  const std::filesystem::path directory = std::filesystem::path(DYN_BINARY_DIR) / "emulator_cache";
  std::filesystem::remove_all(directory);
  for (const bool first : {true, false}) {
    Emulated device(options(std::size_t{1} << 30, directory.string()));
    const codegen::KernelSource sources[] = {scaling(5), scaling(6), scaling(5)};
    rkernel::CompileReport report;
    const auto functions = device.emulator().load(sources, 2, report);
    CHECK(report.kernels == 2);
    CHECK(report.compiled == (first ? 2 : 0));
    CHECK(report.from_disk == (first ? 0 : 2));
    CHECK(functions[0] == functions[2]);
    rkernel::CompileReport again;
    CHECK(device.emulator().load(sources, 2, again) == functions);
    CHECK(again.kernels == 2);
    CHECK(again.from_memory == 2);
    CHECK(again.compiled + again.from_disk == 0);
    Emulated other(options(std::size_t{1} << 30, directory.string()));
    rkernel::CompileReport elsewhere;
    other.emulator().load(sources, 2, elsewhere);
    CHECK(elsewhere.from_memory == 2);  // devices of one process share their host code
    const std::vector<float> out = scaled(device, functions[1], 128);
    for (std::size_t i = 0; i < 128; ++i) CHECK(out[i] == (static_cast<float>(i) - 20) * 6);
  }
  std::filesystem::remove_all(directory);
}

TEST_CASE("emulator: memory has a limit") {
  Emulated device(options(1 << 20));
  CHECK(device.emulator().name() == "emulated test");
  const rkernel::DeviceAddress half = device.emulator().allocate(1 << 19, "half");
  CHECK(half % 256 == 0);
  std::string message;
  try {
    device.emulator().allocate((1 << 19) + 1, "the larger half");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::device);
    message = error.what();
  }
  CHECK(message.find("the larger half") != std::string::npos);
  CHECK(message.find("524289 bytes wanted") != std::string::npos);
  CHECK(message.find("524288 of 1048576 bytes free") != std::string::npos);
  device.emulator().release(half);
  device.emulator().release(device.emulator().allocate(1 << 20, "all"));
  const auto stream = device.emulator().make_stream();
  float value = 0;
  CHECK_THROWS_AS(stream->upload(half, &value, sizeof(value)), Error);
  CHECK_THROWS_AS(stream->download(&value, 0, sizeof(value)), Error);
}

TEST_CASE("emulator: a fault is told once, by synchronise") {
  Emulated& device = shared_emulator();
  const KernelText faulty{32, 4, 0,
                          "  %x = load i32, ptr addrspace(3) %shared, align 4\n  ret void"};
  const KernelText storing{
      32, 4, 0, "  store atomic i32 1, ptr addrspace(1) %status monotonic, align 4\n  ret void"};
  const rkernel::DeviceBlock tables(device.emulator(), 256, "tables");
  const auto stream = device.emulator().make_stream();
  stream->clear(tables.address(), 256);
  const auto launch = [&](const KernelText& kernel) {
    stream->launch({load(kernel),
                    "softmax \"x\"",
                    2,
                    32,
                    4,
                    tables.address(),
                    tables.address(),
                    tables.address() + 128,
                    {}});
  };
  const auto status = [&] {
    std::int32_t value = 0;
    stream->download(&value, tables.address() + 128, sizeof(value));
    return value;
  };
  launch(faulty);
  launch(storing);  // it did not happen, since an earlier launch failed
  std::string message;
  try {
    stream->synchronise();
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::device);
    message = error.what();
  }
  CHECK(message.find("softmax \"x\": uninitialised: block 0 thread 0") == 0);
  CHECK(message.find("%x = load i32") != std::string::npos);
  CHECK(status() == 0);
  stream->synchronise();
  launch(storing);
  stream->synchronise();
  CHECK(status() == 1);
  const auto reports = device.emulator().take_reports();
  CHECK(reports.size() == 1);
  CHECK(device.emulator().take_reports().empty());
  CHECK_THROWS_AS(
      stream->launch(
          {&status, "x", 1, 32, 0, tables.address(), tables.address(), tables.address(), {}}),
      Error);
  const rkernel::OperandRange nowhere[] = {{16, 4, false}};
  CHECK_THROWS_AS(stream->launch({load(storing), "x", 1, 32, 4, tables.address(), tables.address(),
                                  tables.address(), nowhere}),
                  Error);
  CHECK(device.emulator().take_reports().size() == 1);
}

TEST_CASE("emulator: the tables of a launch") {
  Emulated& device = shared_emulator();
  // Ints are read; pointers and ints are not written, nor is the status by a plain store.
  const KernelText kernel{1, 0, 1, R"(
  %i1 = getelementptr i64, ptr addrspace(1) %ints, i64 1
  %x = load i64, ptr addrspace(1) %i1, align 8
  store i64 %x, ptr addrspace(1) PLACE, align 4
  ret void)"};
  std::vector<std::int64_t> out(1);
  const std::int64_t ints[] = {5, 6};
  CHECK(run(kernel.with("PLACE", "%p0"), {written_buffer(out)}, 1, ints).empty());
  CHECK(out[0] == 6);
  for (const char* place : {"%ints", "%pointers", "%status"}) {
    const auto reports = run(kernel.with("PLACE", place), {written_buffer(out)}, 1, ints);
    REQUIRE(reports.size() == 1);
    CHECK(reports[0].fault == Fault::OutOfBounds);
  }
  CHECK(device.status() == 0);
}

TEST_CASE("emulator: what is undefined is a NaN that is easy to recognise") {
  const KernelText kernel{1, 16, 1, R"(
  %v = insertelement <2 x float> poison, float 1.0, i32 0
  %a = select i1 true, <2 x float> %v, <2 x float> zeroinitializer
  store <2 x float> %a, ptr addrspace(1) %p0, align 8
  ret void)"};
  std::vector<std::uint32_t> out(2);
  check_clean(kernel, {written_buffer(out)});
  CHECK(out[0] == 0x3F800000u);
  CHECK(out[1] == 0x7FEDDEADu);
}

TEST_CASE("emulator: launches are counted") {
  Emulated device(options());
  llvm::LLVMContext context;
  const KernelText kernel{64, 256, 1, R"(
  %s = getelementptr i32, ptr addrspace(3) %shared, i32 %t
  store i32 %t, ptr addrspace(3) %s, align 4
  call void @dyn.dev.barrier.sync()
  %x = load i32, ptr addrspace(3) %shared, align 4
  ret void)"};
  const void* function =
      device.emulator().load_module(*ptx::parse_device_module(context, kernel.module()));
  CHECK(device.emulator().load_module(*ptx::parse_device_module(context, kernel.module())) ==
        function);
  std::vector<std::int32_t> out(1);
  const EmulatedBuffer buffers[] = {written_buffer(out)};
  CHECK(device.launch(function, 3, 64, 256, buffers).empty());
  const ptx::EmulatorCounts counts = device.emulator().counts();
  CHECK(counts.launches == 1);
  CHECK(counts.blocks == 3);
  CHECK(counts.barriers == 3);
  CHECK(counts.stores == 3 * 64);
  CHECK(counts.loads == 3 * 64 * 2);  // with the pointer to operand 0
}

TEST_CASE("emulator: launches leave nothing behind") {
#ifdef DYN_SANITIZED
  constexpr bool sanitized = true;  // their own memory grows
#else
  constexpr bool sanitized = false;
#endif
  const auto resident_bytes = [] {
    std::ifstream file("/proc/self/statm");
    std::size_t total = 0, resident = 0;
    file >> total >> resident;
    return resident * 4096;
  };
  const auto mappings = [] {
    std::ifstream file("/proc/self/maps");
    return std::count(std::istreambuf_iterator<char>(file), {}, '\n');
  };
  // Threads that wait, copies in flight, and a fault in the middle of every other launch.
  const KernelText kernel{64, 256, 2, R"(
  %g = getelementptr i32, ptr addrspace(1) %p0, i32 %t
  %s = getelementptr i32, ptr addrspace(3) %shared, i32 %t
  call void @dyn.dev.cp.async.ca.shared.global.4(ptr addrspace(3) %s, ptr addrspace(1) %g, i32 4)
  call void @dyn.dev.cp.async.commit_group()
  call void @dyn.dev.barrier.sync()
  call void @dyn.dev.cp.async.wait_group(i32 LEFT)
  %x = load i32, ptr addrspace(3) %s, align 4
  ret void)"};
  std::vector<std::int32_t> in(64, 3), out(1);
  const auto launch_all = [&](int count) {
    for (int i = 0; i < count; ++i)
      CHECK(
          run(kernel.with("LEFT", std::to_string(i % 2)), {read_buffer(in), written_buffer(out)}, 2)
              .size() == i % 2);
  };
  launch_all(100);
  const std::size_t bytes = resident_bytes();
  const auto maps = mappings();
  launch_all(2000);
  if (sanitized) return;
  CHECK(resident_bytes() <= bytes + (1 << 20));
  CHECK(mappings() <= maps + 4);
}

TEST_CASE("emulator: launches of several threads of the host") {
  Emulated& device = shared_emulator();
  const codegen::KernelSource source = scaling(7);
  rkernel::CompileReport report;
  const void* function = device.emulator().load({&source, 1}, 1, report).at(0);
  std::vector<std::jthread> threads;
  std::atomic<int> wrong{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int j = 0; j < 100; ++j) {
        const std::vector<float> out = scaled(device, function, 256);
        wrong += out[200] != 180 * 7.0f;
      }
    });
  }
  threads.clear();
  CHECK(wrong == 0);
}
