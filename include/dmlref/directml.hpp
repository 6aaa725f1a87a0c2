// directml.hpp: the public API of Microsoft's descriptors: descriptors in, reports and results out.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_SUPPORTED

#include "dmlref/desc/directml_types.hpp"
#include "dmlref/run/directml.hpp"
#include "dmlref/run/named_bindings.hpp"
#include "dmlref/validate/read_directml.hpp"

#endif  // DMLREF_SUPPORTED
