// expect: (const|discards qualifiers|no viable)
// A loaded model is immutable: nobody who holds it can change what others see.
#include "rill/model.h"

#include <memory>

void caller(std::shared_ptr<const rill::Model> model) {
#ifdef RILL_MISUSE
  std::shared_ptr<rill::Model> writable = model;
#else
  std::shared_ptr<const rill::Model> shared = model;
#endif
}
