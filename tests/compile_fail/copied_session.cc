// expect: (deleted|implicitly-deleted)
// A session owns its position and its cache: two of it come from fork(), which says so.
#include "rill/session.h"

rill::Result<rill::Session> caller(const rill::Session& session) {
#ifdef RILL_MISUSE
  rill::Session copy = session;
  return copy;
#else
  return session.fork();
#endif
}
