// expect: unused-result
// How an answer ended, an error included, is what result() says.
#include "rill/generation.h"

void caller(rill::Generation& generation) {
#ifdef RILL_MISUSE
  generation.result();
#else
  generation.result().value();
#endif
}
