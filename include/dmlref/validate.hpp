// validate.hpp: descriptors, ours and Microsoft's, and their rules at every feature level; no kernels.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_SUPPORTED

#include "dmlref/desc/directml_types.hpp"
#include "dmlref/validate/read_directml.hpp"
#include "dmlref/validate/validate.hpp"

#endif  // DMLREF_SUPPORTED
