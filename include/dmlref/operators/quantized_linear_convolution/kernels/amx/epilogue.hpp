// epilogue.hpp: sums of AMX's tiles to bytes, or to INT32, 64 at a time, between the products of the next tiles.
//
// The tile unit is busy for 16 cycles with each product, and the other units are not. So the sums of one pass, 2048 at
// most, are requantized while the next pass is multiplied, at the interleave points of tiles.hpp. Fixed point and
// multiply_add are interleaved so; near ties are noted, and get exact results when the pass is complete. Panels that do
// not stay in registers are rare: they follow the products. INT32 sums are stored at the same points, unless tiles
// store them in the output themselves (block.hpp).
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "dmlref/config.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/amx/constants.hpp"
#include "dmlref/requantize/avx512.hpp"
#include "dmlref/simd/address.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::qlc::amx {

/// The sums of one pass. Each row has 16 * vectors of them, and 64 neighbours are a step.
struct Pass {
  std::int32_t* sums = nullptr;
  Index steps = 0;
  Index vectors = 4;                       // 1, 2 or 4
  Index channel = 0;                       // packed index of the first channel
  const std::int32_t* per_row = nullptr;   // activation row sums or factors, or halves of these, …
  const std::int32_t* per_lane = nullptr;  // … and the other of the two for each sum of a row
};

/// Rows are channels: 64 positions each, on their way to a plane.
struct Planes {
  static constexpr bool rows_are_channels = true;

  std::uint8_t* out = nullptr;  // the first row's
  Index pitch = 0;              // bytes from plane to plane
  Index prefetch_distance = 0;  // bytes; 0: none
  std::uint64_t used = 0;       // one bit for each position that is an output pixel
  std::uint64_t stored = used == 0 ? 0 : ~std::uint64_t{0} >> (64 - std::popcount(used));
  bool gaps = used != stored;

  DMLREF_TARGET_AMX_INT8 DMLREF_ALWAYS_INLINE void store(__m512i bytes, Index row, Index) const noexcept {
    std::uint8_t* const to = out + pitch * row;
    if (prefetch_distance != 0) prefetch_line<1>(address_of(to, prefetch_distance));
    _mm512_mask_storeu_epi8(to, stored, gaps ? _mm512_maskz_compress_epi8(used, bytes) : bytes);
  }
  /// INT32 elements of the same row.
  DMLREF_TARGET_AMX_INT8 DMLREF_ALWAYS_INLINE void store(const __m512i (&sums)[4], Index row, Index) const noexcept {
    std::uint8_t* to = out + pitch * row;
    if (used == ~std::uint64_t{0}) {
      DMLREF_UNROLL
      for (Index i = 0; i < 4; ++i) _mm512_storeu_si512(to + 64 * i, sums[i]);
      return;
    }
    DMLREF_UNROLL
    for (Index i = 0; i < 4; ++i) {
      const auto here = static_cast<std::uint32_t>(used >> 16 * i & 0xFFFF);
      const int count = std::popcount(here);
      _mm512_mask_storeu_epi32(to, static_cast<__mmask16>((1u << count) - 1u),
                               gaps ? _mm512_maskz_compress_epi32(static_cast<__mmask16>(here), sums[i]) : sums[i]);
      to += 4 * count;
    }
  }
  bool has_channel(Index) const noexcept { return true; }
};

/// Rows are pixels of some channels.
struct Pixels {
  static constexpr bool rows_are_channels = false;

  std::uint8_t* out = nullptr;
  const std::int32_t* places = nullptr;  // of each row: where its pixel is, in elements from out; below 0: nowhere
  Index channels = 0;

