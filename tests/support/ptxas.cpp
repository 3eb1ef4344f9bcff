#include "tests/support/ptxas.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "tests/support/temporary_folder.hpp"

namespace dyn::test {
namespace {

/// The sum of all numbers that the pattern's group matches; -1 where it matches none.
int sum_of(const std::string& text, const std::string& pattern) {
  int sum = -1;
  const std::regex regex(pattern);
  for (std::sregex_iterator match(text.begin(), text.end(), regex), end; match != end; ++match) {
    sum = (sum < 0 ? 0 : sum) + std::stoi((*match)[1]);
  }
  return sum;
}

}  // namespace

std::string find_tool(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(std::string(path == nullptr ? "" : path) + ":/usr/local/cuda/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string candidate = folder + "/" + name;
    if (!folder.empty() && access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return "";
}

std::span<const char* const> ptxas_gpus() {
  static constexpr const char* gpus[] = {"sm_80", "sm_90", "sm_100"};
  return gpus;
}

const std::string& ptxas_path() {
  static const std::string path = find_tool("ptxas");
  return path;
}

bool ptxas_is_missing() {
  if (!ptxas_path().empty()) return false;
  std::puts("skipped ptx.ptxas: ptxas is not installed");
  return true;
}

Assembled assemble(const std::string& ptx, const std::string& gpu,
                   const std::vector<std::string>& extra,
                   const std::function<void(const std::string&)>& use) {
  const dyn::testing::TemporaryFolder folder;
  const std::string input = folder.path() / "kernel.ptx", output = folder.path() / "kernel.cubin",
                    log = folder.path() / "log";
  std::ofstream(input) << ptx;
  std::string command = "'" + ptxas_path() + "' -v -arch=" + gpu;
  for (const std::string& argument : extra) command += " '" + argument + "'";
  command += " '" + input + "' -o '" + output + "' >'" + log + "' 2>&1";
  const int status = std::system(command.c_str());
  Assembled result;
  std::ostringstream text;
  text << std::ifstream(log).rdbuf();
  result.log = text.str();
  result.ok = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (!result.ok) return result;
  if (use) use(output);
  result.registers = sum_of(result.log, "Used ([0-9]+) registers");
  result.stack_bytes = sum_of(result.log, "([0-9]+) bytes stack frame");
  const int stores = sum_of(result.log, "([0-9]+) bytes spill stores"),
            loads = sum_of(result.log, "([0-9]+) bytes spill loads");
  result.spill_bytes = stores < 0 && loads < 0 ? -1 : stores + loads;
  result.shared_bytes = std::max(0, sum_of(result.log, "([0-9]+) bytes smem"));
  return result;
}

int checked_registers(const std::string& ptx, const std::string& what,
                      std::span<const char* const> gpus, std::string& all, int most_spilled) {
  int most = 0;
  for (const char* gpu : gpus) {
    const Assembled result = assemble(ptx, gpu);
    INFO(what << " for " << std::string(gpu) << "\n" << result.log);
    CHECK(result.ok);
    CHECK(result.spill_bytes >= 0);
    CHECK(result.spill_bytes <= most_spilled);
    CHECK(result.registers > 0);
    all += " " + std::to_string(result.registers);
    most = std::max(most, result.registers);
  }
  return most;
}

}  // namespace dyn::test
