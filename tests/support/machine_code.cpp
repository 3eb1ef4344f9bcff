#include "tests/support/machine_code.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "tests/support/ptxas.hpp"

namespace dyn::test {
namespace {

const std::string& nvdisasm_path() {
  static const std::string path = [] {
    const char* named = std::getenv("DYN_NVDISASM");
    return named != nullptr ? std::string(named) : find_tool("nvdisasm");
  }();
  return path;
}

std::string output_of(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  if (!pipe) throw std::runtime_error("cannot run " + command);
  std::string text;
  std::array<char, 4096> part{};
  while (std::fgets(part.data(), part.size(), pipe.get()) != nullptr) text += part.data();
  return text;
}

/// A line of a listing: an instruction, with the label that it may branch to.
struct Instruction {
  std::string mnemonic, target;
};

struct Listing {
  std::vector<Instruction> instructions;
  std::map<std::string, std::size_t> labels;  ///< the instruction behind each
};

Listing listing_of(const std::string& text) {
  static const std::regex label(R"(^(\.L[A-Za-z0-9_$.]*):)"),
      instruction(R"(^\s*(?:/\*[0-9a-f]+\*/)?\s*(?:@!?U?P[0-9T]+\s+)?([A-Z][A-Z0-9]*)[. ;])"),
      branch(R"(`\((\.L[A-Za-z0-9_$.]*)\))");
  Listing listing;
  std::istringstream lines(text);
  std::smatch match;
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_search(line, match, label)) {
      listing.labels[match[1]] = listing.instructions.size();
    } else if (std::regex_search(line, match, instruction)) {
      Instruction next{match[1], {}};
      if (next.mnemonic == "BRA" && std::regex_search(line, match, branch)) next.target = match[1];
      listing.instructions.push_back(std::move(next));
    }
  }
  return listing;
}

/// The assembler's report; `text` becomes the listing.
Assembled disassemble(const std::string& ptx, const std::string& gpu, std::string& text) {
  Assembled assembled = assemble(ptx, gpu, {}, [&](const std::string& cubin) {
    text = output_of("'" + nvdisasm_path() + "' -c '" + cubin + "' 2>&1");
  });
  if (!assembled.ok) throw std::runtime_error(assembled.log);
  return assembled;
}

InstructionTally tally(const Listing& listing, std::size_t begin, std::size_t end) {
  InstructionTally counted;
  for (std::size_t i = begin; i < end; ++i) ++counted.by_mnemonic[listing.instructions[i].mnemonic];
  return counted;
}

}  // namespace

bool nvdisasm_is_missing() {
  if (!ptxas_path().empty() && !nvdisasm_path().empty()) return false;
  std::puts("skipped ptx.nvdisasm: nvdisasm or ptxas is not installed");
  return true;
}

int InstructionTally::all() const {
  int sum = 0;
  for (const auto& [mnemonic, count] : by_mnemonic) sum += count;
  return sum;
}

int InstructionTally::operator[](const std::string& mnemonic) const {
  const auto found = by_mnemonic.find(mnemonic);
  return found == by_mnemonic.end() ? 0 : found->second;
}

InstructionTally straight_code(const std::string& ptx, const std::string& gpu) {
  std::string text;
  disassemble(ptx, gpu, text);
  const Listing listing = listing_of(text);
  return tally(listing, 0, listing.instructions.size());
}

MachineCode machine_code(const std::string& ptx, const std::string& gpu,
                         const std::string& multiplication) {
  std::string text;
  const Assembled assembled = disassemble(ptx, gpu, text);
  const Listing listing = listing_of(text);
  MachineCode code{tally(listing, 0, listing.instructions.size()),
                   {},
                   assembled.registers,
                   assembled.spill_bytes};
  for (std::size_t i = 0; i < listing.instructions.size(); ++i) {
    const auto target = listing.labels.find(listing.instructions[i].target);
    if (target == listing.labels.end() || target->second > i) continue;
    const InstructionTally loop = tally(listing, target->second, i + 1);
    const int more = loop[multiplication] - code.main_loop[multiplication];
    if (more > 0 || (more == 0 && loop.all() < code.main_loop.all())) code.main_loop = loop;
  }
  if (code.main_loop[multiplication] == 0)
    throw std::runtime_error("no loop has " + multiplication + ":\n" + text);
  return code;
}

}  // namespace dyn::test
