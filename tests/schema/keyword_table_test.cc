// docs/grammar.md has a row for each keyword that says something about what is valid, and for no other.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <string>

#include "schema/schema_parser.h"

namespace rill::schema {
namespace {

// The names in backquotes, in the first column of the table.
std::set<std::string> keywords_of_table() {
  std::ifstream document(RILL_TEST_DATA_DIR "/../docs/grammar.md");
  std::set<std::string> names;
  bool inside = false;
  for (std::string line; std::getline(document, line);) {
    if (line == "| keywords | enforced |") inside = true;
    if (!inside) continue;
    if (!line.starts_with('|')) break;
    const std::string column = line.substr(1, line.find('|', 1) - 1);
    for (std::size_t begin = column.find('`'); begin != column.npos; begin = column.find('`', begin + 1)) {
      const std::size_t end = column.find('`', begin + 1);
      names.insert(column.substr(begin + 1, end - begin - 1));
      begin = end;
    }
  }
  return names;
}

TEST(KeywordTable, HasAllThatAreReadAndNoOther) {
  const std::set<std::string> table = keywords_of_table();
  std::set<std::string> known;
  for (const SchemaParser::Keyword& keyword : SchemaParser::keywords()) {
    known.emplace(keyword.name);
    if (keyword.read == nullptr) continue;
    EXPECT_TRUE(table.contains(std::string(keyword.name))) << keyword.name;
  }
  for (const std::string& name : table) EXPECT_TRUE(known.contains(name)) << name;
  EXPECT_GT(table.size(), 40u);
}

}  // namespace
}  // namespace rill::schema
