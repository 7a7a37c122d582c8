// The JSON-Schema-Test-Suite, once for the validator and once as constrained decoding: a valid instance has to be in the
// grammar in some order of its properties, an invalid one in none.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <sstream>
#include <vector>

#include "base/error.h"
#include "grammar/json_schema_suite.h"
#include "rill/grammar.h"
#include "schema/validator.h"
#include "support/real_models.h"

namespace rill {
namespace {

namespace fs = std::filesystem;
using schema::JsonView;
using test::compact;
using test::kSuite;
using test::remotes;
using test::text_of;

struct Counts {
  int groups = 0, right = 0, refused = 0, false_accepts = 0, false_rejects = 0;
};

// Calls judge(schema text) for each group, which gives what judges an instance, or nothing if the schema is refused.
template <typename Judge>
std::map<std::string, Counts> run(const std::string& draft, Judge judge, std::string& wrong) {
  std::map<std::string, Counts> by_file;
  for (const auto& entry : fs::directory_iterator(kSuite / "tests" / draft)) {
    if (entry.path().extension() != ".json") continue;
    Counts& counts = by_file[entry.path().stem().string()];
    const auto file = schema::JsonDocument::parse(text_of(entry.path())).value();
    for (std::size_t g = 0; g < file.root().size(); ++g) {
      const JsonView group = file.root()[g];
      ++counts.groups;
      const auto name = [&] {
        return draft + "/" + entry.path().stem().string() + ": " + std::string(group.find("description")->text());
      };
      const auto judged = judge(compact(*group.find("schema")));
      if (!judged) {
        ++counts.refused;
        wrong += "refused " + name() + ": " + judged.error().message + "\n";
        continue;
      }
      bool right = true;
      const JsonView tests = *group.find("tests");
      for (std::size_t t = 0; t < tests.size(); ++t) {
        const bool valid = tests[t].find("valid")->truth();
        if ((*judged)(*tests[t].find("data")) == valid) continue;
        right = false;
        ++(valid ? counts.false_rejects : counts.false_accepts);
        wrong += (valid ? "false reject " : "false accept ") + name() + ": " +
                 std::string(tests[t].find("description")->text()) + ": " + compact(*tests[t].find("data")) + "\n";
      }
      counts.right += right ? 1 : 0;
    }
  }
  return by_file;
}

// What is known to be wrong, and meant: each line of `wrong` has to be of these.
void expect_known(const std::string& wrong) {
  constexpr std::string_view kKnown[] = {
      "/$dynamicRef", "/$recursiveRef",                                 // with several targets, refused
      "idn-hostname",                                                   // refused
      "is only an annotation by default",                               // formats are enforced here
      "custom metaschema with with no validation vocabulary",           // metaschemas are not read
      "ref overrides any sibling keywords",                             // siblings of $ref count here in every draft
  };
  std::istringstream lines(wrong);
  for (std::string line; std::getline(lines, line);) {
    const bool known = std::any_of(std::begin(kKnown), std::end(kKnown),
                                   [&](std::string_view phrase) { return line.find(phrase) != line.npos; });
    EXPECT_TRUE(known) << line;
  }
}

Counts total(const std::map<std::string, Counts>& by_file) {
  Counts sum;
  for (const auto& [file, counts] : by_file) {
    sum.groups += counts.groups, sum.right += counts.right, sum.refused += counts.refused;
    if (file != "format") sum.false_accepts += counts.false_accepts;
    sum.false_rejects += counts.false_rejects;
  }
  return sum;
}

std::map<std::string, std::string> cells(const std::map<std::string, Counts>& by_file) {
  std::map<std::string, std::string> cells;
  for (const auto& [file, counts] : by_file) cells[file] = std::to_string(counts.right) + "/" + std::to_string(counts.groups);
  return cells;
}

std::vector<std::string> cells_of_row(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream row(line.substr(std::min<std::size_t>(1, line.size())));
  for (std::string cell; std::getline(row, cell, '|');) {
    std::erase(cell, ' ');
    cells.push_back(cell);
  }
  return cells;
}

// What docs/grammar.md says of a draft, by file.
std::map<std::string, std::string> column_of(const std::string& draft) {
  std::istringstream document(text_of(fs::path(RILL_TEST_DATA_DIR).parent_path() / "docs" / "grammar.md"));
  std::map<std::string, std::string> column;
  std::size_t place = 0;  // of the draft in a row; 0: outside of the table
  for (std::string line; std::getline(document, line);) {
    const auto row = cells_of_row(line);
    if (line.starts_with("| file of the suite |")) {
      place = static_cast<std::size_t>(std::find(row.begin(), row.end(), draft.substr(5)) - row.begin());
    } else if (!line.starts_with("| ")) {
      place = line.starts_with("|---") ? place : 0;
    } else if (place != 0 && place < row.size() && !row[place].empty()) {
      column[row[0]] = row[place];
    }
  }
  return column;
}

using InstanceTest = std::function<bool(JsonView)>;

class JsonSchemaSuite : public testing::TestWithParam<std::pair<const char*, int>> {};

TEST_P(JsonSchemaSuite, ConstrainedDecodingHoldsIt) {
  RILL_REQUIRE_MODEL(folder, "json-schema-test-suite");
  const auto [draft, percent] = GetParam();
  const JsonGrammarOptions options{.property_order = PropertyOrder::any, .whitespace = JsonWhitespace::compact,
                                   .documents = remotes()};
  std::string wrong;
  const auto by_file = run(draft, [&](const std::string& text) -> Result<InstanceTest> {
    auto grammar = Grammar::json_schema(text, options);
    if (!grammar && grammar.error().code == ErrorCode::invalid_argument) return InstanceTest([](JsonView) { return false; });
    if (!grammar) return grammar.error();
    return InstanceTest([grammar = *grammar](JsonView instance) { return grammar.match(compact(instance)).value().matches; });
  }, wrong);
  const Counts sum = total(by_file);
  ASSERT_GT(sum.groups, 100);
  EXPECT_EQ(sum.false_accepts, 0) << wrong;
  EXPECT_GE(sum.right * 100, sum.groups * percent) << sum.right << " of " << sum.groups << "\n" << wrong;
  EXPECT_EQ(column_of(draft), cells(by_file)) << "the table in docs/grammar.md";
  expect_known(wrong);
}

TEST_P(JsonSchemaSuite, TheValidatorHoldsIt) {
  RILL_REQUIRE_MODEL(folder, "json-schema-test-suite");
  const auto documents = remotes();
  std::string wrong;
  const auto by_file = run(GetParam().first, [&](const std::string& text) -> Result<InstanceTest> {
    RILL_ASSIGN(const auto document, schema::SchemaDocument::parse(text, {.documents = documents}));
    RILL_ASSIGN(const auto validator, schema::Validator::create(document));
    if (!document->not_enforced().empty()) return make_error(ErrorCode::unsupported, "{}", document->not_enforced()[0].pointer);
    if (!validator->not_enforced().empty()) return make_error(ErrorCode::unsupported, "{}", validator->not_enforced()[0].pointer);
    return InstanceTest([validator](JsonView instance) { return validator->is_valid(schema::SchemaId{}, instance); });
  }, wrong);
  const Counts sum = total(by_file);
  EXPECT_EQ(sum.false_accepts, 0) << wrong;
  EXPECT_GE(sum.right * 100, sum.groups * GetParam().second) << sum.right << " of " << sum.groups << "\n" << wrong;
  expect_known(wrong);
}

INSTANTIATE_TEST_SUITE_P(Drafts, JsonSchemaSuite,
                         testing::Values(std::pair("draft4", 98), std::pair("draft6", 98), std::pair("draft7", 98),
                                         std::pair("draft2019-09", 97), std::pair("draft2020-12", 90)),
                         [](const auto& info) {
                           std::string name = info.param.first;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace rill
