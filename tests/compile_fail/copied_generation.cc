// expect: (deleted|implicitly-deleted)
#include <utility>

#include "rill/generation.h"

rill::Generation caller(rill::Generation& generation) {
#ifdef RILL_MISUSE
  return generation;
#else
  return std::move(generation);
#endif
}
