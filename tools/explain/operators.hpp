// operators.hpp: one function for each operator; explain.cpp chooses.
#pragma once

#include "explain/explanation.hpp"

namespace dmlref::tool {

Explanation explain(const SliceDesc& desc, std::span<const InputBuffer> inputs, const Coordinates& at);
Explanation explain(const Slice1Desc& desc, std::span<const InputBuffer> inputs, const Coordinates& at);
Explanation explain(const QuantizedLinearConvolutionDesc& desc, std::span<const InputBuffer> inputs,
                    const Coordinates& at, std::size_t most);
Explanation explain(const ConvolutionIntegerDesc& desc, std::span<const InputBuffer> inputs, const Coordinates& at,
                    std::size_t most);
Explanation explain(const MatrixMultiplyIntegerDesc& desc, std::span<const InputBuffer> inputs, const Coordinates& at,
                    std::size_t most);
Explanation explain(const QuantizedLinearMatrixMultiplyDesc& desc, std::span<const InputBuffer> inputs,
                    const Coordinates& at, std::size_t most);
Explanation explain(const MeanVarianceNormalizationDesc& desc, std::span<const InputBuffer> inputs,
                    const Coordinates& at, std::size_t most);
Explanation explain(const MeanVarianceNormalization1Desc& desc, std::span<const InputBuffer> inputs,
                    const Coordinates& at, std::size_t most);
Explanation explain(const MeanVarianceNormalization2Desc& desc, std::span<const InputBuffer> inputs,
                    const Coordinates& at, std::size_t most);

Explanation explain(const ElementWiseQuantizeLinearDesc& desc, std::span<const InputBuffer> inputs,
                    const Coordinates& at);
Explanation explain(const ElementWiseDequantizeLinearDesc& desc, std::span<const InputBuffer> inputs,
                    const Coordinates& at);

}  // namespace dmlref::tool
