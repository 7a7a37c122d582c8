// expect: (deleted|implicitly-deleted)
// Weights exist once; who wants to share them copies the pointer.
#include "rill/model.h"

std::shared_ptr<const rill::Model> caller(const std::shared_ptr<const rill::Model>& model) {
#ifdef RILL_MISUSE
  return std::make_shared<const rill::Model>(*model);
#else
  return model;
#endif
}
