# Sums of slices of K are added as floats.
# file: targets/cpu/contraction/merge.cpp
# target: test_kernels
# test: integer products*
s/is_float(dtype) ? builder_.CreateFAdd(slices.carried(0), slice)/true ? builder_.CreateBitCast(builder_.CreateFAdd(builder_.CreateBitCast(slices.carried(0), llvm::FixedVectorType::get(builder_.getFloatTy(), static_cast<unsigned>(isa_.f32_lanes))), builder_.CreateBitCast(slice, llvm::FixedVectorType::get(builder_.getFloatTy(), static_cast<unsigned>(isa_.f32_lanes)))), slice->getType())/
