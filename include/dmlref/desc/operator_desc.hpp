// operator_desc.hpp: any of our operators.
#pragma once

#include "dmlref/config.hpp"
#include "dmlref/operators/list.hpp"

DMLREF_BEGIN

/// A descriptor of any operator, as a value: what a DML_OPERATOR_DESC is read into.
using OperatorDesc = schema::Operators::Variant;

DMLREF_END
