// expect: (deleted|implicitly-deleted)
#include <utility>

#include "rill/conversation.h"

rill::Conversation caller(rill::Conversation& conversation) {
#ifdef RILL_MISUSE
  return conversation;
#else
  return std::move(conversation);
#endif
}
