# Device code rounds to f16 where it should to bf16, and the other way round.
# file: targets/llvm/math/half.cpp
# target: test_ptx
# test: every loop kernel*at sizes around a warp
s|dtype == DType::f16 ? "rn.f16.f32"|dtype == DType::bf16 ? "rn.f16.f32"|
