// expect: (cannot bind|initial value of reference|rvalue)
// What a temporary Result holds is moved out of it; nothing may refer into the Result.
#include <string>

#include "rill/result.h"

rill::Result<std::string> fallible();

void caller() {
#ifdef RILL_MISUSE
  std::string& text = fallible().value();
#else
  std::string text = fallible().value();
#endif
  text.clear();
}
