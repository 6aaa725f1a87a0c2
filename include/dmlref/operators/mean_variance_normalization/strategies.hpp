// strategies.hpp: MVN and MVN1 at the speed of memory. A strategy per file: rows, chunks of rows, and
// columns where groups lie side by side.
//
// A group is summed chunk by chunk (docs/kernels/normalization.md); a chunk that lies contiguously in memory is read
// where it is, any other is first gathered into a row. The order of summation is the reference's, so are the results,
// to the bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <variant>

#include "dmlref/config.hpp"
#include "dmlref/isa/tuning.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/columns.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/elements.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/geometry.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/kernels.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/rows/chunked_rows.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/rows/whole_rows.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/select.hpp"
#include "dmlref/operators/mean_variance_normalization/reference.hpp"

DMLREF_BEGIN
namespace fast::normalization {

/// A normalization of T (float or half) made ready for one instruction set.
template <class T>
class Normalization {
  using Strategy = std::variant<WholeRows<T>, ChunkedRows<T>, ColumnGroups<T>>;

 public:
  Normalization(const Geometry& geometry, const reference::NormalizationParameters& parameters,
                const TargetKernels& kernels, const Tuning::Normalization& tuning) noexcept
      : strategy_(choose(geometry, parameters, kernels, tuning)) {}

  std::string_view strategy_name() const noexcept {
    return std::visit([](const auto& strategy) { return strategy.name(); }, strategy_);
  }
  /// Bytes that `execute` requires, aligned to 64.
  std::uint64_t temporary_bytes() const noexcept {
    return std::visit([](const auto& strategy) { return strategy.temporary_bytes(); }, strategy_);
  }
  /// `parallel(count, body)` calls body(i) for each i below count, on up to `concurrency` threads.
  template <class Parallel>
  void execute(const Buffers& buffers, std::size_t concurrency, const Parallel& parallel) const {
    std::visit([&](const auto& strategy) { strategy.execute(buffers, concurrency, parallel); }, strategy_);
  }

 private:
  static Strategy choose(const Geometry& geometry, const reference::NormalizationParameters& parameters,
                         const TargetKernels& kernels, const Tuning::Normalization& tuning) noexcept {
    if (geometry.columns) return ColumnGroups<T>(geometry, parameters, kernels, tuning);
    const auto elements = static_cast<std::uint64_t>(geometry.reduced.count());
    if (chunk_count(elements) == 1) return WholeRows<T>(geometry, parameters, kernels, tuning);
    return ChunkedRows<T>(geometry, parameters, kernels, tuning);
  }

  Strategy strategy_;
};

}  // namespace fast::normalization
DMLREF_END
