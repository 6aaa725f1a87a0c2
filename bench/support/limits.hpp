// limits.hpp: what this machine can do at most, measured in this process.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "dmlref/isa/cpu.hpp"

namespace bench {

/// Multiply-accumulates of 8-bit values per second and core, out of registers, with the instruction that `isa` has for
/// it: tdpbusd (amx_int8), vpdpbusd zmm (avx512vnni) or ymm (avxvnni), vpmaddwd ymm (avx2) or pmaddwd xmm (scalar on
/// x86-64), sdot (neon_dotprod), smlal (neon).
struct Int8Peak {
  dmlref::Isa isa;
  std::string instruction;
  double macs_per_second = 0;
};
/// Every instruction set that this CPU runs. Measured at the first call.
const std::vector<Int8Peak>& int8_peaks();
double int8_peak(dmlref::Isa isa);
/// The best set's dot products as something to call, measured in turn with the runners. `macs`: done by one call.
struct DotOnce {
  std::function<void()> run;
  double macs = 0;
};
DotOnce make_dot();

/// One footprint: source and destination together; bytes read and bytes written are both counted.
struct CopyBandwidth {
  std::size_t footprint = 0;
  double plain = 0;      ///< vector loads and stores, bytes per second
  double streaming = 0;  ///< non-temporal stores; 0 where they were not measured (below 1 MiB, other CPUs)
  double memcpy = 0;
  double best() const;
};
/// Measured at that very footprint (at most 1 GiB), once per size: neighbours within 10 % share a measurement.
/// `threads` copies run at the same time, each on its share of the footprint.
const CopyBandwidth& copy_bandwidth(std::size_t footprint, unsigned threads);
/// The best of those copies as something to call, on buffers of its own: measured in turn with the runners, it feels
/// the same disturbances. `bytes`: read plus written by one call.
struct CopyOnce {
  std::function<void()> run;
  double bytes = 0;
};
CopyOnce make_copy(std::size_t footprint);
/// Everything measured so far.
std::vector<CopyBandwidth> copy_bandwidths(unsigned threads);

}  // namespace bench
