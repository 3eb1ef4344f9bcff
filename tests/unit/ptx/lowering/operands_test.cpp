// InstructionOperands of instructions are the operations' arguments, in their order.

#include <doctest/doctest.h>

#include <cctype>
#include <map>
#include <regex>

#include "targets/ptx/lowering/ptx_lowering.hpp"
#include "tests/unit/ptx/ir/device_kernels.hpp"

using namespace dyn;
using namespace dyn::test;

namespace {

/// An instruction's operands, addresses left out: "thread+2" for a register that holds it, or a
/// number.
class InstructionOperands {
 public:
  explicit InstructionOperands(const std::string& ptx) {
    const std::regex definition(R"(\n\s*(\S+)\s+(%\w+), ([^\n]*);)");
    for (std::sregex_iterator match(ptx.begin(), ptx.end(), definition), end; match != end;
         ++match) {
      definitions_[(*match)[2]] = (*match)[1].str() + " " + (*match)[3].str();
    }
  }

  std::vector<std::string> of(const std::string& instruction, std::size_t results) const {
    const std::string without_addresses =
        std::regex_replace(instruction, std::regex(R"(\[[^\]]*\])"), "");
    const std::regex operand(R"([,\s{](%\w+|-?[0-9]+))");
    std::vector<std::string> found;
    for (std::sregex_iterator match(without_addresses.begin(), without_addresses.end(), operand),
         end;
         match != end; ++match) {
      const std::string text = (*match)[1];
      if (results > 0)
        --results;
      else if (text[0] != '%')
        found.push_back(text);
      else if (std::isdigit(static_cast<unsigned char>(text[2])) && text[1] != 'p')
        found.push_back(value_of(text));
    }
    return found;
  }

 private:
  std::string value_of(const std::string& name) const {
    const auto found = definitions_.find(name);
    const std::string text = found == definitions_.end() ? "" : found->second;
    std::smatch match;
    if (text == "mov.u32 %tid.x") return "thread+0";
    if (std::regex_match(text, match, std::regex(R"(add\.s32 (%r\d+), (\d+))")))
      return "thread+" + match[2].str();
    if (std::regex_match(text, match, std::regex(R"(cvt\.rn\.f32\.u32 (%r\d+))")))
      return value_of(match[1]);
    return name + " = " + text;
  }
  std::map<std::string, std::string> definitions_;
};

/// The same of the operation as the table has it: its numbers, then its arguments.
std::vector<std::string> arguments_of(const ptx::DeviceOp& op) {
  std::vector<std::string> wanted;
  const std::size_t open = op.signature.find('(') + 1;
  for (std::size_t i = open; op.signature[i] != ')'; ++i) {
    const unsigned index = static_cast<unsigned>(i - open);
    const char letter = op.signature[i];
    if (letter == 'I') wanted.push_back(std::to_string(constant_argument(index)));
    if (letter == 'i' || letter == 'f') wanted.push_back("thread+" + std::to_string(index));
  }
  // The size of a copy and the number of the block's barrier stand in the table.
  const std::string text(op.ptx);
  std::smatch number;
  if (std::regex_search(text, number, std::regex(R"([ ,](\d+)(,|$))")))
    wanted.insert(wanted.begin(), number[1]);
  return wanted;
}

std::string instruction_of(const ptx::DeviceOp& op, const std::string& ptx) {
  const std::size_t at = ptx.find("\t" + std::string(op.ptx.substr(0, op.ptx.find(' '))));
  return at == std::string::npos ? "" : ptx.substr(at + 1, ptx.find(';', at) - at - 1);
}

}  // namespace

TEST_CASE("operands are the arguments in their order") {
  for (const ptx::DeviceOp& op : ptx::device_ops()) {
    if (op.op <= ptx::Op::Shared) continue;
    llvm::LLVMContext context;
    const std::string text = ptx::lower_to_ptx(*kernel_of(context, op));
    const std::string instruction = instruction_of(op, text);
    INFO(op.name << ": " << instruction << "\n" << text);
    REQUIRE(instruction != "");
    const std::size_t results = op.signature[0] == 'v' ? 0 : op.signature.find('(');
    CHECK(InstructionOperands(text).of(instruction, results) == arguments_of(op));
  }
}

TEST_CASE("indices are special registers") {
  const auto text_of = [](ptx::Op op) {
    llvm::LLVMContext context;
    return ptx::lower_to_ptx(*kernel_of(context, ptx::device_ops()[static_cast<std::size_t>(op)]));
  };
  CHECK(text_of(ptx::Op::Thread).find(", %tid.x;") != std::string::npos);
  CHECK(text_of(ptx::Op::Block).find(", %ctaid.x;") != std::string::npos);
  CHECK(text_of(ptx::Op::Blocks).find(", %nctaid.x;") != std::string::npos);
  CHECK(text_of(ptx::Op::Lane).find(", %laneid;") != std::string::npos);
}
