// dmlref.hpp: everything but the interop headers.
#pragma once

#include "dmlref/directml.hpp"
#include "dmlref/view/bind.hpp"
#include "dmlref/view/coalesce.hpp"
#include "dmlref/view/rows.hpp"