  DMLREF_TARGET_AMX_INT8 DMLREF_ALWAYS_INLINE void store(__m512i bytes, Index row, Index vectors) const noexcept {
    const std::int32_t* const place = places + row;
    const std::uint64_t all = ~std::uint64_t{0} >> (64 - channels);
    const auto stored = [&](Index pixel) { return place[pixel] < 0 ? 0 : all; };
    if (vectors == 4) {
      if (place[0] >= 0) _mm512_mask_storeu_epi8(out + place[0], all, bytes);
    } else if (vectors == 2) {
      _mm256_mask_storeu_epi8(out + place[0], static_cast<__mmask32>(stored(0)), _mm512_castsi512_si256(bytes));
      _mm256_mask_storeu_epi8(out + place[1], static_cast<__mmask32>(stored(1)), _mm512_extracti64x4_epi64(bytes, 1));
    } else {
      _mm_mask_storeu_epi8(out + place[0], static_cast<__mmask16>(stored(0)), _mm512_castsi512_si128(bytes));
      _mm_mask_storeu_epi8(out + place[1], static_cast<__mmask16>(stored(1)), _mm512_extracti32x4_epi32(bytes, 1));
      _mm_mask_storeu_epi8(out + place[2], static_cast<__mmask16>(stored(2)), _mm512_extracti32x4_epi32(bytes, 2));
      _mm_mask_storeu_epi8(out + place[3], static_cast<__mmask16>(stored(3)), _mm512_extracti32x4_epi32(bytes, 3));
    }
  }
  /// INT32 elements of the same rows.
  DMLREF_TARGET_AMX_INT8 DMLREF_ALWAYS_INLINE void store(const __m512i (&sums)[4], Index row,
                                                         Index vectors) const noexcept {
    const std::uint64_t all = ~std::uint64_t{0} >> (64 - channels);
    const auto store = [&](Index i, Index pixel, Index vector) __attribute__((always_inline)) DMLREF_TARGET_AMX_INT8 {
      const Index place = places[row + pixel];
      if (place < 0) return;
      _mm512_mask_storeu_epi32(out + 4 * place + 64 * vector, static_cast<__mmask16>(all >> 16 * vector), sums[i]);
    };
    if (vectors == 4) {
      DMLREF_UNROLL
      for (Index i = 0; i < 4; ++i) store(i, 0, i);
    } else if (vectors == 2) {
      DMLREF_UNROLL
      for (Index i = 0; i < 4; ++i) store(i, i / 2, i % 2);
    } else {
      DMLREF_UNROLL
      for (Index i = 0; i < 4; ++i) store(i, i, 0);
    }
  }
  bool has_channel(Index lane) const noexcept { return lane < channels; }
};

/// One pass after the other on its way to an Output, Planes or Pixels, step by step: which steps are due at an
/// interleave point, and their sums. What becomes of these is an epilogue's affair, and which passes are interleaved.
template <class Output>
class Interleaved {
 public:
  /// Announces so many interleave points.
  void spread(Index points) noexcept {
    const bool used = interleaved_ && points > 0;
    rate_ = used ? pass_.steps - step_ : 0;
    points_ = used ? points : 1;
    due_ = 0;
  }

 protected:
  explicit Interleaved(const Run& run) noexcept : run_(run), split16_(run.compensation == Compensation::split16) {}

  DMLREF_TARGET_AMX_INT8 DMLREF_ALWAYS_INLINE void begin_pass(const Pass& pass, const Output& output,
                                                              bool interleaved) noexcept {
    pass_ = pass;
    output_ = output;
    step_ = 0;
    rows_ = pass.vectors == 4 ? 1 : pass.vectors == 2 ? 2 : 4;
    interleaved_ = interleaved;
    for (Index i = 0; i < 4 && split16_; ++i) lanes_[i] = _mm512_loadu_si512(pass.per_lane + 16 * (i % pass.vectors));
  }
  Index row_of(Index step) const noexcept { return step * rows_; }

