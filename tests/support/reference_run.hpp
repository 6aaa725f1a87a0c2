// reference_run.hpp: the reference's templates on bound buffers. They are compiled once, in the library
// dmlref_reference_run: sanitized, they take longer than the tests.
#pragma once

#include <memory>
#include <span>

#include "dmlref/desc/operator_desc.hpp"
#include "dmlref/operators/quantized_linear_convolution/problem.hpp"
#include "dmlref/run/compiled_operator.hpp"
#include "dmlref/run/plan.hpp"

namespace dmlref_test {

/// A valid desc of any operator. Buffers in the order of the desc's tensors, absent ones empty.
void run_reference(const dmlref::OperatorDesc& desc, std::span<const dmlref::InputBuffer> inputs,
                   dmlref::OutputBuffer output);

/// A convolution's plan by the reference.
std::shared_ptr<const dmlref::detail::Plan> reference_plan(const dmlref::fast::qlc::Problem& problem);

}  // namespace dmlref_test
