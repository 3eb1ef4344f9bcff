// dyn-avx512-check: see usage.

#define DOCTEST_CONFIG_IMPLEMENT  // tests/support asserts with doctest; here a failed assertion is
                                  // thrown
#include <doctest/doctest.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "dyn/error.hpp"
#include "targets/cpu/tile/main_loop.hpp"
#include "targets/llvm/jit/compiler.hpp"
#include "tests/avx512/check.hpp"
#include "tests/avx512/illegal_instruction.hpp"
#include "tests/support/held_code.hpp"

namespace dyn::avx512_check {
namespace {

constexpr const char* usage =
    "dyn-avx512-check [--isa NAME] [--seed N] [--only TEXT] [--write-code DIR | --code DIR | "
    "--assembly DIR]\n"
    "  (nothing)         generates the kernels and checks them on this CPU\n"
    "  --write-code DIR  generates the kernels, on any CPU, and leaves them in DIR\n"
    "  --code DIR        checks the kernels found there on this CPU, and fails where one had to be "
    "generated\n"
    "  --assembly DIR    writes the main loops as assembly text, on any CPU\n"
    "  --only TEXT       the checks whose names contain it\n"
    "Prints a line for each check: ok NAME, or failed NAME: why. Exit status: 0 all well, 1 "
    "failures, 2 a usage error.\n";

struct Settings {
  std::string isa = "avx512", write_code, code, assembly, only;
  std::uint64_t seed = 20260101;
};

Settings parse(std::span<char*> arguments) {
  Settings settings;
  for (std::size_t i = 0; i < arguments.size(); i += 2) {
    const std::string option = arguments[i];
    if (i + 1 == arguments.size()) throw std::invalid_argument(option + " without its value");
    const std::string value = arguments[i + 1];
    if (option == "--isa")
      settings.isa = value;
    else if (option == "--seed")
      settings.seed = std::stoull(value);
    else if (option == "--write-code")
      settings.write_code = value;
    else if (option == "--code")
      settings.code = value;
    else if (option == "--assembly")
      settings.assembly = value;
    else if (option == "--only")
      settings.only = value;
    else
      throw std::invalid_argument("there is no option " + option);
  }
  return settings;
}

const codegen::Isa& isa_named(const std::string& name) {
  for (const codegen::Isa& isa : codegen::all_isas())
    if (isa.name == name) return isa;
  throw std::invalid_argument("there is no instruction set " + name);
}

/// The addresses of all checks' sources, one check after the other.
std::vector<void*> generate(const Checks& checks, const codegen::Isa& isa,
                            const std::string& directory, rkernel::CompileReport& report) {
  std::vector<codegen::KernelSource> sources;
  for (const auto& check : checks) {
    const std::vector<codegen::KernelSource> own = check->sources();
    sources.insert(sources.end(), own.begin(), own.end());
  }
  codegen::CodeStoreOptions options;
  options.cache_dir = directory;
  return testing::hold(codegen::CodeStore::open(isa, options)->resolve(sources, 2, report));
}

bool passes(Check& check, std::span<void* const> addresses) {
  const auto start = std::chrono::steady_clock::now();
  try {
    check.run(addresses);
  } catch (const std::exception& failure) {
    std::printf("failed %s: %s\n", check.name().c_str(), failure.what());
    return false;
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("ok %s (%.2f s)\n", check.name().c_str(), seconds);
  return true;
}

int run(const Settings& settings) {
  const codegen::Isa& isa = isa_named(settings.isa);
  if (!settings.assembly.empty()) {
    write_assembly(isa, settings.assembly);
    return 0;
  }
  Checks checks;
  add_contraction_checks(checks, isa, settings.seed);
  add_group_checks(checks, isa, settings.seed);
  add_loop_checks(checks, isa, settings.seed);
  add_math_checks(checks, isa);
  std::erase_if(checks, [&](const auto& check) {
    return check->name().find(settings.only) == std::string::npos;
  });
  rkernel::CompileReport report;
  if (!settings.write_code.empty()) {
    generate(checks, isa, settings.write_code, report);
    std::printf("note: %d functions for %s, %d of them compiled now\n", report.kernels,
                isa.name.c_str(), report.compiled);
    return 0;
  }
  if (!codegen::cpu_has(isa)) {
    std::printf("failed cpu: this CPU does not have %s\n", isa.name.c_str());
    return 1;
  }
  std::printf("note: seed %llu\n", static_cast<unsigned long long>(settings.seed));
  const std::vector<void*> addresses = generate(checks, isa, settings.code, report);
  int failures = 0;
  if (!settings.code.empty() && report.compiled > 0) {
    std::printf("failed code: %d of %d functions were not in %s\n", report.compiled, report.kernels,
                settings.code.c_str());
    ++failures;
  }
  std::span<void* const> left = addresses;
  for (const auto& check : checks) {
    const std::size_t own = check->sources().size();
    failures += passes(*check, left.first(own)) ? 0 : 1;
    left = left.subspan(own);
  }
  if (const int count = instructions_carried_out(); count > 0) {
    std::printf(
        "note: %d gathers and scatters that this CPU refused were carried out in software\n",
        count);
  }
  return failures > 0 ? 1 : 0;
}

void throw_failed(const doctest::AssertData& assertion) {
  if (!assertion.m_failed) return;
  throw Failure(std::string(assertion.m_expr) + ": " + assertion.m_decomp.c_str());
}

}  // namespace

void write_assembly(const codegen::Isa& isa, const std::string& directory) {
  std::filesystem::create_directories(directory);
  codegen::Compiler compiler(isa);
  const std::vector<cpu::Tile> tiles = cpu::main_loop_tiles(isa);
  const std::vector<codegen::KernelSource> sources = cpu::main_loop_sources(isa);
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    const std::string name = std::to_string(tiles[i].rows) + "x" + std::to_string(tiles[i].columns);
    std::ofstream file(directory + "/" + name + ".s");
    file << compiler.assembly(sources[i], "main_loop_" + name);
    if (!file) throw std::runtime_error("cannot write " + directory + "/" + name + ".s");
  }
}

}  // namespace dyn::avx512_check

int main(int argc, char** argv) {
  using namespace dyn::avx512_check;
  handle_illegal_instructions();
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  doctest::Context context;
  context.setAsDefaultForAssertsOutOfTestCases();
  context.setAssertHandler(throw_failed);
  try {
    return run(parse(std::span(argv + 1, static_cast<std::size_t>(argc - 1))));
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "%s\n%s", error.what(), usage);
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
