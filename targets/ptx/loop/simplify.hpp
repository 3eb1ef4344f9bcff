#pragma once
// Takes out of a kernel's loops what does not vary in them.

namespace llvm {
class Function;
}

namespace dyn::ptx {

/// Computes equal values once, moves what a loop does not change in front of it, and drops what
/// nobody reads. Neither lowering does this, and no bits of results change. What the lanes of a
/// warp do together stays where it is.
void simplify(llvm::Function& kernel);

}  // namespace dyn::ptx
