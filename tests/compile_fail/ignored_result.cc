// expect: unused-result
#include "rill/result.h"

rill::Result<int> fallible();

void caller() {
#ifdef RILL_MISUSE
  fallible();
#else
  (void)fallible().has_value();
#endif
}
