// cliffs.cpp: data on which normalizations leave their fast path: values that cancel, lie on an
// activation's jump, or are no numbers.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "dmlref/desc/half.hpp"
#include "support/cliffs.hpp"
#include "support/workloads.hpp"

namespace bench {
namespace {

using dmlref::Activation;
using dmlref::ActivationType;

/// A tensor to normalize, and whether a scale and a bias belong to a group, to an element of it, or are absent.
struct Shape {
  std::string name;
  Sizes sizes, axes;
  bool tiny = false;
};
enum class Parameters { none, per_group, per_element };

struct Workload {
  Shape shape;
  bool half = false;
  bool use_mean = true;
  Parameters parameters = Parameters::none;
  Activation activation;
  std::string name;
};

constexpr float epsilon = 1e-5f;
/// What ±1 becomes: 1 / sqrt(1 + epsilon). Activations jump there.
const double unit = 1.0 / std::sqrt(1.0 + static_cast<double>(epsilon));

/// A number of [0, 1) that belongs to element i of group g.
double uniform(std::size_t g, std::size_t i) { return Random(g * 0x10001u + i).uniform(); }
double normal(std::size_t g, std::size_t i) { return Random(g * 0x10001u + i).normal(); }
/// Elements come in pairs ± v, but for a last one, which is 0: their mean is 0.
double paired(std::size_t i, std::size_t n, double v) { return i + 1 == n && n % 2 == 1 ? 0.0 : i % 2 == 0 ? v : -v; }
/// The same with coarse random v, so that sums are exact.
double symmetric(std::size_t g, std::size_t i, std::size_t n) {
  return paired(i, n, std::round(64 * (0.5 + uniform(g, i / 2))) / 64);
}

/// Where bias cancels scale * z: nowhere, in one element of each group, or wherever an element is 1.
enum class Cancels { none, once, often };

struct DataSet {
  std::string name;
  /// Element i of n of group g.
  double (*element)(std::size_t g, std::size_t i, std::size_t n);
  Cancels cancels = Cancels::none;
  double (*scale)(std::size_t i) = nullptr;  ///< null: random
  bool (*suits)(const Workload&) = nullptr;  ///< null: all
};

bool has_parameters(const Workload& w) { return w.parameters != Parameters::none; }
bool has_jump(const Workload& w) {
  return w.activation.type == ActivationType::thresholded_relu || w.activation.type == ActivationType::shrink;
}
bool is_half(const Workload& w) { return w.half; }
bool is_float(const Workload& w) { return !w.half; }

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

double any_normal(std::size_t g, std::size_t i, std::size_t) { return normal(g, i); }

const DataSet random_data{"random", any_normal};
const DataSet data_sets[] = {
    {"one NaN in each group", [](auto g, auto i, auto n) { return i == n / 3 ? not_a_number : normal(g, i); }},
    {"one infinity in each group", [](auto g, auto i, auto n) { return i == n / 3 ? infinity : normal(g, i); }},
    {"one NaN in the tensor", [](auto g, auto i, auto n) { return g + i == n / 3 ? not_a_number : normal(g, i); }},
    {"constant", [](auto, auto, auto) { return 0.1; }},
    {"0", [](auto, auto, auto) { return 0.0; }},
    {"-1, 0, 1, 0 in one group",
     [](auto g, auto i, auto) {
       return g == 1 ? std::array{-1.0, 0.0, 1.0, 0.0}[i % 4] : normal(g, i);
     }},
    {"-1, 0, 1, 0",
     [](auto, auto i, auto) {
       return std::array{-1.0, 0.0, 1.0, 0.0}[i % 4];
     }},
    {"one element equals the mean",
     [](auto g, auto i, auto n) { return 3.0 + (i < 2 - n % 2 ? 0.0 : symmetric(g, i, n)); }},
    {"most elements equal the mean",
     [](auto, auto i, auto n) {
       return 3.0 + (i < 2 ? 1.0 - 2.0 * static_cast<double>(i) : n < 3 ? 1.0 : 0.0);
     }},
    {"one element near the mean",
     [](auto g, auto i, auto n) { return i == 0   ? 1e-6
                                         : i == 1 ? 0
                                                  : symmetric(g, i, n); }},
    {"bias cancels one element", [](auto g, auto i, auto) { return normal(g, i); }, Cancels::once, nullptr,
     has_parameters},
    {"bias cancels half of the elements", [](auto, auto i, auto n) { return paired(i, n, 1); }, Cancels::often, nullptr,
     has_parameters},
    {"one element on the jump",
     [](auto g, auto i, auto n) {
       return i < 2 ? paired(i, 2, 1) : paired(i, n, 1 + ((g + i / 2) % 2 == 0 ? 5e-4 : -5e-4));
     },
     Cancels::none, nullptr, has_jump},
    {"all elements on the jump", [](auto, auto i, auto n) { return paired(i, n, 1); }, Cancels::none, nullptr,
     has_jump},
    {"float16 overflows", [](auto g, auto i, auto) { return normal(g, i); }, Cancels::none,
     [](std::size_t) { return 6e4; }, [](const Workload& w) { return is_half(w) && has_parameters(w); }},
    {"subnormals", [](auto g, auto i, auto) { return normal(g, i) * 1e-40; }, Cancels::none, nullptr, is_float},
    {"subnormals of float16", [](auto g, auto i, auto) { return normal(g, i) * 1e-6; }},
    {"one outlier", [](auto g, auto i, auto n) { return i == n / 3 ? 6e4 : normal(g, i); }},
    {"one outlier of 1e30", [](auto g, auto i, auto n) { return i == n / 3 ? 1e30 : normal(g, i); }, Cancels::none,
     nullptr, is_float},
    {"two opposite outliers",
     [](auto g, auto i, auto n) { return i == n / 3   ? 6e4
                                         : i == n / 2 ? -6e4
                                                      : symmetric(g, i, n); }},
    {"two opposite outliers of 1e30",
     [](auto g, auto i, auto n) { return i == n / 3   ? 1e30
                                         : i == n / 2 ? -1e30
                                                      : normal(g, i); }, Cancels::none,
     nullptr, is_float},
    {"mean 1e6, deviation 1e-3", [](auto g, auto i, auto) { return 1e6 + 1e-3 * normal(g, i); }, Cancels::none, nullptr,
     is_float},
    {"mean 1e6, deviation 1", [](auto g, auto i, auto) { return 1e6 + normal(g, i); }, Cancels::none, nullptr,
     is_float},
    {"mean 1e3, deviation 1", [](auto g, auto i, auto) { return 1e3 + normal(g, i); }},
    {"one NaN in the scale", any_normal, Cancels::none, [](std::size_t i) { return i == 1 ? not_a_number : 1.0; },
     has_parameters},
    {"one large scale", any_normal, Cancels::none, [](std::size_t i) { return i == 1 ? 1e4 : 1.0; }, has_parameters},
};

void store(const Memory& memory, bool half, std::size_t i, double value) {
  if (half) {
    memory.as<dmlref::half>()[i] = dmlref::half(value);
  } else {
    memory.as<float>()[i] = static_cast<float>(value);
  }
}
double load(const Memory& memory, bool half, std::size_t i) {
  return half ? static_cast<double>(memory.as<dmlref::half>()[i]) : static_cast<double>(memory.as<float>()[i]);
}

Subject make(const Workload& w, const DataSet& data) {
  const Sizes& sizes = w.shape.sizes;
  const std::size_t rank = sizes.size();
  const std::size_t bytes = w.half ? 2 : 4;
  const auto reduced = [&](std::size_t d) {
    return std::find(w.shape.axes.begin(), w.shape.axes.end(), d) != w.shape.axes.end();
  };
  std::size_t count = 1, n = 1;
  for (std::size_t d = 0; d < rank; ++d) {
    count *= sizes[d];
    if (reduced(d)) n *= sizes[d];
  }
  const std::size_t groups = count / n;
  Subject subject;
  Memory input(count * bytes);
  std::vector<double> sum(groups), square(groups), first(n);
  for (std::size_t at = 0; at < count; ++at) {
    std::size_t g = 0, i = 0, g_step = 1, i_step = 1, rest = at;
    for (std::size_t d = rank; d-- > 0; rest /= sizes[d]) {
      std::size_t& index = reduced(d) ? i : g;
      std::size_t& step = reduced(d) ? i_step : g_step;
      index += rest % sizes[d] * step;
      step *= sizes[d];
    }
    store(input, w.half, at, data.element(g, i, n));
    const double x = load(input, w.half, at);
    sum[g] += x;
    square[g] += x * x;
    if (g == 0) first[i] = x;
  }

  dmlref::MeanVarianceNormalization2Desc desc;
  desc.use_mean = w.use_mean;
  const dmlref::DataType type = w.half ? dmlref::DataType::float16 : dmlref::DataType::float32;
  desc.input = desc.output = dmlref::TensorDesc(type, sizes);
  desc.axes = w.shape.axes;
  desc.epsilon = epsilon;
  desc.fused_activation = w.activation;
  subject.output_bytes = count * bytes;
  subject.inputs.push_back(std::move(input));
  Memory scale, bias;
  if (w.parameters != Parameters::none) {
    const bool per_group = w.parameters == Parameters::per_group;
    Sizes of = sizes;
    for (std::size_t d = 0; d < rank; ++d) {
      if (reduced(d) == per_group) of[d] = 1;
    }
    desc.scale = desc.bias = dmlref::TensorDesc(type, of);
    const std::size_t k = per_group ? groups : n;
    scale = Memory(k * bytes);
    bias = Memory(k * bytes);
    for (std::size_t i = 0; i < k; ++i) {
      store(scale, w.half, i, data.scale != nullptr ? data.scale(i) : 0.5 + uniform(1, i));
      double b = uniform(2, i) - 0.5;
      const std::size_t g = per_group ? i : 0;
      const auto elements = static_cast<double>(n);
      const double mean = w.use_mean ? sum[g] / elements : 0;
      const double rate = 1 / std::sqrt(square[g] / elements - mean * mean + static_cast<double>(epsilon));
      const double x = per_group ? (data.cancels == Cancels::often ? 1.0 : data.element(g, n / 2, n)) : first[i];
      const bool here = data.cancels == Cancels::often || per_group || i == n / 2;
      if (data.cancels != Cancels::none && here) b = -load(scale, w.half, i) * (x - mean) * rate;
      store(bias, w.half, i, b);
    }
  }
  subject.inputs.push_back(std::move(scale));
  subject.inputs.push_back(std::move(bias));
  subject.desc = desc;
  return subject;
}

}  // namespace

void add_normalization_cliffs(std::vector<Cliff>& cliffs) {
  const Shape shapes[] = {
      {"rows {512,768}", {512, 768}, {1}},
      {"short rows {8192,48}", {8192, 48}, {1}},
      {"scattered rows {8,24,256,8}, axes {1,3}", {8, 24, 256, 8}, {1, 3}},
      {"batch {4,32,56,56}", {4, 32, 56, 56}, {0, 2, 3}},
      {"long {4,131072}", {4, 131072}, {1}},
      {"columns {1,128,128,64}", {1, 128, 128, 64}, {1, 2}},
      {"columns of one summation block {8,196,256}", {8, 196, 256}, {1}},
      {"few rows of columns {2,200000}", {2, 200000}, {0}},
      {"rows {3,40}", {3, 40}, {1}, true},
      {"columns {1,9,5,20}", {1, 9, 5, 20}, {1, 2}, true},
  };
  const auto at = static_cast<float>(unit);
  const std::pair<const char*, Activation> activations[] = {
      {"", {}},
      {", TANH", {ActivationType::tanh, {}}},
      {", THRESHOLDED_RELU", {ActivationType::thresholded_relu, {at, 0}}},
      {", SHRINK", {ActivationType::shrink, {0.25f, at}}},
  };
  const std::pair<const char*, Parameters> parameters[] = {{"", Parameters::none},
                                                           {", scale and bias of groups", Parameters::per_group},
                                                           {", scale and bias of elements", Parameters::per_element}};
  for (const Shape& shape : shapes) {
    for (const bool half : {false, true}) {
      for (const auto& [with, has] : parameters) {
        for (const auto& [text, activation] : activations) {
          for (const bool use_mean : {true, false}) {
            if (!use_mean && *text != 0) continue;
            const Workload w{shape, half,       use_mean,
                             has,   activation, shape.name + (half ? ", float16" : ", float32") + with + text};
            for (const DataSet& data : data_sets) {
              if (data.suits != nullptr && !data.suits(w)) continue;
              cliffs.push_back({use_mean ? "MVN1" : "RMS", w.name, data.name, [w, &data] { return make(w, data); },
                                [w] { return make(w, random_data); }, shape.tiny});
            }
          }
        }
      }
    }
  }
}

}  // namespace bench
