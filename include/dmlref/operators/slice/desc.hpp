// desc.hpp: SLICE and SLICE1 as values.
#pragma once

#include <cstdint>
#include <vector>

#include "dmlref/config.hpp"
#include "dmlref/desc/tensor_desc.hpp"

DMLREF_BEGIN

/// DML_SLICE_OPERATOR_DESC: output coordinate c reads input coordinate offset + stride * c, in every dimension.
struct SliceDesc {
  TensorDesc input;    ///< 1 to 8 dimensions, 4 or 5 below level 3_0
  TensorDesc output;   ///< type and rank of the input
  Dimensions offsets;  ///< in elements, one per dimension, as the next two
  Dimensions sizes;    ///< equal to the output's sizes
  Dimensions strides;  ///< 0 repeats one element
};

/// DML_SLICE1_OPERATOR_DESC: output coordinate c reads start + stride * c, where start is the window's first element
/// for a positive stride and its last for a negative one.
struct Slice1Desc {
  TensorDesc input;                          ///< 1 to 8 dimensions, 4 or 5 below level 3_0
  TensorDesc output;                         ///< type and rank of the input
  Dimensions window_offsets;                 ///< in elements, one per dimension, as the next two
  Dimensions window_sizes;                   ///< at least 1; the output may be smaller than its window offers
  std::vector<std::int32_t> window_strides;  ///< of either sign, not 0
};

DMLREF_END
