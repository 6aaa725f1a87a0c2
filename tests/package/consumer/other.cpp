// other.cpp: a second translation unit with all headers: nothing may be defined twice.
#include <dmlref/directml.hpp>
#include <dmlref/dmlref.hpp>

dmlref::Report unused(const DML_OPERATOR_DESC& desc);
dmlref::Report unused(const DML_OPERATOR_DESC& desc) { return dmlref::validate(desc, DML_FEATURE_LEVEL_1_0); }