  /// A step's sums, with their zero-point compensation where that is of halves.
  DMLREF_TARGET_AMX_INT8 DMLREF_ALWAYS_INLINE void load_sums(Index step, __m512i (&sums)[4]) const noexcept {
    load_sums(step, rows_, split16_, sums);
  }
  /// The same of so many rows in a step, and with halves or without, as callers know.
  DMLREF_TARGET_AMX_INT8 DMLREF_ALWAYS_INLINE void load_sums(Index step, Index rows, bool split16,
                                                             __m512i (&sums)[4]) const noexcept {
    DMLREF_UNROLL
    for (Index i = 0; i < 4; ++i) sums[i] = _mm512_loadu_si512(pass_.sums + 64 * step + 16 * i);
    if (!split16) return;
    const std::int32_t* const per_row = pass_.per_row + step * rows;
    DMLREF_UNROLL
    for (Index i = 0; i < 4; ++i) {
      sums[i] = _mm512_dpwssd_epi32(sums[i], lanes_[i], _mm512_set1_epi32(per_row[i * rows >> 2]));
    }
  }
  /// Adds the zero-point compensation of a step where that is a product, modulo 2^32.
  DMLREF_TARGET_AMX_INT8 void add_products(Index step, __m512i (&sums)[4]) const noexcept {
    const std::int32_t* const per_row = pass_.per_row + row_of(step);
    for (Index i = 0; i < 4; ++i) {
      const __m512i lanes = _mm512_loadu_si512(pass_.per_lane + 16 * (i & (pass_.vectors - 1)));
      sums[i] = _mm512_add_epi32(sums[i], _mm512_mullo_epi32(lanes, _mm512_set1_epi32(per_row[i * rows_ >> 2])));
    }
  }

  const Run& run_;
  bool split16_;
  bool interleaved_ = false;  // the pass: in registers, between products
  Pass pass_;
  Output output_;
  Index rows_ = 1;  // of a step
  __m512i lanes_[4] = {};
  Index step_ = 0;
  Index rate_ = 0, points_ = 1, due_ = 0;
};

/// Stores the sums: the steps of an interleave point are a call.
template <class Output>
class SumsEpilogue : public Interleaved<Output> {
  using Base = Interleaved<Output>;
  using Base::output_, Base::pass_, Base::run_, Base::step_, Base::due_, Base::rate_, Base::points_;

 public:
  static constexpr bool stores_sums = true;
  using Working = SumsEpilogue&;  ///< while tiles are multiplied

  explicit SumsEpilogue(const Run& run) noexcept : Base(run) {}

  /// The sums of `pass` are to be stored next.
  DMLREF_TARGET_AMX_INT8 void begin(const Pass& pass, const Output& output) noexcept {
    this->begin_pass(pass, output, true);
  }
  DMLREF_ALWAYS_INLINE void interleave_point() noexcept {
    due_ += rate_;
    if (due_ >= points_) finish_due();
  }
  void resume(const SumsEpilogue&) noexcept {}
  DMLREF_TARGET_AMX_INT8 void complete() noexcept {
    if (step_ != pass_.steps) complete_rest();
  }

 private:
  DMLREF_TARGET_AMX_INT8 DMLREF_ALWAYS_INLINE void finish_step() noexcept {
    __m512i sums[4];
    this->load_sums(step_, sums);
    if (run_.compensation == Compensation::product) this->add_products(step_, sums);
    output_.store(sums, this->row_of(step_), pass_.vectors);
    ++step_;
  }
  DMLREF_NOINLINE DMLREF_TARGET_AMX_INT8 void finish_due() noexcept {
    for (; due_ >= points_; due_ -= points_) finish_step();
  }
  DMLREF_NOINLINE DMLREF_TARGET_AMX_INT8 void complete_rest() noexcept {
    while (step_ != pass_.steps) finish_step();
  }
};

/// Requantizes the sums. Rows of planes have modes of their own, which code between the products finds out. All rows of
/// pixels have the same: the steps of an interleave point are a call of a loop for it, which loads constants of
/// channels each time. So it is for two steps at least.
template <class Output>
class InterleavedEpilogue : public Interleaved<Output> {
  using Base = Interleaved<Output>;
  using Base::interleaved_, Base::output_, Base::pass_, Base::run_, Base::step_, Base::due_, Base::rate_, Base::points_;
  using Base::load_sums, Base::row_of, Base::split16_;
  static constexpr bool calls = !Output::rows_are_channels;

