// mean_variance_normalization.hpp: MVN and MVN1 alone: their descs, validate, compile, run, and calls on views.
#pragma once

#include "dmlref/call/mean_variance_normalization.hpp"
#include "dmlref/config.hpp"
#include "dmlref/op/named_bindings.hpp"
#include "dmlref/op/one_operator.hpp"
#include "dmlref/validate/mean_variance_normalization.hpp"
