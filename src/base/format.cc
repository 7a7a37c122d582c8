#define FMT_HEADER_ONLY 1
#include "base/format.h"

#include <fmt/format.h>

namespace rill {

std::string format_arguments(fmt::string_view format, fmt::format_args arguments) {
  return fmt::vformat(format, arguments);
}

}  // namespace rill