 public:
  static constexpr bool stores_sums = false;
  using Working = std::conditional_t<calls, InterleavedEpilogue&, InterleavedEpilogue>;  ///< or a copy, in registers

  DMLREF_TARGET_AMX_INT8 explicit InterleavedEpilogue(const Run& run) noexcept
      : Base(run),
        epilogue_(run.requantizer),
        to_(run.requantizer),
        may_interleave_(!run.needs_int64 && run.compensation != Compensation::product) {}

  /// The sums of `pass` are to be requantized next.
  DMLREF_TARGET_AMX_INT8 void begin(const Pass& pass, const Output& output) noexcept {
    const bool other_channels = pass_.sums == nullptr || pass.channel != pass_.channel;
    this->begin_pass(pass, output, may_interleave_ && to_.in_registers[pass.channel]);
    if constexpr (calls) {
      if (!other_channels) return;
      const bool rounds = to_.rounds(pass.channel);
      for (Index i = 0; i < 4; ++i) {
        const Index at = pass.channel + 16 * (i % pass.vectors);
        channels_.scale[i] = _mm512_loadu_ps((rounds ? to_.rounded_scale : to_.fixed_scale) + at);
        channels_.shift[i] = rounds ? _mm512_loadu_ps(to_.rounded_shift + at) : _mm512_setzero_ps();
      }
      call_ = pass.vectors == 4 ? call_of<4>(rounds) : pass.vectors == 2 ? call_of<2>(rounds) : call_of<1>(rounds);
    }
  }

  DMLREF_TARGET_AMX_INT8 DMLREF_ALWAYS_INLINE void interleave_point() noexcept {
    if constexpr (calls) {
      due_ += rate_;
      if (due_ >= 2 * points_) call_(*this);
    } else {
      for (due_ += rate_; due_ >= points_; due_ -= points_) finish_row();
    }
  }
  /// Goes on where a copy of this, held in registers, has come to.
  void resume(const InterleavedEpilogue& copy) noexcept {
    step_ = copy.step_;
    near_ties_ = copy.near_ties_;
    due_ = copy.due_;
  }
  /// What the interleave points have left of the pass.
  DMLREF_TARGET_AMX_INT8 void complete() noexcept {
    if (step_ != pass_.steps || near_ties_ != 0) complete_rest();
  }

 private:
  static constexpr int held = Output::rows_are_channels ? 1 : 4;  // vectors of constants of channels
  using Channels = requantize::avx512::TileEpilogue::Channels<held>;
  using Call = void (*)(InterleavedEpilogue&) noexcept;

  template <bool Rounds>
  DMLREF_TARGET_AMX_INT8 DMLREF_ALWAYS_INLINE Channels channels_of(Index step) const noexcept {
    if constexpr (!Output::rows_are_channels) return channels_;
    Channels one;
    one.scale[0] = _mm512_set1_ps((Rounds ? to_.rounded_scale : to_.fixed_scale)[pass_.channel + step]);
    one.shift[0] = Rounds ? _mm512_set1_ps(to_.rounded_shift[pass_.channel + step]) : _mm512_setzero_ps();
    return one;
  }

  /// rounds(): in one multiply-add.
  template <Index Vectors, class Rounds>
  DMLREF_TARGET_AMX_INT8 DMLREF_ALWAYS_INLINE void finish_step(bool split16, Rounds rounds) noexcept {
    constexpr SumsBegin integers = SumsBegin::as_integers;
    __m512i sums[4];
    load_sums(step_, 4 / Vectors, split16, sums);
    const auto result = rounds() ? epilogue_.of_pixels<held, true, integers>(sums, channels_of<true>(step_))
                                 : epilogue_.of_pixels<held, false, integers>(sums, channels_of<false>(step_));
    output_.store(result.bytes, 4 / Vectors * step_, Vectors);
    near_ties_ |= std::uint64_t{result.has_near_tie} << step_;
    ++step_;
  }
  DMLREF_TARGET_AMX_INT8 DMLREF_ALWAYS_INLINE void finish_row() noexcept {
    finish_step<4>(split16_, [this] { return to_.rounds(pass_.channel + step_); });
  }
  /// The steps of pixels that are due.
  template <Index Vectors, bool Split16, bool Rounds>
  DMLREF_NOINLINE DMLREF_TARGET_AMX_INT8 static void finish_alike(InterleavedEpilogue& e) noexcept {
    InterleavedEpilogue working(e);
    for (; working.due_ >= working.points_; working.due_ -= working.points_) {
      working.finish_step<Vectors>(Split16, [] { return Rounds; });
    }
    e.resume(working);
  }
  template <Index Vectors>
  Call call_of(bool rounds) const noexcept {
    if (split16_) return rounds ? &finish_alike<Vectors, true, true> : &finish_alike<Vectors, true, false>;
    return rounds ? &finish_alike<Vectors, false, true> : &finish_alike<Vectors, false, false>;
  }

