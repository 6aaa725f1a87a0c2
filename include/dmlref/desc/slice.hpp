// slice.hpp: SLICE and SLICE1 as values.
#pragma once

#include <cstdint>
#include <vector>

#include "dmlref/config.hpp"
#include "dmlref/desc/tensor_desc.hpp"

DMLREF_BEGIN

/// DML_SLICE_OPERATOR_DESC: output coordinate c reads input coordinate offset + stride * c, in every dimension.
struct SliceDesc {
  TensorDesc input;
  TensorDesc output;
  Dimensions offsets;
  Dimensions sizes;  ///< equal to the output's sizes
  Dimensions strides;
};

/// DML_SLICE1_OPERATOR_DESC: output coordinate c reads start + stride * c, where start is the window's first element
/// for a positive stride and its last for a negative one.
struct Slice1Desc {
  TensorDesc input;
  TensorDesc output;
  Dimensions window_offsets;
  Dimensions window_sizes;
  std::vector<std::int32_t> window_strides;  ///< not 0
};

DMLREF_END
