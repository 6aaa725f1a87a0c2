// mean_variance_normalization.hpp: MVN and MVN1 alone: their descs, validate, compile, run, and calls on views.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_SUPPORTED

#include "dmlref/call/mean_variance_normalization.hpp"
#include "dmlref/op/named_bindings.hpp"
#include "dmlref/op/one_operator.hpp"

#endif  // DMLREF_SUPPORTED
