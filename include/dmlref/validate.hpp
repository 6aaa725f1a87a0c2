// validate.hpp: native descriptors and their rules at every feature level; no kernels, and no names of Microsoft's.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_SUPPORTED

#include "dmlref/validate/validate.hpp"

#endif  // DMLREF_SUPPORTED
