// expect: (conversion|could not convert|no matching)
// A stop token comes from a StopSource: a flag that nobody can set later is refused.
#include "rill/stop_token.h"

void work(rill::StopToken);

void caller() {
#ifdef RILL_MISUSE
  work(false);
#else
  rill::StopSource source;
  work(source.token());
#endif
}
