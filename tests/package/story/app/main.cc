#include <story.h>

int main() {
  const rill::Result<int> refused = story::chapters(-1);
  return !refused && refused.error().message == "invalid_argument" && story::chapters(2).value() == 2 ? 0 : 1;
}
