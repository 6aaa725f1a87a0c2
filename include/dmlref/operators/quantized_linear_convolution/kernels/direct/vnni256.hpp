// vnni256.hpp: the direct convolution's kernels with dot products on 8 lanes; a block is 32 lanes.
//
// Included once per encoding of the dot products, inside its namespace; hence no guard. The includer defines
// DMLREF_QLC_TARGET (the attribute) and functions dot(sums, quads, weights) of bytes and multiply_add(sums, pairs,
// weights) of words; without them this is empty.
#if defined(DMLREF_QLC_TARGET)

using namespace vectors256;

inline constexpr const Kernels* narrower = nullptr;
inline constexpr bool pairs_in_place = true;

#include "dmlref/operators/quantized_linear_convolution/kernels/direct/bytes.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/columns256.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/lanes.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/planes256.hpp"
#include "dmlref/operators/quantized_linear_convolution/kernels/direct/table.hpp"

#endif
