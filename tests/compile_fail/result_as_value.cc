// expect: (cannot convert|no viable conversion)
// A Result does not turn into its value, or into a number, by itself.
#include "rill/result.h"

rill::Result<int> fallible();

int caller() {
#ifdef RILL_MISUSE
  int value = fallible();
  return value;
#else
  return fallible().value();
#endif
}
