// finish.hpp: sums of AMX's tiles to bytes, 64 at a time, as far as the caller has time for it.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/amx/constants.hpp"
#include "dmlref/fast/quantized_linear_convolution/avx512vnni/epilogue.hpp"
#include "dmlref/fast/quantized_linear_convolution/avx512vnni/output.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::qlc::amx {

enum class Terms { none, offset, product };

/// The term of a filter's zero points: an offset for each position, or a sum for each position times a factor for each
/// channel, or none.
struct PixelTerms {
  const std::int32_t* offset = nullptr;
  const std::int32_t* sums = nullptr;
  const std::int32_t* factor = nullptr;

  Terms kind() const noexcept {
    return offset != nullptr ? Terms::offset : sums != nullptr ? Terms::product : Terms::none;
  }
};

struct Vectors {
  __m512i v[4];
};

/// What both orders of the sums share: how 64 of them become bytes where fixed point does not do.
class SlowFinish {
 public:
  explicit SlowFinish(const Run& run) noexcept : run_(run) {}

  /// Sum i is that of channel first + i % period, of which there are `channels`, and of position i / period.
  DMLREF_NOINLINE DMLREF_TARGET_AMX_INT8 __m512i bytes(const Vectors& sums, Index first, Index channels, Index period,
                                                       const PixelTerms& terms) const noexcept {
    std::int32_t kept[64];
    std::uint8_t out[64];
    for (int i = 0; i < 4; ++i) _mm512_storeu_si512(kept + 16 * i, sums.v[i]);
    if (run_.rounding == Rounding::clamped) {
      avx512vnni::quantize(kept, 1, run_.requantizer, first, period, out);
    } else {
      for (Index i = 0; i < 64; ++i) {
        const Index channel = i % period;
        const Index position = i / period;
        out[i] = 0;
        if (channel >= channels) continue;  // filling
        std::int64_t sum = kept[i] + run_.wide_offset[first + channel];
        if (terms.sums != nullptr) sum += std::int64_t{terms.factor[channel]} * terms.sums[position];
        out[i] = run_.requantizer.exact(sum, first + channel);
      }
    }
    return _mm512_loadu_si512(out);
  }

 private:
  const Run& run_;
};

/// The steps of a Finish, 64 at most, in which some sum was near a tie.
class NearTies {
 public:
  DMLREF_ALWAYS_INLINE void add(bool near_tie) noexcept {
    steps_ = 2 * steps_ + (near_tie ? 1 : 0);
    ++count_;
  }
  /// Takes those steps again, and lets `finish` go on after all of them.
  template <class Finish>
  DMLREF_TARGET_AMX_INT8 DMLREF_ALWAYS_INLINE void settle(Finish& finish) const noexcept {
    if (__builtin_expect(steps_ != 0, 0)) settle(finish, steps_, count_);
    finish.skip(count_);
  }

 private:
  // By value: a class whose address is known lives in memory.
  template <class Finish>
  DMLREF_TARGET_AMX_INT8 DMLREF_NOINLINE static void settle(const Finish& finish, std::uint64_t steps,
                                                            Index count) noexcept {
    for (; steps != 0; steps &= steps - 1) {
      Finish again(finish);
      again.skip(count - 1 - std::countr_zero(steps));
      again.advance(1);
    }
  }

  std::uint64_t steps_ = 0;  // the last one in bit 0
  Index count_ = 0;
};

/// Sums of 64 positions for each of some channels, on their way to planes.
class PlanarFinish {
 public:
  DMLREF_TARGET_AMX_INT8 explicit PlanarFinish(const Run& run) noexcept
      : epilogue_(run.requantizer), slow_(run), rounding_(run.rounding) {}

  /// Sums [channels][64]. `used` says which positions are pixels; they go to out, out + 1, … and those of the next
  /// channel `pitch` further on. What lies `ahead` of them will be written soon.
  void begin(const std::int32_t* sums, Index channels, Index first, const PixelTerms& terms, std::uint64_t used,
             std::uint8_t* out, Index pitch, Index ahead) noexcept {
    sums_ = sums;
    left_ = channels;
    channel_ = first;
    terms_ = terms;
    used_ = used;
    stored_ = ~std::uint64_t{0} >> (64 - std::popcount(used));
    out_ = out;
    pitch_ = pitch;
    ahead_ = ahead;
  }

  Index left() const noexcept { return left_; }

  /// Whether Brisk does the same.
  bool usual() const noexcept { return rounding_ == Rounding::fixed_point && used_ == stored_; }
  Terms terms() const noexcept { return terms_.kind(); }

