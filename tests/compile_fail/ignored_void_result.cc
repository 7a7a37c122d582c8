// expect: unused-result
#include "rill/result.h"

rill::Result<void> fallible();

void caller() {
#ifdef RILL_MISUSE
  fallible();
#else
  fallible().value();
#endif
}
