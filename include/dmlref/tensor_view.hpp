// tensor_view.hpp: tensors as views of memory, without operators: needs nothing of DirectML.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_SUPPORTED

#include "dmlref/view/coalesce.hpp"
#include "dmlref/view/interop.hpp"
#include "dmlref/view/rows.hpp"
#include "dmlref/view/tensor_view.hpp"

#endif  // DMLREF_SUPPORTED
