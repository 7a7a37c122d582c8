#pragma once

#include <rill/result.h>

namespace story {

rill::Result<int> chapters(int wanted);

}  // namespace story
