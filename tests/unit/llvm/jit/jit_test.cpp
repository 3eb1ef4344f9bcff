#include <doctest/doctest.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "dyn/error.hpp"
#include "targets/cpu/cpu_target.hpp"
#include "targets/cpu/tile/main_loop.hpp"
#include "targets/llvm/jit/code_memory.hpp"
#include "targets/llvm/jit/isa.hpp"
#include "tests/support/held_code.hpp"
#include "tests/support/seed.hpp"

using namespace dyn::codegen;
using namespace dyn::cpu;

namespace {

/// The permissions of the mapping that holds an address, as /proc/self/maps writes them.
std::string permissions_of(const void* address) {
  std::ifstream maps("/proc/self/maps");
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  for (std::string line; std::getline(maps, line);) {
    const std::uintptr_t start = std::stoull(line, nullptr, 16);
    const std::size_t dash = line.find('-'), space = line.find(' ');
    const std::uintptr_t end = std::stoull(line.substr(dash + 1), nullptr, 16);
    if (wanted >= start && wanted < end) return line.substr(space + 1, 3);
  }
  return "";
}

int writable_and_executable_mappings() {
  std::ifstream maps("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(maps, line);)
    count += line.find(" rwx") != std::string::npos ? 1 : 0;
  return count;
}

float run(void* function, const Isa& isa) {
  std::vector<float> a(4, 2), b(static_cast<std::size_t>(4 * isa.panel_f32), 3),
      c(static_cast<std::size_t>(isa.panel_f32), -1);
  reinterpret_cast<MainLoop>(function)(a.data(), 4, b.data(), isa.panel_f32, 4 * isa.panel_f32, 4,
                                       c.data(), isa.panel_f32, 0, 0, 0, 0);
  return c.front();
}

/// The library has the same code under other keys.
std::vector<KernelSource> new_sources(const Isa& isa) {
  std::vector<KernelSource> sources = main_loop_sources(isa);
  for (KernelSource& source : sources) source.key += ", once more";
  return sources;
}

// The first main loop of an ISA, from a store.
void* first_main_loop(CodeStore& store, const Isa& isa) {
  dyn::rkernel::CompileReport report;
  const std::vector<KernelSource> sources = new_sources(isa);
  return dyn::testing::hold(store.resolve(std::span(sources).first(1), 1, report)).front();
}

/// A function that gives a number, or what an unknown function of the process gives.
KernelSource number_source(int number, const char* called) {
  return {
      "number", [number, called](llvm::Module& module, const std::string& symbol) {
        auto* type = llvm::FunctionType::get(llvm::Type::getInt32Ty(module.getContext()), false);
        auto* function =
            llvm::Function::Create(type, llvm::Function::ExternalLinkage, symbol, module);
        llvm::IRBuilder<> builder(llvm::BasicBlock::Create(module.getContext(), "", function));
        builder.CreateRet(
            called == nullptr
                ? static_cast<llvm::Value*>(builder.getInt32(static_cast<std::uint32_t>(number)))
                : builder.CreateCall(module.getOrInsertFunction(called, type)));
      }};
}

// A child process in which written pages may not become executable; its exit code.
int run_without_execution_gain(const std::string& folder) {
  const pid_t child = fork();
  if (child == 0) {
    constexpr int set_mdwe = 65, refuse_exec_gain = 1;
    if (prctl(set_mdwe, refuse_exec_gain, 0, 0, 0) != 0) _exit(2);
    try {
      CodeStoreOptions options;
      options.cache_dir =
          folder;  // a store of its own: a store that another test has opened has another mapping
      options.mapping = CodeMapping::Automatic;
      const Isa& isa = select_isa("sse2");
      const auto store = CodeStore::open(isa, options);
      _exit(run(first_main_loop(*store, isa), isa) == 24 ? 0 : 1);
    } catch (const std::exception&) { _exit(1); }
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("code that cannot be linked says why, and leaves nothing behind") {
  const Isa& isa = select_isa("");
  const auto store = CodeStore::open(isa, {});
  dyn::rkernel::CompileReport report;
  const auto resolve = [&](const KernelSource& source) {
    return dyn::testing::hold(store->resolve({&source, 1}, 1, report)).front();
  };
  for (int attempt = 0; attempt < 2; ++attempt) {
    CAPTURE(attempt);
    try {
      resolve(number_source(0, "dyn_has_no_such_function"));
      FAIL_CHECK("it was linked");
    } catch (const dyn::Error& error) {
      const std::string text = error.what();
      CAPTURE(text);
      CHECK(error.kind() == dyn::ErrorKind::device);
      CHECK(text.find("linking generated code") != std::string::npos);
      CHECK(text.find("dyn_has_no_such_function") != std::string::npos);
      CHECK(text.find("Duplicate") == std::string::npos);
    }
  }
  CHECK(reinterpret_cast<int (*)()>(resolve(number_source(42, nullptr)))() == 42);
  CHECK(run(first_main_loop(*store, isa), isa) == 24);
}

TEST_CASE("generated code is executable and not writable, by either mapping") {
  const Isa& isa = select_isa("");
  for (const CodeMapping mapping : {CodeMapping::Protect, CodeMapping::Dual}) {
    CodeStoreOptions options;
    options.mapping = mapping;
    const auto store = CodeStore::open(isa, options);
    void* function = first_main_loop(*store, isa);
    CHECK(run(function, isa) == 24);
    CHECK(permissions_of(function) == "r-x");
    CHECK(writable_and_executable_mappings() == 0);
  }
}

TEST_CASE(
    "where the system refuses to make written pages executable, code runs from a second mapping") {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("dyn-mapping-" + std::to_string(getpid()));
  const int code = run_without_execution_gain(folder.string());
  std::filesystem::remove_all(folder);
  if (code == 2) {
    std::puts("skipped jit.refused_execution: this kernel has no PR_SET_MDWE");
    return;
  }
  CHECK(code == 0);
  CHECK(code_memory_refusal().empty());
}

TEST_CASE("a source is compiled once for a process, and found by its key after that") {
  const Isa& isa = select_isa("");
  const auto store = CodeStore::open(isa, {});
  CHECK(store == CodeStore::open(isa, {}));
  std::vector<KernelSource> sources = new_sources(isa);
  sources.push_back(sources.front());
  dyn::rkernel::CompileReport report;
  const LinkedCode first = store->resolve(sources, 2, report);
  CHECK(first.addresses.front() == first.addresses.back());
  dyn::rkernel::CompileReport again;
  CHECK(store->resolve(sources, 2, again).addresses == first.addresses);
  CHECK(again.compiled == 0);
  CHECK(again.from_memory == static_cast<int>(sources.size()) - 1);
}

TEST_CASE("a function goes with the last one that holds it, while others and the store stay") {
  const Isa& isa = select_isa("");
  CodeStoreOptions options;
  options.effort = CodeEffort::Quick;  // a store of this test's own
  const auto store = CodeStore::open(isa, options);
  dyn::rkernel::CompileReport report;
  const auto make = [&](int number) {
    KernelSource source = number_source(number, nullptr);
    source.key += std::to_string(number);
    return store->resolve({&source, 1}, 1, report);
  };
  const auto value_of = [](const LinkedCode& code) {
    return reinterpret_cast<int (*)()>(code.addresses.front())();
  };
  const LinkedCode stays = make(1);
  LinkedCode goes = make(2), same = make(2);
  CHECK(report.compiled == 2);
  void* const address = goes.addresses.front();
  CHECK(same.addresses.front() == address);
  goes = {};
  CHECK(permissions_of(address) == "r-x");
  CHECK(value_of(same) == 2);
  same = {};
  CHECK(permissions_of(address).empty());
  CHECK(value_of(stays) == 1);
  const LinkedCode again = make(2);
  CHECK(report.compiled == 3);
  CHECK(value_of(again) == 2);
  // Many threads that make and drop the same functions.
  std::vector<std::jthread> threads;
  std::atomic<int> wrong{0};
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < dyn::testing::test_rounds(100); ++i) {
        KernelSource source = number_source(10 + i % 2, nullptr);
        source.key += "of threads " + std::to_string(i % 2);
        dyn::rkernel::CompileReport own;
        if (value_of(store->resolve({&source, 1}, 1, own)) != 10 + i % 2) ++wrong;
      }
    });
  }
  threads.clear();
  CHECK(wrong == 0);
}

