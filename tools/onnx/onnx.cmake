# `dmlref import`, where Debian's libonnx-dev and libprotobuf-dev are; elsewhere the command says that they were missing.
if(NOT CMAKE_CROSSCOMPILING)
  find_package(Protobuf QUIET)
  find_package(ONNX QUIET)
endif()
if(TARGET onnx_proto AND TARGET protobuf::libprotobuf)
  set(onnx_sources
    activation.cpp
    context.cpp
    external_data.cpp
    convolution.cpp
    quantize_linear.cpp
    graph.cpp
    import.cpp
    lowering.cpp
    matrix_multiply.cpp
    normalization.cpp
    operators.cpp
    program.cpp
    reader.cpp
    slice.cpp
    views.cpp
    wire.cpp)
  target_link_libraries(dmlref-tool PRIVATE onnx_proto)
else()
  message(STATUS "dmlref import is left out: libonnx-dev or libprotobuf-dev is missing")
  set(onnx_sources without_onnx.cpp)
endif()
list(TRANSFORM onnx_sources PREPEND onnx/)
target_sources(dmlref-tool PRIVATE ${onnx_sources})
