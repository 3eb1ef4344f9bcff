#pragma once
// The operators' inference functions share these: naming of dims in messages, and checks of dtypes,
// ranks and axes.

#include <span>
#include <string>
#include <vector>

#include "graph/ir/op.hpp"

namespace dyn::graph {

/// "mask (dim 1)": dim `axis` of input `index`, for messages.
std::string dim_name(const InferContext& context, std::size_t index, int axis);

/// "mask": input `index`, for messages.
std::string input_name(const InferContext& context, std::size_t index);

inline constexpr DType float_dtypes[] = {DType::f32, DType::f16, DType::bf16, DType::f64};
inline constexpr DType integer_dtypes[] = {DType::i8, DType::i16, DType::i32, DType::i64,
                                           DType::u8, DType::u16, DType::u32, DType::u64};
/// Floats and integers.
inline constexpr DType number_dtypes[] = {DType::f32, DType::f16, DType::bf16, DType::f64,
                                          DType::i8,  DType::i16, DType::i32,  DType::i64,
                                          DType::u8,  DType::u16, DType::u32,  DType::u64};
/// Dtypes that are computed in f32.
inline constexpr DType single_dtypes[] = {DType::f32, DType::f16, DType::bf16};
inline constexpr DType bool_dtypes[] = {DType::boolean};
inline constexpr DType index_dtypes[] = {DType::i32, DType::i64};

// docs/ir.md calls these sets of dtypes so.
inline constexpr const char* float_to_float = "A float; the result has the same dtype";
inline constexpr const char* number_to_number = "A number; the result has the same dtype";

/// Fails unless the input's dtype is one of `accepted`.
void require_dtype(const InferContext& context, std::size_t index, std::span<const DType> accepted);

/// `infer` for operators whose first input has one of these dtypes.
template <InferFunction infer, const auto& accepted>
void infer_for(InferContext& context, std::vector<TensorType>& outputs) {
  require_dtype(context, 0, accepted);
  infer(context, outputs);
}

/// The attribute that says what counts as 0 in integers that are multiplied by numbers.
inline constexpr std::string_view zero_name = "zero";
AttrDef zero_attr();
/// u8 or i16 by f32.
bool is_integer_by_float(DType left, DType right);
/// The dtype of sums of products of the first two inputs: their one dtype, one of `accepted`, i32
/// of u8 or i16 by i8, f32 of bf16 by f32, which then counts in bf16, or, of operators with
/// zero_attr(), f32 of u8 or i16 by f32.
DType product_dtype(const InferContext& context, std::span<const DType> accepted);
/// Fails unless inputs `first` .. last all have one dtype.
void require_same_dtype(const InferContext& context, std::size_t first = 0);

void require_rank(const InferContext& context, std::size_t index, int rank);
void require_min_rank(const InferContext& context, std::size_t index, int rank);

/// The integer attribute `name` as an axis of a tensor of that rank, counted from the front; fails
/// where out of range.
int axis_attr(const InferContext& context, std::string_view name, int rank);

/// The integers of the list `name` as distinct axes, counted from the front; fails where out of
/// range or repeated.
std::vector<int> axes_attr(const InferContext& context, std::string_view name, int rank);

/// Dims of the numpy broadcast of inputs `first` .. last.
std::vector<Dim> broadcast_inputs(InferContext& context, std::size_t first = 0);

/// Input `index` has one dim, equal to dim `axis` of input `of`: a weight along an axis.
void require_vector_along(InferContext& context, std::size_t index, std::size_t of, int axis);

/// The attribute's symbol, which this operator's run defines; fails where it is none, or where an
/// input of the graph has it in its shape.
Dim define_symbol(InferContext& context, std::string_view name, Dim dim);

/// dim >= low, now or at bind.
void require_at_least(InferContext& context, Dim dim, std::int64_t low, const std::string& what);

/// Product of dims; 1 for none.
Dim product(DimTable& table, std::span<const Dim> dims);

}  // namespace dyn::graph
