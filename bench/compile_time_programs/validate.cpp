// Rules of all operators, no kernels.
#include <dmlref/validate.hpp>

dmlref::Report call(const dmlref::OperatorDesc& desc) { return dmlref::validate(desc, dmlref::latest_feature_level); }
