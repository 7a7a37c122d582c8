// A model file whose matrices are stored as F32: the exact values of another file's quantised ones, decoded while they are read.
#pragma once

#include "rill/byte_source.h"

namespace rill::test {

// Throws ErrorException if `original` is no model file.
ByteSourcePtr f32_copy(ByteSourcePtr original);

}  // namespace rill::test
