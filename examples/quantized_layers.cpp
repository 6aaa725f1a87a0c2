// Three quantized layers, compiled once and run often: constants packed ahead, one workspace for all, two threads.
#include <dmlref/dmlref.hpp>

#include <cstdint>
#include <cstdio>
#include <vector>

using namespace dmlref;

struct Layer {
  CompiledOperator op;
  AlignedBuffer persistent;
  std::vector<std::uint8_t> output;
};

Layer make_layer(std::uint32_t in, std::uint32_t out, std::uint32_t kernel, std::uint32_t groups,
                 AlignedBuffer& workspace) {
  QuantizedLinearConvolutionDesc desc;
  desc.input = {DataType::uint8, {1, in, 12, 12}};
  desc.filter = {DataType::int8, {out, in / groups, kernel, kernel}};
  desc.output = {DataType::uint8, {1, out, 12, 12}};
  desc.input_scale = desc.filter_scale = desc.output_scale = {DataType::float32, {1, 1, 1, 1}};
  desc.strides = desc.dilations = {1, 1};
  desc.start_padding = desc.end_padding = {kernel / 2, kernel / 2};
  desc.group_count = groups;
  for (TensorDesc* constant : {&desc.input_scale, &desc.filter, &desc.filter_scale, &desc.output_scale})
    constant->owned_by_dml = true;  // given once, to initialize

  const CompiledOperator op = compile(desc, latest_feature_level).value();
  const BindingProperties needs = op.binding_properties();
  Layer layer{op, AlignedBuffer(needs.persistent_bytes), std::vector<std::uint8_t>(out * 12 * 12)};
  if (workspace.span().size() < needs.temporary_bytes) workspace = AlignedBuffer(needs.temporary_bytes);
  std::vector<std::int8_t> filter(out * in / groups * kernel * kernel);
  for (std::size_t i = 0; i < filter.size(); ++i) filter[i] = static_cast<std::int8_t>(i * 7 % 23 - 9);
  const float scales[] = {0.05f, 0.02f, 0.04f};  // of the input, the filter, the output
  const auto scale = [&](std::size_t i) { return std::span(&scales[i], 1); };
  NamedBindings owned(layer.op);
  owned.bind("FilterTensor", filter);
  owned.bind("InputScaleTensor", scale(0)).bind("FilterScaleTensor", scale(1)).bind("OutputScaleTensor", scale(2));
  std::puts(layer.op.initialize(owned, layer.persistent.span(), workspace.span()).to_string().c_str());  // ok
  return layer;
}

int main() {
  AlignedBuffer workspace;  // each layer's temporary memory in its turn
  Layer layers[] = {make_layer(8, 16, 3, 1, workspace), make_layer(16, 16, 3, 16, workspace),
                    make_layer(16, 4, 1, 1, workspace)};
  std::vector<std::uint8_t> values(8 * 12 * 12);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::uint8_t>(i * 31 % 101);
  ThreadPool threads(2);
  for (Layer& layer : layers) {
    NamedBindings buffers(layer.op);
    buffers.bind("InputTensor", values);  // the rest is owned
    buffers.bind("OutputTensor", layer.output);
    if (!layer.op.execute(buffers, layer.persistent.span(), workspace.span(), threads)) return 1;
    values = layer.output;
  }
  for (std::size_t x = 60; x < 72; ++x) std::printf(" %d", values[x]);  // row 5: 25 57 61 73 81 67 51 69 75 78 81 84
  std::printf("\n");
}
