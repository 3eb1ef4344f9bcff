#pragma once
// Code that kernels of whole-tensor operators share: numbers of the launch, parts of memory,
// addresses.

#include <span>
#include <string>
#include <vector>

#include "src/rkernel/problem/problem.hpp"
#include "targets/llvm/problem/operands.hpp"
#include "targets/llvm/problem/slots.hpp"

namespace dyn::ptx {

/// Threads of every block of these kernels.
inline constexpr int function_threads = 256;
/// Blocks for whose registers a multiprocessor has room: a thread has 80.
inline constexpr int function_resident = 3;

/// The slots of an extent by which an index is divided (loop/divider.hpp), 32 bits.
struct Digit {
  int count = 0, multiplier = 0, shift = 0;
};
/// The plan sets all three.
Digit add_digit(codegen::SlotTable& slots);
/// `extent`: below 2^31.
void set_digit(const Digit& digit, std::int64_t extent, std::span<std::int64_t> ints);

/// One for each dim, set to its value; returns the product of all.
std::int64_t set_digits(std::span<const Digit> digits, std::span<const graph::Dim> dims,
                        std::span<const std::int64_t> symbols, std::span<std::int64_t> ints);

/// Throws Error(unsupported) where so many elements do not fit a kernel's numbers of 31 bits.
void require_short(const std::string& operator_name, std::int64_t elements);

/// A tensor of the problem with the slots of its offset and of its strides along some axes.
struct FunctionPart {
  int operand = 0;
  DType dtype = DType::f32;
  int offset = 0;
  std::vector<int> strides;
};
/// Adds slots for all of the part's axes.
FunctionPart add_part(codegen::SlotTable& slots, const rkernel::HostPart& part);

/// Where code reads the launch's numbers: once, in front of the loops that need them, or again in
/// each place, which saves the registers of loops that need many.
enum class NumberReads : unsigned char { Ahead, InPlace };

/// Emits a kernel of function_threads threads whose blocks take tickets round robin.
class FunctionCode {
 public:
  FunctionCode(llvm::Module& module, const std::string& symbol, int shared_bytes,
               NumberReads reads = NumberReads::Ahead, int resident = function_resident);

  codegen::Builder& builder() { return builder_; }
  llvm::Function& function() { return *function_; }
  llvm::Value* thread() { return thread_; }
  /// The number in a slot as i32, as i64.
  llvm::Value* word(int slot);
  llvm::Value* wide(int slot);

  /// Takes an i32 index apart into one for each digit, the last one fastest.
  std::vector<llvm::Value*> split(llvm::Value* index, std::span<const Digit> digits);
  /// i64: the sum of i32 indices times the numbers in slots.
  llvm::Value* distance(std::span<llvm::Value* const> indices, std::span<const int> strides);
  /// The element of a part that is so many elements (i64) behind the part's offset.
  llvm::Value* pointer(const FunctionPart& part, llvm::Value* distance);
  /// The element as its bits; store_bits() takes such.
  llvm::Value* load_bits(const FunctionPart& part, llvm::Value* pointer);
  void store_bits(const FunctionPart& part, llvm::Value* pointer, llvm::Value* bits);
  /// Values of registers; f16 and bf16 are float there.
  llvm::Value* from_bits(const FunctionPart& part, llvm::Value* bits);
  llvm::Value* to_bits(const FunctionPart& part, llvm::Value* value);
  /// Reports an index that is out of range where `bad` (i1).
  void report(llvm::Value* bad);

 private:
  llvm::Value* table_entry(llvm::Type* type, int argument, int index);

  codegen::Builder builder_;
  const NumberReads reads_;
  llvm::Function* function_;
  llvm::Value* thread_;
};

}  // namespace dyn::ptx
