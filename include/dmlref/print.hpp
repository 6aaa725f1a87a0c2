// print.hpp: reports, violations, enumerations and views on streams, and views as text.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_SUPPORTED

#include "dmlref/validate/print.hpp"
#include "dmlref/view/print.hpp"

#endif  // DMLREF_SUPPORTED
