// What any user of the package does: link, call, and catch an exception that crosses the library's boundary.
#include <rill/result.h>
#include <rill/version.h>

#include <cstring>

int main() {
  const long wide = static_cast<long>(std::strlen(rill::to_string(rill::ErrorCode::io)));
  const short narrow = wide;  // refused by -Wconversion, which must not leak out of rill
  if (narrow != 2) return 1;
#if defined(RILL_EXPECT_VERSION)
  if (std::strcmp(rill::version(), RILL_EXPECT_VERSION) != 0) return 4;
#endif
  try {
    rill::Result<int>(rill::Error{rill::ErrorCode::io, "expected"}).value();
  } catch (const rill::ErrorException& exception) {
    return std::strcmp(exception.what(), "io: expected") == 0 ? 0 : 2;
  }
  return 3;
}