TEST_CASE("code of either effort computes the same, and neither is taken for the other") {
  const Isa& isa = select_isa("");
  const std::filesystem::path directory = std::filesystem::path(DYN_BINARY_DIR) / "effort_cache";
  std::filesystem::remove_all(directory);
  for (const CodeEffort effort : {CodeEffort::Full, CodeEffort::Quick}) {
    CodeStoreOptions options;
    options.effort = effort;
    options.cache_dir = directory.string();
    const std::vector<KernelSource> sources = new_sources(isa);
    for (const bool first : {true, false}) {
      const auto store = CodeStore::open(isa, options);
      dyn::rkernel::CompileReport report;
      const LinkedCode code = store->resolve(std::span(sources).first(1), 1, report);
      CHECK(run(code.addresses.front(), isa) == 24);
      CHECK(report.compiled == (first ? 1 : 0));
      CHECK(report.from_disk == (first ? 0 : 1));
    }
  }
  std::filesystem::remove_all(directory);
}

TEST_CASE("an unknown instruction set is the user's error, one that the CPU lacks is unsupported") {
  CHECK_THROWS_WITH_AS(select_isa("mmx"), doctest::Contains("avx512, avx2, sse2"), dyn::Error);
  CHECK(select_isa("sse2").name == "sse2");
  CHECK(cpu_has(select_isa("")));
}

TEST_CASE("perf finds the names and sizes of generated functions; a debugger may be told of them") {
  const Isa& isa = select_isa("");
  CodeStoreOptions options;
  options.perf_map = true;
  options.debugger = true;
  const auto store = CodeStore::open(isa, options);
  void* function = first_main_loop(*store, isa);
  CHECK(run(function, isa) == 24);
  const std::string path = "/tmp/perf-" + std::to_string(getpid()) + ".map";
  std::ifstream map(path);
  std::uintptr_t address = 0;
  std::size_t bytes = 0;
  std::string rest;
  map >> std::hex >> address >> bytes;
  std::getline(map, rest);
  CHECK(address == reinterpret_cast<std::uintptr_t>(function));
  CHECK(bytes > 64);
  CHECK(rest.find(new_sources(isa).front().key) != std::string::npos);
  std::remove(path.c_str());
}