  /// The usual case, kept in registers while tiles are multiplied: fixed point, no gaps. Near ties are remembered, and
  /// settled in the end.
  template <Terms T>
  class Brisk {
   public:
    DMLREF_TARGET_AMX_INT8 DMLREF_ALWAYS_INLINE explicit Brisk(const PlanarFinish& finish) noexcept
        : epilogue_(finish.epilogue_),
          sums_(finish.sums_),
          scale_(finish.epilogue_.scales() + finish.channel_),
          factor_(finish.terms_.factor),
          out_(finish.out_),
          pitch_(finish.pitch_),
          ahead_(finish.ahead_),
          stored_(finish.stored_) {
      if constexpr (T != Terms::none) {
        const std::int32_t* terms = T == Terms::offset ? finish.terms_.offset : finish.terms_.sums;
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) terms_.v[i] = _mm512_loadu_si512(terms + 16 * i);
      }
    }
    DMLREF_TARGET_AMX_INT8 DMLREF_ALWAYS_INLINE void step() noexcept {
      const __m512 scale = _mm512_set1_ps(*scale_);
      const auto [bytes, near_tie] = epilogue_.of_scale(sum<0>(), sum<1>(), sum<2>(), sum<3>(), scale);
      if (ahead_ != 0) __builtin_prefetch(out_ + ahead_, 1);
      _mm512_mask_storeu_epi8(out_, stored_, bytes);
      near_ties_.add(near_tie);
      sums_ += 64;
      ++scale_;
      if constexpr (T == Terms::product) ++factor_;
      out_ += pitch_;
    }
    /// Lets `finish` go on from here.
    DMLREF_TARGET_AMX_INT8 DMLREF_ALWAYS_INLINE void resume(PlanarFinish& finish) const noexcept {
      near_ties_.settle(finish);
    }

   private:
    template <int I>
    DMLREF_TARGET_AMX_INT8 DMLREF_ALWAYS_INLINE __m512i sum() const noexcept {
      __m512i term = terms_.v[I];
      if constexpr (T == Terms::product) term = _mm512_mullo_epi32(term, _mm512_set1_epi32(*factor_));
      const __m512i products = _mm512_loadu_si512(sums_ + 16 * I);
      return T == Terms::none ? products : _mm512_add_epi32(products, term);
    }

    avx512vnni::Epilogue epilogue_;
    const std::int32_t* sums_;
    const float* scale_;
    const std::int32_t* factor_;
    Vectors terms_{};
    std::uint8_t* out_;
    Index pitch_, ahead_;
    std::uint64_t stored_;
    NearTies near_ties_;
  };

  DMLREF_TARGET_AMX_INT8 DMLREF_ALWAYS_INLINE void advance(Index share) noexcept {
    for (Index i = 0; i < share && left_ > 0; ++i, --left_) {
      __m512i v0 = _mm512_loadu_si512(sums_);
      __m512i v1 = _mm512_loadu_si512(sums_ + 16);
      __m512i v2 = _mm512_loadu_si512(sums_ + 32);
      __m512i v3 = _mm512_loadu_si512(sums_ + 48);
      if (terms_.offset != nullptr) {
        v0 = _mm512_add_epi32(v0, _mm512_loadu_si512(terms_.offset));
        v1 = _mm512_add_epi32(v1, _mm512_loadu_si512(terms_.offset + 16));
        v2 = _mm512_add_epi32(v2, _mm512_loadu_si512(terms_.offset + 32));
        v3 = _mm512_add_epi32(v3, _mm512_loadu_si512(terms_.offset + 48));
      } else if (terms_.sums != nullptr && rounding_ != Rounding::wide) {
        const __m512i factor = _mm512_set1_epi32(*terms_.factor);
        v0 = _mm512_add_epi32(v0, _mm512_mullo_epi32(factor, _mm512_loadu_si512(terms_.sums)));
        v1 = _mm512_add_epi32(v1, _mm512_mullo_epi32(factor, _mm512_loadu_si512(terms_.sums + 16)));
        v2 = _mm512_add_epi32(v2, _mm512_mullo_epi32(factor, _mm512_loadu_si512(terms_.sums + 32)));
        v3 = _mm512_add_epi32(v3, _mm512_mullo_epi32(factor, _mm512_loadu_si512(terms_.sums + 48)));
      }
      __m512i bytes;
      if (__builtin_expect(rounding_ == Rounding::fixed_point, 1)) {
        bytes = epilogue_.of_channel<false>(v0, v1, v2, v3, channel_);
      } else {
        bytes = slow_.bytes({{v0, v1, v2, v3}}, channel_, 1, 1, terms_);
      }
      if (used_ != stored_) bytes = _mm512_maskz_compress_epi8(used_, bytes);
      _mm512_mask_storeu_epi8(out_, stored_, bytes);
      sums_ += 64;
      ++channel_;
      if (terms_.factor != nullptr) ++terms_.factor;
      out_ += pitch_;
    }
  }

  /// Goes on as if `steps` were done.
  void skip(Index steps) noexcept {
    sums_ += 64 * steps;
    left_ -= steps;
    channel_ += steps;
    out_ += pitch_ * steps;
    if (terms_.factor != nullptr) terms_.factor += steps;
  }

 private:
  avx512vnni::Epilogue epilogue_;
  SlowFinish slow_;
  Rounding rounding_;
  const std::int32_t* sums_ = nullptr;
  Index left_ = 0, channel_ = 0;
  PixelTerms terms_;
  std::uint64_t used_ = 0, stored_ = 0;
  std::uint8_t* out_ = nullptr;
  Index pitch_ = 0, ahead_ = 0;
};

