// print.hpp: a view as text, as NumPy's print shows an array.
#pragma once

#include "dmlref/config.hpp"

#if DMLREF_SUPPORTED

#include "dmlref/view/print.hpp"

#endif  // DMLREF_SUPPORTED
