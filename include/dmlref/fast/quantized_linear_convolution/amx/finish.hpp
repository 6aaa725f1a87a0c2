// finish.hpp: sums of AMX's tiles to bytes, 64 at a time, as far as the caller has time for it.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "dmlref/config.hpp"
#include "dmlref/fast/quantized_linear_convolution/amx/constants.hpp"
#include "dmlref/fast/quantized_linear_convolution/tiled/avx512vnni/epilogue.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>

#include "dmlref/isa/avx512_begin.hpp"

DMLREF_BEGIN
namespace fast::qlc::amx {

/// The term of a filter's zero points: none, or of a position's sum and a channel's factor their product, as two
/// products of halves (kernels.hpp) or as it is.
enum class Terms { none, halves, product };

struct PixelTerms {
  Terms kind = Terms::none;
  const std::int32_t* positions = nullptr;  // sums, or halves of these
  const std::int32_t* factors = nullptr;    // of channels, or halves of these
};

template <Terms T>
DMLREF_TARGET_AMX_INT8 DMLREF_ALWAYS_INLINE __m512i add_term(__m512i products, __m512i position,
                                                             __m512i factor) noexcept {
  if constexpr (T == Terms::product) return _mm512_add_epi32(products, _mm512_mullo_epi32(position, factor));
  if constexpr (T == Terms::halves) return _mm512_dpwssd_epi32(products, position, factor);
  return products;
}

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
      requantize::avx512::clamped(kept, 1, run_.requantizer, first, period, out);
    } else {
      for (Index i = 0; i < 64; ++i) {
        const Index channel = i % period;
        const Index position = i / period;
        out[i] = 0;
        if (channel >= channels) continue;  // filling
        std::int64_t sum = kept[i] + run_.wide_offset[first + channel];
        if (terms.kind == Terms::product) sum += std::int64_t{terms.factors[channel]} * terms.positions[position];
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
      : epilogue_(run.requantizer), slow_(run), rounding_(run.rounding), to_(run.requantizer) {}

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
  bool usual() const noexcept { return rounding_ == Rounding::fixed_point && terms_.kind != Terms::product; }
  /// The one that does.
  template <class Briskly>
  auto briskly() const noexcept {
    return terms_.kind == Terms::none ? Briskly::template of<Brisk<Terms::none>, PlanarFinish>
                                      : Briskly::template of<Brisk<Terms::halves>, PlanarFinish>;
  }

  /// The usual case, kept in registers while tiles are multiplied: fixed point. Near ties are remembered, and settled
  /// in the end.
  template <Terms T>
  class Brisk {
   public:
    DMLREF_TARGET_AMX_INT8 DMLREF_ALWAYS_INLINE explicit Brisk(const PlanarFinish& finish) noexcept
        : epilogue_(finish.epilogue_),
          sums_(finish.sums_),
          channel_(finish.channel_),
          factor_(finish.terms_.factors),
          out_(finish.out_),
          pitch_(finish.pitch_),
          ahead_(finish.ahead_),
          to_(finish.to_),
          used_(finish.used_),
          stored_(finish.stored_) {
      if constexpr (T != Terms::none) {
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) terms_.v[i] = _mm512_loadu_si512(finish.terms_.positions + 16 * i);
      }
    }
    DMLREF_TARGET_AMX_INT8 DMLREF_ALWAYS_INLINE void step() noexcept {
      if (ahead_ != 0) __builtin_prefetch(out_ + ahead_, 1);
      if (to_.rounds(channel_)) {
        store(epilogue_.of_rounded<SumsBegin::as_integers>(sum<0>(), sum<1>(), sum<2>(), sum<3>(), channel_));
        near_ties_.add(false);
      } else {
        const __m512 scale = _mm512_set1_ps(to_.fixed_scale[channel_]);
        const auto [bytes, near_tie] = epilogue_.of_scale(sum<0>(), sum<1>(), sum<2>(), sum<3>(), scale);
        store(bytes);
        near_ties_.add(near_tie);
      }
      sums_ += 64;
      ++channel_;
      if constexpr (T == Terms::halves) ++factor_;
      out_ += pitch_;
    }
    /// Lets `finish` go on from here.
    DMLREF_TARGET_AMX_INT8 DMLREF_ALWAYS_INLINE void resume(PlanarFinish& finish) const noexcept {
      near_ties_.settle(finish);
    }

   private:
    DMLREF_TARGET_AMX_INT8 DMLREF_ALWAYS_INLINE void store(__m512i bytes) const noexcept {
      _mm512_mask_storeu_epi8(out_, stored_, used_ != stored_ ? _mm512_maskz_compress_epi8(used_, bytes) : bytes);
    }
    template <int I>
    DMLREF_TARGET_AMX_INT8 DMLREF_ALWAYS_INLINE __m512i sum() const noexcept {
      const __m512i factor = T == Terms::halves ? _mm512_set1_epi32(*factor_) : __m512i{};
      return add_term<T>(_mm512_loadu_si512(sums_ + 16 * I), terms_.v[I], factor);
    }

    avx512vnni::Epilogue epilogue_;
    const std::int32_t* sums_;
    Index channel_;
    const std::int32_t* factor_;
    Vectors terms_{};
    std::uint8_t* out_;
    Index pitch_, ahead_;
    Requantizer to_;
    std::uint64_t used_, stored_;
    NearTies near_ties_;
  };

  DMLREF_TARGET_AMX_INT8 DMLREF_ALWAYS_INLINE void advance(Index share) noexcept {
    for (Index i = 0; i < share && left_ > 0; ++i, --left_) {
      const Vectors v = sums();
      __m512i bytes;
      if (to_.rounds(channel_)) {
        bytes = epilogue_.of_rounded<SumsBegin::as_integers>(v.v[0], v.v[1], v.v[2], v.v[3], channel_);
      } else if (__builtin_expect(rounding_ == Rounding::fixed_point, 1)) {
        bytes = epilogue_.of_channel(v.v[0], v.v[1], v.v[2], v.v[3], channel_);
      } else {
        bytes = slow_.bytes(v, channel_, 1, 1, terms_);
      }
      if (used_ != stored_) bytes = _mm512_maskz_compress_epi8(used_, bytes);
      _mm512_mask_storeu_epi8(out_, stored_, bytes);
      sums_ += 64;
      ++channel_;
      if (terms_.factors != nullptr) ++terms_.factors;
      out_ += pitch_;
    }
  }

  /// Goes on as if `steps` were done.
  void skip(Index steps) noexcept {
    sums_ += 64 * steps;
    left_ -= steps;
    channel_ += steps;
    out_ += pitch_ * steps;
    if (terms_.factors != nullptr) terms_.factors += steps;
  }

 private:
  template <Terms T>
  DMLREF_TARGET_AMX_INT8 DMLREF_ALWAYS_INLINE Vectors sums_of() const noexcept {
    Vectors of;
    const __m512i factor = _mm512_set1_epi32(T == Terms::none ? 0 : *terms_.factors);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const __m512i position = T == Terms::none ? factor : _mm512_loadu_si512(terms_.positions + 16 * i);
      of.v[i] = add_term<T>(_mm512_loadu_si512(sums_ + 16 * i), position, factor);
    }
    return of;
  }
  /// Where sums are wide, SlowFinish adds the terms.
  DMLREF_TARGET_AMX_INT8 DMLREF_ALWAYS_INLINE Vectors sums() const noexcept {
    if (rounding_ == Rounding::exact) return sums_of<Terms::none>();
    switch (terms_.kind) {
      case Terms::product: return sums_of<Terms::product>();
      case Terms::halves: return sums_of<Terms::halves>();
      default: return sums_of<Terms::none>();
    }
  }

  avx512vnni::Epilogue epilogue_;
  SlowFinish slow_;
  Rounding rounding_;
  const Requantizer& to_;
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
      : epilogue_(run.requantizer), slow_(run), rounding_(run.rounding), to_(run.requantizer) {}

  /// Sums [positions][16 * vectors], vectors 1, 2 or 4. `places` has for each position the pixel's distance from out,
  /// or less than 0: no pixel.
  void begin(const std::int32_t* sums, Index vectors, Index positions, Index channels, Index first,
             const PixelTerms& terms, const std::int32_t* places, std::uint8_t* out) noexcept {
    sums_ = sums;
    vectors_ = vectors;
    left_ = positions * vectors / 4;
    channels_ = channels;
    first_ = first;
    rounds_ = to_.rounds(first);
    terms_ = terms;
    places_ = places;
    out_ = out;
    stored_ = ~std::uint64_t{0} >> (64 - channels);
  }

  Index left() const noexcept { return left_; }

  /// Whether Brisk does the same.
  bool usual() const noexcept {
    return rounding_ == Rounding::fixed_point && terms_.kind != Terms::product && vectors_ > 1;
  }
  /// The one that does.
  template <class Briskly>
  auto briskly() const noexcept {
    const bool terms = terms_.kind != Terms::none;
    if (vectors_ == 4) return terms ? of<Briskly, Terms::halves, 4>() : of<Briskly, Terms::none, 4>();
    return terms ? of<Briskly, Terms::halves, 2>() : of<Briskly, Terms::none, 2>();
  }

  /// As PlanarFinish::Brisk, for V vectors of channels, more than one.
  template <Terms T, int V, bool Rounds>
  class Brisk {
   public:
    DMLREF_TARGET_AMX_INT8 DMLREF_ALWAYS_INLINE explicit Brisk(const PixelFinish& finish) noexcept
        : epilogue_(finish.epilogue_),
          channels_(epilogue_.channels<V, Rounds>(finish.first_)),
          sums_(finish.sums_),
          term_(finish.terms_.positions),
          places_(finish.places_),
          out_(finish.out_),
          stored_(finish.stored_) {
      if constexpr (T == Terms::halves) {
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) factors_.v[v] = _mm512_loadu_si512(finish.terms_.factors + 16 * v);
      }
    }
    DMLREF_TARGET_AMX_INT8 DMLREF_ALWAYS_INLINE void step() noexcept {
      const __m512i sums[4] = {sum<0>(), sum<1>(), sum<2>(), sum<3>()};
      const auto [bytes, near_tie] = epilogue_.of_pixels<V, Rounds, SumsBegin::as_integers>(sums, channels_);
      if constexpr (V == 4) {
        _mm512_mask_storeu_epi8(out_ + places_[0], stored(0), bytes);
      } else {
        _mm256_mask_storeu_epi8(out_ + places_[0], static_cast<__mmask32>(stored(0)), _mm512_castsi512_si256(bytes));
        _mm256_mask_storeu_epi8(out_ + places_[1], static_cast<__mmask32>(stored(1)),
                                _mm512_extracti64x4_epi64(bytes, 1));
      }
      near_ties_.add(near_tie);
      sums_ += 64;
      if constexpr (T != Terms::none) term_ += pixels;
      places_ += pixels;
    }
    DMLREF_TARGET_AMX_INT8 DMLREF_ALWAYS_INLINE void resume(PixelFinish& finish) const noexcept {
      near_ties_.settle(finish);
    }

   private:
    static constexpr Index pixels = 4 / V;

    DMLREF_ALWAYS_INLINE std::uint64_t stored(Index pixel) const noexcept { return places_[pixel] < 0 ? 0 : stored_; }
    template <int I>
    DMLREF_TARGET_AMX_INT8 DMLREF_ALWAYS_INLINE __m512i sum() const noexcept {
      const __m512i term = T == Terms::none ? __m512i{} : _mm512_set1_epi32(term_[I / V]);
      return add_term<T>(_mm512_loadu_si512(sums_ + 16 * I), term, factors_.v[I % V]);
    }

    avx512vnni::Epilogue epilogue_;
    avx512vnni::Epilogue::Channels<V> channels_;
    const std::int32_t* sums_;
    const std::int32_t* term_;
    Vectors factors_{};
    const std::int32_t* places_;
    std::uint8_t* out_;
    std::uint64_t stored_;
    NearTies near_ties_;
  };

  /// Goes on as if `steps` were done.
  void skip(Index steps) noexcept {
    const Index pixels = steps * 4 / vectors_;
    sums_ += 64 * steps;
    left_ -= steps;
    places_ += pixels;
    if (terms_.kind != Terms::none) terms_.positions += pixels;
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
  template <class Briskly, Terms T, int V>
  auto of() const noexcept {
    return rounds_ ? Briskly::template of<Brisk<T, V, true>, PixelFinish>
                   : Briskly::template of<Brisk<T, V, false>, PixelFinish>;
  }

  template <int V, Terms T>
  DMLREF_TARGET_AMX_INT8 DMLREF_ALWAYS_INLINE void add_terms(Vectors& to) const noexcept {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const __m512i factor = _mm512_loadu_si512(terms_.factors + i % V * 16);
      to.v[i] = add_term<T>(to.v[i], _mm512_set1_epi32(terms_.positions[i / V]), factor);
    }
  }
  template <int V>
  DMLREF_TARGET_AMX_INT8 DMLREF_ALWAYS_INLINE Vectors sums() const noexcept {
    Vectors of;
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) of.v[i] = _mm512_loadu_si512(sums_ + 16 * i);
    if (rounding_ == Rounding::exact) return of;  // SlowFinish adds the terms
    switch (terms_.kind) {
      case Terms::product: add_terms<V, Terms::product>(of); break;
      case Terms::halves: add_terms<V, Terms::halves>(of); break;
      default: break;
    }
    return of;
  }

  template <int V>
  DMLREF_TARGET_AMX_INT8 DMLREF_ALWAYS_INLINE void step() noexcept {
    constexpr Index pixels = 4 / V;
    const Vectors v = sums<V>();
    __m512i bytes;
    bool near_tie = false;
    constexpr SumsBegin are = SumsBegin::as_integers;
    if (rounds_) {
      bytes = epilogue_.of_pixels<V, true, are>(v.v, epilogue_.channels<V, true>(first_)).bytes;
    } else if (__builtin_expect(rounding_ == Rounding::fixed_point, 1)) {
      const auto result = epilogue_.of_pixels<V, false, are>(v.v, epilogue_.channels<V, false>(first_));
      bytes = result.bytes;
      near_tie = result.near_tie;
    } else {
      bytes = slow_.bytes(v, first_, channels_, 16 * V, terms_);
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
    if (__builtin_expect(near_tie, 0)) settle(v, pixels);
    sums_ += 64;
    places_ += pixels;
    if (terms_.kind != Terms::none) terms_.positions += pixels;
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
  const Requantizer& to_;
  bool rounds_ = false;  // all channels of a strip
  const std::int32_t* sums_ = nullptr;
  Index vectors_ = 4, left_ = 0, channels_ = 0, first_ = -1;
  PixelTerms terms_;
  const std::int32_t* places_ = nullptr;
  std::uint8_t* out_ = nullptr;
  std::uint64_t stored_ = 0;
};

}  // namespace fast::qlc::amx
DMLREF_END

#include "dmlref/isa/avx512_end.hpp"
#endif