/// Sums of 16 * vectors channels for each of some positions, on their way to pixels.
class PixelFinish {
 public:
  DMLREF_TARGET_AMX_INT8 explicit PixelFinish(const Run& run) noexcept
      : epilogue_(run.requantizer), slow_(run), rounding_(run.rounding) {}

  /// Sums [positions][16 * vectors], vectors 1, 2 or 4. `places` has for each position the pixel's distance from out,
  /// or less than 0: no pixel.
  void begin(const std::int32_t* sums, Index vectors, Index positions, Index channels, Index first,
             const PixelTerms& terms, const std::int32_t* places, std::uint8_t* out) noexcept {
    sums_ = sums;
    vectors_ = vectors;
    left_ = positions * vectors / 4;
    channels_ = channels;
    first_ = first;
    terms_ = terms;
    places_ = places;
    out_ = out;
    stored_ = ~std::uint64_t{0} >> (64 - channels);
  }

  Index left() const noexcept { return left_; }

  /// Whether Brisk does the same.
  bool usual() const noexcept {
    bool all = rounding_ == Rounding::fixed_point && vectors_ == 4;
    for (Index i = 0; all && i < left_; ++i) all = places_[i] >= 0;
    return all;
  }
  Terms terms() const noexcept { return terms_.kind(); }

  /// As PlanarFinish::Brisk, for 64 channels.
  template <Terms T>
  class Brisk {
   public:
    DMLREF_TARGET_AMX_INT8 DMLREF_ALWAYS_INLINE explicit Brisk(const PixelFinish& finish) noexcept
        : epilogue_(finish.epilogue_),
          sums_(finish.sums_),
          first_(finish.first_),
          term_(T == Terms::offset ? finish.terms_.offset : finish.terms_.sums),
          places_(finish.places_),
          out_(finish.out_),
          stored_(finish.stored_) {
      if constexpr (T == Terms::product) {
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) factors_.v[i] = _mm512_loadu_si512(finish.terms_.factor + 16 * i);
      }
    }
    DMLREF_TARGET_AMX_INT8 DMLREF_ALWAYS_INLINE void step() noexcept {
      const auto [bytes, near_tie] = epilogue_.of_vectors<4>(sum<0>(), sum<1>(), sum<2>(), sum<3>(), first_);
      _mm512_mask_storeu_epi8(out_ + *places_, stored_, bytes);
      near_ties_.add(near_tie);
      sums_ += 64;
      if constexpr (T != Terms::none) ++term_;
      ++places_;
    }
    DMLREF_TARGET_AMX_INT8 DMLREF_ALWAYS_INLINE void resume(PixelFinish& finish) const noexcept {
      near_ties_.settle(finish);
    }

   private:
    template <int I>
    DMLREF_TARGET_AMX_INT8 DMLREF_ALWAYS_INLINE __m512i sum() const noexcept {
      const __m512i products = _mm512_loadu_si512(sums_ + 16 * I);
      if constexpr (T == Terms::none) return products;
      __m512i term = _mm512_set1_epi32(*term_);
      if constexpr (T == Terms::product) term = _mm512_mullo_epi32(factors_.v[I], term);
      return _mm512_add_epi32(products, term);
    }

