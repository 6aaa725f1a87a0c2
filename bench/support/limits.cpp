#include "support/limits.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <thread>

#include "dmlref/isa/system.hpp"
#include "support/clock.hpp"
#include "support/memory.hpp"
#include "support/threads.hpp"

#if DMLREF_ARCH_X86_64
#include <immintrin.h>
#elif DMLREF_ARCH_ARM64
#include <arm_neon.h>
#endif

namespace bench {
namespace {

// Keeps a vector register's value alive without storing it.
#define BENCH_KEEP(v, c) __asm__ volatile("" : "+" c(v))

constexpr int rounds = 4096;

#if DMLREF_ARCH_X86_64
// Four accumulators: a product takes 52 cycles, and the unit takes one every 16.
DMLREF_TARGET_AMX_INT8 double tdpbusd_tile() {
  alignas(64) std::uint8_t config[64] = {1};
  for (int i = 0; i < 8; ++i) {
    config[16 + 2 * i] = 64;
    config[48 + i] = 16;
  }
  __asm__ volatile("" : : "r"(&config[0]) : "memory");
  _tile_loadconfig(config);
  constexpr int products = rounds / 16;
  for (int r = 0; r < products; ++r) {
    _tile_dpbusd(0, 4, 6);
    _tile_dpbusd(1, 4, 7);
    _tile_dpbusd(2, 5, 6);
    _tile_dpbusd(3, 5, 7);
  }
  _tile_release();
  return 16.0 * 16 * 64 * 4 * products;
}

// Twelve independent chains: more than latency times throughput of every CPU so far. Each function returns the number
// of multiply-accumulates it did.
#define BENCH_TWELVE(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)

DMLREF_TARGET_AVX512VNNI double dpbusd_zmm() {
#define BENCH_INIT(i) __m512i a##i = _mm512_setzero_si512();
#define BENCH_STEP(i)                     \
  a##i = _mm512_dpbusd_epi32(a##i, x, w); \
  BENCH_KEEP(a##i, "v");
  BENCH_TWELVE(BENCH_INIT)
  __m512i x = _mm512_set1_epi8(3), w = _mm512_set1_epi8(5);
  for (int r = 0; r < rounds; ++r) {
    BENCH_KEEP(x, "v");
    BENCH_TWELVE(BENCH_STEP)
  }
#undef BENCH_INIT
#undef BENCH_STEP
  return 64.0 * 12 * rounds;
}

DMLREF_TARGET_AVXVNNI double dpbusd_ymm() {
#define BENCH_INIT(i) __m256i a##i = _mm256_setzero_si256();
#define BENCH_STEP(i)                         \
  a##i = _mm256_dpbusd_avx_epi32(a##i, x, w); \
  BENCH_KEEP(a##i, "x");
  BENCH_TWELVE(BENCH_INIT)
  __m256i x = _mm256_set1_epi8(3), w = _mm256_set1_epi8(5);
  for (int r = 0; r < rounds; ++r) {
    BENCH_KEEP(x, "x");
    BENCH_TWELVE(BENCH_STEP)
  }
#undef BENCH_INIT
#undef BENCH_STEP
  return 32.0 * 12 * rounds;
}

DMLREF_TARGET_AVX2 double pmaddwd_ymm() {
#define BENCH_INIT(i) __m256i a##i = _mm256_setzero_si256();
#define BENCH_STEP(i)                                     \
  a##i = _mm256_add_epi32(a##i, _mm256_madd_epi16(x, w)); \
  BENCH_KEEP(a##i, "x");                                  \
  BENCH_KEEP(x, "x");
  BENCH_TWELVE(BENCH_INIT)
  __m256i x = _mm256_set1_epi16(3), w = _mm256_set1_epi16(5);
  for (int r = 0; r < rounds; ++r) {
    BENCH_TWELVE(BENCH_STEP)
  }
#undef BENCH_INIT
#undef BENCH_STEP
  return 16.0 * 12 * rounds;
}

double pmaddwd_xmm() {
#define BENCH_INIT(i) __m128i a##i = _mm_setzero_si128();
#define BENCH_STEP(i)                               \
  a##i = _mm_add_epi32(a##i, _mm_madd_epi16(x, w)); \
  BENCH_KEEP(a##i, "x");                            \
  BENCH_KEEP(x, "x");
  BENCH_TWELVE(BENCH_INIT)
  __m128i x = _mm_set1_epi16(3), w = _mm_set1_epi16(5);
  for (int r = 0; r < rounds; ++r) {
    BENCH_TWELVE(BENCH_STEP)
  }
#undef BENCH_INIT
#undef BENCH_STEP
  return 8.0 * 12 * rounds;
}

DMLREF_TARGET_AVX512VNNI void copy_zmm(std::byte* to, const std::byte* from, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += 256) {
    const __m512i a = _mm512_load_si512(from + i), b = _mm512_load_si512(from + i + 64);
    const __m512i c = _mm512_load_si512(from + i + 128), d = _mm512_load_si512(from + i + 192);
    _mm512_store_si512(to + i, a);
    _mm512_store_si512(to + i + 64, b);
    _mm512_store_si512(to + i + 128, c);
    _mm512_store_si512(to + i + 192, d);
  }
}

DMLREF_TARGET_AVX512VNNI void stream_zmm(std::byte* to, const std::byte* from, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += 256) {
    const __m512i a = _mm512_load_si512(from + i), b = _mm512_load_si512(from + i + 64);
    const __m512i c = _mm512_load_si512(from + i + 128), d = _mm512_load_si512(from + i + 192);
    _mm512_stream_si512(static_cast<__m512i*>(static_cast<void*>(to + i)), a);
    _mm512_stream_si512(static_cast<__m512i*>(static_cast<void*>(to + i + 64)), b);
    _mm512_stream_si512(static_cast<__m512i*>(static_cast<void*>(to + i + 128)), c);
    _mm512_stream_si512(static_cast<__m512i*>(static_cast<void*>(to + i + 192)), d);
  }
  _mm_sfence();
}

__m128i* xmm(std::byte* p) { return static_cast<__m128i*>(static_cast<void*>(p)); }
const __m128i* xmm(const std::byte* p) { return static_cast<const __m128i*>(static_cast<const void*>(p)); }

void copy_xmm(std::byte* to, const std::byte* from, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += 32) {
    const __m128i a = _mm_load_si128(xmm(from + i)), b = _mm_load_si128(xmm(from + i + 16));
    _mm_store_si128(xmm(to + i), a);
    _mm_store_si128(xmm(to + i + 16), b);
  }
}

void stream_xmm(std::byte* to, const std::byte* from, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += 32) {
    const __m128i a = _mm_load_si128(xmm(from + i)), b = _mm_load_si128(xmm(from + i + 16));
    _mm_stream_si128(xmm(to + i), a);
    _mm_stream_si128(xmm(to + i + 16), b);
  }
  _mm_sfence();
}

#elif DMLREF_ARCH_ARM64

double smlal_neon() {
  int32x4_t a[12] = {};
  int16x4_t x = vdup_n_s16(3), w = vdup_n_s16(5);
  for (int r = 0; r < rounds; ++r) {
    for (int i = 0; i < 12; ++i) {
      a[i] = vmlal_s16(a[i], x, w);
      BENCH_KEEP(a[i], "w");
    }
  }
  return 4.0 * 12 * rounds;
}

#if DMLREF_HAS_NEON_DOTPROD
DMLREF_TARGET_NEON_DOTPROD double sdot_neon() {
  int32x4_t a[12] = {};
  int8x16_t x = vdupq_n_s8(3), w = vdupq_n_s8(5);
  for (int r = 0; r < rounds; ++r) {
    for (int i = 0; i < 12; ++i) {
      a[i] = vdotq_s32(a[i], x, w);
      BENCH_KEEP(a[i], "w");
    }
  }
  return 16.0 * 12 * rounds;
}
#endif

#endif

void copy_memcpy(std::byte* to, const std::byte* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
  __asm__ volatile("" : : "r"(to) : "memory");
}

// Best of several short trials: a limit is what the machine can do undisturbed.
double peak(double (*kernel)()) {
  double best = 0;
  kernel();
  for (int trial = 0; trial < 40; ++trial) {
    double done = 0;
    const double start = now();
    double elapsed = 0;
    do {
      done += kernel();
      elapsed = now() - start;
    } while (elapsed < 0.4e-3);
    best = std::max(best, done / elapsed);
  }
  return best;
}

using Copy = void (*)(std::byte*, const std::byte*, std::size_t);

double bandwidth(Copy copy, std::byte* to, const std::byte* from, std::size_t bytes, unsigned threads) {
  const std::size_t share = bytes / threads / 256 * 256;
  const double target = 1.5e-3;
  const double expected = static_cast<double>(2 * bytes) / 30e9;
  const int calls = std::max(1, static_cast<int>(target / expected));
  const int trials = expected > 8e-3 ? 4 : 9;
  double best = 0;
  std::atomic<unsigned> arrived{0};
  std::vector<double> elapsed(threads);
  const auto work = [&](unsigned t) {
    std::byte* const mine_to = to + t * share;
    const std::byte* const mine_from = from + t * share;
    copy(mine_to, mine_from, share);
    for (int trial = 0; trial < trials; ++trial) {
      ++arrived;
      while (arrived.load(std::memory_order_acquire) < threads * (2 * static_cast<unsigned>(trial) + 1)) {
      }
      const long stops = preemptions();
      const double start = now(), thread_start = thread_now();
      for (int i = 0; i < calls; ++i) copy(mine_to, mine_from, share);
      elapsed[t] = preemptions() == stops ? now() - start : thread_now() - thread_start;
      ++arrived;
      while (arrived.load(std::memory_order_acquire) < threads * (2 * static_cast<unsigned>(trial) + 2)) {
      }
      if (t == 0) {
        const double slowest = *std::max_element(elapsed.begin(), elapsed.end());
        best = std::max(best, 2.0 * static_cast<double>(share) * threads * calls / slowest);
      }
    }
  };
  std::vector<std::thread> helpers;
  for (unsigned t = 1; t < threads; ++t) helpers.emplace_back(work, t);
  work(0);
  for (std::thread& helper : helpers) helper.join();
  return best;
}

#if DMLREF_ARCH_X86_64
Copy plain_copy() { return dmlref::supported(dmlref::Isa::avx512vnni) ? copy_zmm : copy_xmm; }
Copy streaming_copy() { return dmlref::supported(dmlref::Isa::avx512vnni) ? stream_zmm : stream_xmm; }
#else
Copy plain_copy() { return nullptr; }
Copy streaming_copy() { return nullptr; }
#endif

std::size_t half_of(std::size_t footprint) { return (footprint / 2 + 255) / 256 * 256; }
// Not a multiple of 4096 between source and destination, else loads wait for stores that they do not depend on.
constexpr std::size_t gap = 2048;

/// Memory full of numbers: Zen 4 streams lines of zeros twice as fast as any others.
Memory numbers(std::size_t bytes) {
  Memory memory(bytes);
  Random random(1);
  for (std::size_t at = 0; at + 8 <= bytes; at += 8) {
    const std::uint64_t number = random.next();
    std::memcpy(memory.data() + at, &number, sizeof number);
  }
  return memory;
}

std::map<std::pair<unsigned, std::size_t>, CopyBandwidth>& measured() {
  static std::map<std::pair<unsigned, std::size_t>, CopyBandwidth> table;
  return table;
}

}  // namespace

const std::vector<Int8Peak>& int8_peaks() {
  static const std::vector<Int8Peak> peaks = [] {
    std::vector<Int8Peak> list;
    using dmlref::Isa;
    const auto add = [&](Isa isa, const char* instruction, double (*kernel)()) {
      if (dmlref::supported(isa)) list.push_back({isa, instruction, peak(kernel)});
    };
#if DMLREF_ARCH_X86_64
    add(Isa::scalar, "pmaddwd xmm", pmaddwd_xmm);
    add(Isa::avx2, "vpmaddwd ymm", pmaddwd_ymm);
    add(Isa::avxvnni, "vpdpbusd ymm", dpbusd_ymm);
    add(Isa::avx512vnni, "vpdpbusd zmm", dpbusd_zmm);
    if (dmlref::supported(Isa::amx_int8) && dmlref::detail::request_tiles()) {
      add(Isa::amx_int8, "tdpbusd", tdpbusd_tile);
    }
#elif DMLREF_ARCH_ARM64
    add(Isa::scalar, "smlal", smlal_neon);
    add(Isa::neon, "smlal", smlal_neon);
#if DMLREF_HAS_NEON_DOTPROD
    add(Isa::neon_dotprod, "sdot", sdot_neon);
#endif
#endif
    return list;
  }();
  return peaks;
}

DotOnce make_dot() {
  double (*kernel)() = nullptr;
#if DMLREF_ARCH_X86_64
  switch (dmlref::best_isa()) {
    case dmlref::Isa::amx_int8: kernel = tdpbusd_tile; break;
    case dmlref::Isa::avx512vnni: kernel = dpbusd_zmm; break;
    case dmlref::Isa::avxvnni: kernel = dpbusd_ymm; break;
    case dmlref::Isa::avx2: kernel = pmaddwd_ymm; break;
    default: kernel = pmaddwd_xmm; break;
  }
#elif DMLREF_ARCH_ARM64
  kernel = smlal_neon;
#if DMLREF_HAS_NEON_DOTPROD
  if (dmlref::best_isa() == dmlref::Isa::neon_dotprod) kernel = sdot_neon;
#endif
#endif
  if (kernel == nullptr) return {};
  return {[kernel] { kernel(); }, kernel()};
}

double int8_peak(dmlref::Isa isa) {
  for (const Int8Peak& peak : int8_peaks()) {
    if (peak.isa == isa) return peak.macs_per_second;
  }
  return 0;
}

CopyOnce make_copy(std::size_t footprint) {
  footprint = std::clamp<std::size_t>(footprint, 8u << 10, 1u << 30);
  const CopyBandwidth& row = copy_bandwidth(footprint, 1);
  const Copy copy = row.best() == row.memcpy ? copy_memcpy : row.best() == row.plain ? plain_copy() : streaming_copy();
  const std::size_t half = half_of(footprint);
  const auto memory = std::make_shared<Memory>(numbers(2 * half + gap));
  return {[memory, half, copy] { copy(memory->data() + half + gap, memory->data(), half); },
          2.0 * static_cast<double>(half)};
}

double CopyBandwidth::best() const { return std::max({plain, streaming, memcpy}); }

const CopyBandwidth& copy_bandwidth(std::size_t footprint, unsigned threads) {
  footprint = std::clamp<std::size_t>(footprint, 8u << 10, 1u << 30);
  auto& table = measured();
  for (auto& [key, value] : table) {
    if (key.first != threads) continue;
    const double ratio = static_cast<double>(key.second) / static_cast<double>(footprint);
    if (ratio > 0.9 && ratio < 1.1) return value;
  }
  static Memory memory;
  const std::size_t half = half_of(footprint);
  if (memory.size() < 2 * half + gap) memory = numbers(2 * half + gap);
  std::byte* const from = memory.data();
  std::byte* const to = from + half + gap;
  CopyBandwidth row;
  row.footprint = footprint;
  const bool large = footprint >= (1u << 20);
  if (plain_copy() != nullptr) row.plain = bandwidth(plain_copy(), to, from, half, threads);
  if (streaming_copy() != nullptr && large) row.streaming = bandwidth(streaming_copy(), to, from, half, threads);
  row.memcpy = bandwidth(copy_memcpy, to, from, half, threads);
  return table.emplace(std::pair{threads, footprint}, row).first->second;
}

std::vector<CopyBandwidth> copy_bandwidths(unsigned threads) {
  std::vector<CopyBandwidth> rows;
  for (const auto& [key, value] : measured()) {
    if (key.first == threads) rows.push_back(value);
  }
  return rows;
}

}  // namespace bench
