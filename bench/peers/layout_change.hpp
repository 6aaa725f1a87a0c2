// layout_change.hpp: NCHW to NHWC and back for peers that know NHWC alone.
#pragma once

#include <cstddef>
#include <functional>

namespace bench {

/// Bytes from NCHW to NHWC (to_nhwc) or back, each call the whole tensor, by oneDNN's reorder: the fastest that a user
/// has at hand. Null where oneDNN was not built in.
std::function<void()> change_layout(const void* from, void* to, std::size_t n, std::size_t c, std::size_t h,
                                    std::size_t w, bool to_nhwc, unsigned threads);

}  // namespace bench
