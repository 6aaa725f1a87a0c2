// mean_variance_normalization.hpp: MVN, MVN1 and MVN2 alone: their descs, validate, compile, run, and calls on views.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_SUPPORTED

#include "dmlref/operators/mean_variance_normalization/call.hpp"
#include "dmlref/run/named_bindings.hpp"
#include "dmlref/run/one_operator.hpp"

#endif  // DMLREF_SUPPORTED
