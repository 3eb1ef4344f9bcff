#pragma once
// Takes out of a kernel's loops what does not vary in them.

namespace llvm {
class Function;
}

namespace dyn::ptx {

/// Computes equal values once, moves what a loop does not change in front of it, and drops what
/// nobody reads. Neither lowering does this, and no bits of results change. Operations of a warp's
/// lanes together stay where they are.
void simplify(llvm::Function& kernel);

/// The same, but computes everything where it stands: for loops that have more numbers than
/// registers.
void simplify_in_place(llvm::Function& kernel);

}  // namespace dyn::ptx
