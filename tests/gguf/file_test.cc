#include "gguf/file.h"

#include <gtest/gtest.h>

#include "support/gguf_writer.h"
#include "support/real_models.h"
#include "tensor/dequantize.h"

namespace rill::gguf {
namespace {

TEST(GgufFileTest, ReadsSmolLm2) {
  RILL_REQUIRE_MODEL(path, "SmolLM2-135M-Instruct.Q4_1.gguf");
  const File file = File::open(path).value();
  EXPECT_EQ(file.version(), 3u);
  EXPECT_EQ(file.tensors().size(), 272u);
  EXPECT_EQ(file.metadata().get<std::string_view>("general.architecture").value(), "llama");
  EXPECT_EQ(file.metadata().get<std::uint32_t>("llama.block_count").value(), 30u);
  const StringArray& tokens = *file.metadata().get_strings("tokenizer.ggml.tokens").value();
  ASSERT_EQ(tokens.size(), 49152u);
  EXPECT_EQ(tokens[1], "<|im_start|>");
  const TensorInfo& embedding = *file.require_tensor("token_embd.weight").value();
  EXPECT_EQ(embedding.type, ElementType::q8_0);
  EXPECT_EQ(embedding.offset, 1785664u);
  EXPECT_EQ(embedding.bytes, 30081024u);
  EXPECT_EQ(embedding.rows(), 49152u);
  EXPECT_EQ(embedding.cols(), 576u);
}

}  // namespace
}  // namespace rill::gguf