    avx512vnni::Epilogue epilogue_;
    const std::int32_t* sums_;
    Index first_;
    const std::int32_t* term_;
    Vectors factors_{};
    const std::int32_t* places_;
    std::uint8_t* out_;
    std::uint64_t stored_;
    NearTies near_ties_;
  };

  /// Goes on as if `steps` of 64 channels were done.
  void skip(Index steps) noexcept {
    sums_ += 64 * steps;
    left_ -= steps;
    places_ += steps;
    if (terms_.offset != nullptr) terms_.offset += steps;
    if (terms_.sums != nullptr) terms_.sums += steps;
  }

  DMLREF_TARGET_AMX_INT8 DMLREF_ALWAYS_INLINE void advance(Index share) noexcept {
    for (Index i = 0; i < share && left_ > 0; ++i, --left_) {
      if (vectors_ == 4) {
        step<4>();
      } else if (vectors_ == 2) {
        step<2>();
      } else {
        step<1>();
      }
    }
  }

 private:
  template <int V>
  DMLREF_TARGET_AMX_INT8 DMLREF_ALWAYS_INLINE void step() noexcept {
    constexpr Index pixels = 4 / V;
    __m512i v[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) v[i] = _mm512_loadu_si512(sums_ + 16 * i);
    if (terms_.offset != nullptr) {
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) v[i] = _mm512_add_epi32(v[i], _mm512_set1_epi32(terms_.offset[i / V]));
    } else if (terms_.sums != nullptr && rounding_ != Rounding::wide) {
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        const __m512i factor = _mm512_loadu_si512(terms_.factor + i % V * 16);
        v[i] = _mm512_add_epi32(v[i], _mm512_mullo_epi32(factor, _mm512_set1_epi32(terms_.sums[i / V])));
      }
    }
    __m512i bytes;
    bool near_tie = false;
    if (__builtin_expect(rounding_ == Rounding::fixed_point, 1)) {
      const auto result = epilogue_.of_vectors<V>(v[0], v[1], v[2], v[3], first_);
      bytes = result.bytes;
      near_tie = result.near_tie;
    } else {
      bytes = slow_.bytes({{v[0], v[1], v[2], v[3]}}, first_, channels_, 16 * V, terms_);
    }
    if constexpr (V == 4) {
      if (places_[0] >= 0) _mm512_mask_storeu_epi8(out_ + places_[0], stored_, bytes);
    } else if constexpr (V == 2) {
      const auto mask = static_cast<__mmask32>(stored_);
      if (places_[0] >= 0) _mm256_mask_storeu_epi8(out_ + places_[0], mask, _mm512_castsi512_si256(bytes));
      if (places_[1] >= 0) _mm256_mask_storeu_epi8(out_ + places_[1], mask, _mm512_extracti64x4_epi64(bytes, 1));
    } else if (stored_ == 0xFFFF && places_[3] - places_[0] == 48 && (places_[0] | places_[1] | places_[2]) >= 0) {
      _mm512_storeu_si512(out_ + places_[0], bytes);
    } else {
      const auto mask = static_cast<__mmask16>(stored_);
      if (places_[0] >= 0) _mm_mask_storeu_epi8(out_ + places_[0], mask, _mm512_castsi512_si128(bytes));
      if (places_[1] >= 0) _mm_mask_storeu_epi8(out_ + places_[1], mask, _mm512_extracti32x4_epi32(bytes, 1));
      if (places_[2] >= 0) _mm_mask_storeu_epi8(out_ + places_[2], mask, _mm512_extracti32x4_epi32(bytes, 2));
      if (places_[3] >= 0) _mm_mask_storeu_epi8(out_ + places_[3], mask, _mm512_extracti32x4_epi32(bytes, 3));
    }
    if (__builtin_expect(near_tie, 0)) settle({{v[0], v[1], v[2], v[3]}}, pixels);
    sums_ += 64;
    places_ += pixels;
    if (terms_.offset != nullptr) terms_.offset += pixels;
    if (terms_.sums != nullptr) terms_.sums += pixels;
  }

  DMLREF_NOINLINE DMLREF_TARGET_AMX_INT8 void settle(const Vectors& sums, Index pixels) const noexcept {
    std::int32_t kept[64];
    for (int i = 0; i < 4; ++i) _mm512_storeu_si512(kept + 16 * i, sums.v[i]);
    for (Index i = 0; i < pixels; ++i) {
      if (places_[i] >= 0) epilogue_.settle(kept + 64 / pixels * i, channels_, first_, out_ + places_[i]);
    }
  }

  avx512vnni::Epilogue epilogue_;
  SlowFinish slow_;
  Rounding rounding_;
  const std::int32_t* sums_ = nullptr;
  Index vectors_ = 4, left_ = 0, channels_ = 0, first_ = 0;
  PixelTerms terms_;
  const std::int32_t* places_ = nullptr;
  std::uint8_t* out_ = nullptr;
  std::uint64_t stored_ = 0;
};

}  // namespace fast::qlc::amx
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"
#endif
