// foreign_directml_test.cpp: where a <DirectML.h> came first, even an old one, the library takes its types and declares
// none; newer levels and types are validated all the same.
#define DML_TARGET_VERSION 0x4000
#include "support/DirectML.h"
// The header above must come first.
#include <gtest/gtest.h>

#include "dmlref/directml.hpp"

namespace {

TEST(ForeignDirectml, IsReadAndValidatedAtEveryLevel) {
  const UINT sizes[] = {1, 1, 2, 2};
  const UINT axes[] = {2, 3};
  const DML_BUFFER_TENSOR_DESC buffer = {DML_TENSOR_DATA_TYPE_FLOAT32, DML_TENSOR_FLAG_NONE, 4, sizes, nullptr, 16, 0};
  const DML_TENSOR_DESC tensor = {DML_TENSOR_TYPE_BUFFER, &buffer};
  DML_ACTIVATION_SOFTPLUS_OPERATOR_DESC softplus = {nullptr, nullptr, 0.5f};
  const DML_OPERATOR_DESC activation = {DML_OPERATOR_ACTIVATION_SOFTPLUS, &softplus};
  const DML_MEAN_VARIANCE_NORMALIZATION1_OPERATOR_DESC normalization = {&tensor, nullptr, nullptr, &tensor,    2,
                                                                        axes,    1,       1e-5f,   &activation};
  const DML_OPERATOR_DESC desc = {DML_OPERATOR_MEAN_VARIANCE_NORMALIZATION1, &normalization};

  const dmlref::Report refused = dmlref::validate(desc, DML_FEATURE_LEVEL_2_1);
  ASSERT_EQ(1u, refused.violations().size()) << refused.to_string();
  EXPECT_EQ("FusedActivation.Steepness", refused.violations()[0].field);
  EXPECT_EQ("6_4", dmlref::to_string(refused.violations()[0].available_from.value()));
  EXPECT_TRUE(dmlref::validate(desc, dmlref::latest_feature_level).ok());

  softplus.Steepness = 2.0f;
  EXPECT_TRUE(dmlref::validate(desc, DML_FEATURE_LEVEL_2_1).ok());
  const auto value = dmlref::detail::read_directml(desc);
  ASSERT_TRUE(value.has_value());
  EXPECT_EQ(2.0f, std::get<dmlref::MeanVarianceNormalization1Desc>(*value).fused_activation->parameters[0]);
}

}  // namespace
