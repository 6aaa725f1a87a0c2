// segments.hpp: chunks of a group as the contiguous stretches they consist of.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "dmlref/config.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/geometry.hpp"
#include "dmlref/operators/mean_variance_normalization/kernels/kernels.hpp"

DMLREF_BEGIN
namespace fast::normalization {

/// The segments of a group's chunks: the same for all groups. Those of the whole group where they fit, else of one
/// chunk at a time. Input and output are contiguous along the innermost of the reduced dimensions, for at least 16
/// elements.
class SegmentTable {
 public:
  /// `used`: whether the table is read.
  SegmentTable(const Dimensions& reduced, std::uint64_t count, Index element_size, bool used) noexcept
      : reduced_(reduced), count_(count), element_size_(element_size) {
    const std::uint64_t chunks = chunk_count(count);
    whole_ = used && reduced.rank > 1 && chunks <= max_chunks && fill(0, chunks);
  }

  struct List {
    const Segment* segments;
    std::size_t count;
  };
  List of(std::uint64_t chunk) noexcept {
    if (reduced_.rank == 1) {  // the usual case of more chunks than the table holds, without divisions
      const Place start = Place{}.add(reduced_.at[0].step, static_cast<Index>(chunk * normalization_chunk));
      at_[0] = {start.input * element_size_, start.output * element_size_, chunk_size(count_, chunk)};
      return {at_, 1};
    }
    if (whole_) return {at_ + begin_[chunk], static_cast<std::size_t>(begin_[chunk + 1] - begin_[chunk])};
    fill(chunk, chunk + 1);
    return {at_, begin_[1]};
  }

 private:
  static constexpr std::size_t max_segments = 256;  // more than a chunk can have
  static constexpr std::uint64_t max_chunks = 64;

  DMLREF_NOINLINE bool fill(std::uint64_t first, std::uint64_t last) noexcept {
    Walk walk(reduced_, Place{}, static_cast<Index>(first * normalization_chunk));
    std::uint16_t used = 0;
    for (std::uint64_t c = first; c < last; ++c) {
      begin_[c - first] = used;
      for (std::size_t left = chunk_size(count_, c); left > 0;) {
        if (used == max_segments) return false;
        const std::size_t n = (std::min)(left, static_cast<std::size_t>(walk.stretch()));
        at_[used++] = {walk.place().input * element_size_, walk.place().output * element_size_, n};
        walk.advance(static_cast<Index>(n));
        left -= n;
      }
    }
    begin_[last - first] = used;
    return true;
  }

  const Dimensions& reduced_;
  std::uint64_t count_;
  Index element_size_;
  bool whole_ = false;
  std::uint16_t begin_[max_chunks + 1];
  Segment at_[max_segments];
};

}  // namespace fast::normalization
DMLREF_END