  DMLREF_NOINLINE DMLREF_TARGET_AMX_INT8 void complete_rest() noexcept {
    if (!interleaved_) {
      for (; step_ != pass_.steps; ++step_) requantize_alone(step_);
      return;
    }
    if constexpr (calls) {
      due_ = pass_.steps - step_;
      points_ = 1;
      call_(*this);
    } else {
      InterleavedEpilogue working(*this);
      while (working.step_ != working.pass_.steps) working.finish_row();
      resume(working);
    }
    for (; near_ties_ != 0; near_ties_ &= near_ties_ - 1) round_exactly(std::countr_zero(near_ties_));
  }

  /// Exact results for a step in fixed point, some of whose sums are near a tie.
  DMLREF_TARGET_AMX_INT8 void round_exactly(Index step) const noexcept {
    __m512i sums[4];
    load_sums(step, sums);
    std::uint8_t bytes[64];
    std::int32_t kept[64];
    for (Index i = 0; i < 4; ++i) _mm512_storeu_si512(kept + 16 * i, sums[i]);
    const Index period = Output::rows_are_channels ? 1 : 16 * pass_.vectors;
    requantize::avx512::store_in_doubles<requantize::avx512::FixedPointOf::floats>(kept, to_, channel(row_of(step), 0),
                                                                                   period, 64, bytes);
    output_.store(_mm512_loadu_si512(bytes), row_of(step), pass_.vectors);
  }

  /// A step in a mode that is not interleaved.
  DMLREF_TARGET_AMX_INT8 void requantize_alone(Index step) const noexcept {
    const Index width = 16 * pass_.vectors, row = row_of(step);
    const bool multiplied = run_.compensation == Compensation::product;
    __m512i sums[4];
    load_sums(step, sums);
    if (multiplied && !run_.needs_int64) this->add_products(step, sums);
    std::int32_t kept[64];
    std::uint8_t bytes[64] = {};
    for (Index i = 0; i < 4; ++i) _mm512_storeu_si512(kept + 16 * i, sums[i]);
    if (run_.needs_int64) {
      for (Index first = 0, here = row; first < 64; first += width, ++here) {
        for (Index lane = 0; lane < width && output_.has_channel(lane); ++lane) {
          const std::int64_t term = multiplied ? std::int64_t{pass_.per_row[here]} * pass_.per_lane[lane] : 0;
          const Index c = channel(here, lane);
          bytes[first + lane] = to_.exact(kept[first + lane] + term + run_.int64_offset[c], c);
        }
      }
    } else {
      requantize::avx512::clamped(kept, 1, to_, channel(row, 0), Output::rows_are_channels ? 1 : width, bytes);
    }
    output_.store(_mm512_loadu_si512(bytes), row, pass_.vectors);
  }

  Index channel(Index row, Index lane) const noexcept {
    return pass_.channel + (Output::rows_are_channels ? row : lane);
  }

  requantize::avx512::TileEpilogue epilogue_;
  Requantizer to_;
  bool may_interleave_;
  Channels channels_{};  // where rows are pixels, as is the loop for their mode
  Call call_ = nullptr;
  std::uint64_t near_ties_ = 0;  // one bit for each step
};

}  // namespace fast::qlc::amx
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"
#endif
