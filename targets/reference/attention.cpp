// attention: softmax(scale * q k^T + mask) v, one query at a time.

#include <cmath>
#include <limits>

#include "graph/ops/scalar_values.hpp"
#include "targets/reference/ops.hpp"

namespace dyn::reference {
namespace {

constexpr double hidden = -std::numeric_limits<double>::infinity();

/// The matrices that one batch index selects, and where its mask starts.
struct Head {
  const double *q, *k, *v;
  std::int64_t mask_start;
  double* result;
};

class Attention {
 public:
  explicit Attention(const OpCall& call)
      : call_(call),
        q_(call.input(0)),
        k_(rows_of(call, 1)),
        v_(rows_of(call, 2)),
        queries_(from_end(q_, 2)),
        keys_(from_end(k_, 2)),
        depth_(from_end(q_, 1)),
        value_depth_(from_end(v_, 1)),
        scale_(call.number("scale")),
        causal_(call.boolean("causal")) {
    if (scale_ == 0) scale_ = 1 / std::sqrt(static_cast<double>(depth_));
    batch_ = broadcast_dims(batch_of(q_), broadcast_dims(batch_of(k_), batch_of(v_)));
    scores_.resize(static_cast<std::size_t>(keys_));
    prepare_mask();
  }

  Array run() {
    Dims dims = batch_;
    dims.insert(dims.end(), {queries_, value_depth_});
    Array result = make_array(q_.dtype, dims);
    std::int64_t next = 0;
    const std::array strides{broadcast_strides(batch_of(q_), batch_),
                             broadcast_strides(batch_of(k_), batch_),
                             broadcast_strides(batch_of(v_), batch_), mask_batch_strides_};
    for_each_index<4>(batch_, strides, [&](const auto& at) {
      const Head head{
          q_.floats.data() + at[0] * queries_ * depth_, k_.floats.data() + at[1] * keys_ * depth_,
          v_.floats.data() + at[2] * keys_ * value_depth_, at[3], result.floats.data() + next};
      for (std::int64_t query = 0; query < queries_; ++query) attend(head, query);
      next += queries_ * value_depth_;
    });
    return result;
  }

 private:
  static std::int64_t from_end(const Array& x, std::size_t count) {
    return x.dims[x.dims.size() - count];
  }
  /// Keys or values; integers times the scale of each row.
  static Array rows_of(const OpCall& call, std::size_t index) {
    Array rows = call.input(index);
    if (!call.boolean("scales")) return rows;
    const Array& scales = call.input(index + 2);
    const std::int64_t width = rows.dims.back();
    for (std::size_t i = 0; i < rows.integers.size(); ++i)
      rows.floats.push_back(static_cast<double>(rows.integers[i]) *
                            scales.floats[i / static_cast<std::size_t>(width)]);
    return rows;
  }

  static Dims batch_of(const Array& x) { return Dims(x.dims.begin(), x.dims.end() - 2); }

  void prepare_mask() {
    mask_batch_strides_.assign(batch_.size(), 0);
    const std::size_t mask = call_.boolean("scales") ? 5 : 3;
    if (!call_.has(mask)) return;
    mask_ = &call_.input(mask);
    Dims space = batch_;
    space.insert(space.end(), {queries_, keys_});
    const auto strides = broadcast_strides(mask_->dims, space);
    mask_batch_strides_.assign(strides.begin(), strides.end() - 2);
    mask_query_stride_ = strides[strides.size() - 2];
    mask_key_stride_ = strides.back();
  }

  double score(const Head& head, std::int64_t query, std::int64_t key) const {
    if (causal_ && key > query + keys_ - queries_) return hidden;
    double dot = 0;
    for (std::int64_t d = 0; d < depth_; ++d)
      dot += head.q[query * depth_ + d] * head.k[key * depth_ + d];
    dot *= scale_;
    if (!mask_) return dot;
    const auto at = static_cast<std::size_t>(head.mask_start + query * mask_query_stride_ +
                                             key * mask_key_stride_);
    if (is_float(mask_->dtype)) return dot + mask_->floats[at];
    return mask_->integers[at] != 0 ? dot : hidden;
  }

  void attend(const Head& head, std::int64_t query) {
    double peak = hidden;
    for (std::int64_t key = 0; key < keys_; ++key) {
      auto& value = scores_[static_cast<std::size_t>(key)];
      value = score(head, query, key);
      peak = graph::scalar::maximum(peak, value);
    }
    if (peak == hidden) return;  // No key is seen: the row stays 0.
    double total = 0;
    for (auto& value : scores_) total += value = std::exp(value - peak);
    double* row = head.result + query * value_depth_;
    for (std::int64_t key = 0; key < keys_; ++key) {
      const double share = scores_[static_cast<std::size_t>(key)] / total;
      for (std::int64_t d = 0; d < value_depth_; ++d)
        row[d] += share * head.v[key * value_depth_ + d];
    }
  }

  const OpCall& call_;
  const Array& q_;
  const Array k_, v_;
  const Array* mask_ = nullptr;
  std::int64_t queries_, keys_, depth_, value_depth_;
  std::int64_t mask_query_stride_ = 0, mask_key_stride_ = 0;
  double scale_;
  bool causal_;
  Dims batch_, mask_batch_strides_;
  std::vector<double> scores_;
};

std::vector<Array> attention(const OpCall& call) { return {Attention(call).run()}; }

}  // namespace

std::span<const OpEntry> attention_ops() {
  static constexpr OpEntry entries[] = {{graph::OpId::Attention, attention}};
  return entries;
}

}  // namespace dyn::reference
