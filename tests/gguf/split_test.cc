#include <gtest/gtest.h>

#include <optional>

#include "base/format.h"
#include "gguf/file.h"
#include "support/gguf_writer.h"
#include "support/temp_dir.h"

namespace rill::gguf {
namespace {

struct Part {
  std::optional<std::uint16_t> number;
  std::uint16_t count = 3;
  std::vector<std::string> tensors;
  std::int32_t total = 4;
};

std::vector<std::byte> write(const Part& part) {
  test::GgufWriter writer;
  if (part.number) writer.add("split.no", *part.number);
  writer.add("split.count", part.count).add("split.tensors.count", part.total);
  for (const std::string& name : part.tensors) {
    writer.add_tensor(name, ElementType::f32, {8}, std::vector<std::byte>(32, static_cast<std::byte>(name[0])));
  }
  return writer.finish();
}

class SplitTest : public testing::Test {
 protected:
  void SetUp() override {
    parts_ = {{.number = 0, .tensors = {"a", "b"}}, {.number = 1, .tensors = {"c"}}, {.number = 2, .tensors = {"d"}}};
  }

  std::filesystem::path name(int number) { return dir_.path() / rill::format("m-{:05}-of-00003.gguf", number); }

  Result<File> open() {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      dir_.write(name(static_cast<int>(i) + 1).filename(), write(parts_[i]));
    }
    return File::open(name(1));
  }

  void expect_error(ErrorCode code, std::string_view text) {
    const Result<File> file = open();
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().code, code) << file.error().message;
    EXPECT_NE(file.error().message.find(text), std::string::npos) << file.error().message;
  }

  test::TempDir dir_;
  std::vector<Part> parts_;
};

TEST_F(SplitTest, ReadsEachTensorFromItsFile) {
  const File file = open().value();
  ASSERT_EQ(file.tensors().size(), 4u);
  for (const TensorInfo& tensor : file.tensors()) {
    std::vector<std::byte> bytes(32);
    file.read(tensor, 0, bytes).value();
    EXPECT_EQ(bytes, std::vector<std::byte>(32, static_cast<std::byte>(tensor.name[0])));
  }
  EXPECT_EQ(file.find_tensor("d")->split, 2u);
  EXPECT_EQ(file.size(), write(parts_[0]).size() + write(parts_[1]).size() + write(parts_[2]).size());
}

TEST_F(SplitTest, OpensFromSourcesInOrder) {
  std::vector<ByteSourcePtr> sources;
  for (const Part& part : parts_) sources.push_back(own_buffer(write(part)).value());
  EXPECT_EQ(File::open(sources).value().tensors().size(), 4u);

  std::swap(sources[1], sources[2]);
  EXPECT_EQ(File::open(sources).error().code, ErrorCode::malformed);
  sources.pop_back();
  EXPECT_EQ(File::open(sources).error().code, ErrorCode::malformed);
  EXPECT_EQ(File::open(std::vector<ByteSourcePtr>{sources[0]}).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(File::open(std::vector<ByteSourcePtr>(4, sources[0])).error().code, ErrorCode::malformed);
}

TEST_F(SplitTest, RefusesMoreSourcesThanFiles) {
  const ByteSourcePtr whole = own_buffer(test::GgufWriter().add("general.architecture", "llama").finish()).value();
  EXPECT_EQ(File::open(std::vector<ByteSourcePtr>{whole, whole}).error().code, ErrorCode::invalid_argument);
}

TEST_F(SplitTest, NamesTheFileThatIsMissing) {
  parts_.pop_back();
  expect_error(ErrorCode::not_found, "m-00003-of-00003.gguf");
}

TEST_F(SplitTest, RefusesFilesThatDoNotBelongTogether) {
  parts_[1].number = 2;
  expect_error(ErrorCode::malformed, "it says that it is file 3 of 3, but stands where file 2 of 3");
  parts_[1].number = 1;
  parts_[2].count = 4;
  expect_error(ErrorCode::malformed, "it says that it is file 3 of 4, but stands where file 3 of 3");
  parts_[2].count = 3;
  parts_[2].tensors = {"a"};
  expect_error(ErrorCode::malformed, "tensor 'a' occurs twice");
  parts_[2].tensors = {"d", "e"};
  expect_error(ErrorCode::malformed, "split.tensors.count is 4, but the 3 files hold 5 tensors");
}

TEST_F(SplitTest, RefusesToStartInTheMiddle) {
  ASSERT_TRUE(open());
  const Result<File> file = File::open(name(2));
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, ErrorCode::invalid_argument);
  EXPECT_NE(file.error().message.find("file 2 of 3 of a split model: open the first"), std::string::npos);
}

TEST_F(SplitTest, RefusesHostileCounts) {
  parts_[0].count = 65535;
  expect_error(ErrorCode::limit_exceeded, "65535 split files pass the limit");
  parts_[0].count = 3;
  parts_[0].number.reset();
  expect_error(ErrorCode::not_found, "split.no");
}

TEST_F(SplitTest, RefusesANameThatDoesNotSayWhereTheOthersAre) {
  const auto path = dir_.write("renamed.gguf", write(parts_[0]));
  const Result<File> file = File::open(path);
  ASSERT_FALSE(file);
  EXPECT_NE(file.error().message.find("must end in -00001-of-00003.gguf"), std::string::npos) << file.error().message;
}

}  // namespace
}  // namespace rill::gguf
