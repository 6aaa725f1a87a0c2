// operator_desc.hpp: any of our operators.
#pragma once

#include <type_traits>

#include "dmlref/config.hpp"
#include "dmlref/operators/list.hpp"

DMLREF_BEGIN

/// A descriptor of any operator, as a value: what a DML_OPERATOR_DESC is read into.
using OperatorDesc = schema::Operators::Variant;

/// A native desc: of one operator, or of any.
template <class Desc>
concept NativeDesc = OneOperatorDesc<Desc> || std::is_same_v<Desc, OperatorDesc>;

DMLREF_END
