// expect: unused-result
#include "rill/session.h"

void caller(rill::Session& session, rill::Token token) {
#ifdef RILL_MISUSE
  session.feed(token);
#else
  session.feed(token).value();
#endif
}
