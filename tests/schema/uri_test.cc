#include "schema/uri.h"

#include <gtest/gtest.h>

namespace rill::schema {
namespace {

TEST(UriTest, ResolvesTheExamplesOfRfc3986) {
  const std::pair<std::string_view, std::string_view> examples[] = {  // section 5.4, those that schemas may hold
      {"g:h", "g:h"},
      {"g", "http://a/b/c/g"},
      {"./g", "http://a/b/c/g"},
      {"g/", "http://a/b/c/g/"},
      {"/g", "http://a/g"},
      {"//g", "http://g"},
      {"g?y", "http://a/b/c/g?y"},
      {"#s", "http://a/b/c/d;p#s"},
      {"g#s", "http://a/b/c/g#s"},
      {"", "http://a/b/c/d;p"},
      {".", "http://a/b/c/"},
      {"..", "http://a/b/"},
      {"../g", "http://a/b/g"},
      {"../../g", "http://a/g"},
      {"../../../g", "http://a/g"},
      {"./g/.", "http://a/b/c/g/"},
  };
  for (const auto& [reference, expected] : examples) EXPECT_EQ(resolve_uri("http://a/b/c/d;p", reference), expected) << reference;
  EXPECT_EQ(resolve_uri("", "#/a"), "#/a");
  EXPECT_EQ(resolve_uri("", "other.json#/a"), "other.json#/a");
  EXPECT_EQ(resolve_uri("urn:uuid:1", "#x"), "urn:uuid:1#x");
}

TEST(UriTest, EscapesOfPointersAndUris) {
  EXPECT_EQ(pointer_token("a/b~c"), "a~1b~0c");
  EXPECT_EQ(percent_decoded("a%25b%2fc%zz%4"), "a%b/c%zz%4");
}

}  // namespace
}  // namespace rill::schema
