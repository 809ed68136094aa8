#include "format/input_row.h"

#include <gtest/gtest.h>

namespace spate::format {
namespace {

TEST(InputRowTest, ThereAndBack) {
  const InputRow kRows[] = {
      {},
      {.offset = 1048576, .length = 20, .header = 3, .hash = UINT64_MAX, .file = "a b/c d"},
      {.offset = UINT64_MAX, .length = 1, .file = "/x"},
  };
  for (const InputRow& row : kRows) {
    auto back = ParseInputRow(EncodeInputRow(row));
    ASSERT_TRUE(back);
    EXPECT_EQ(*back, row);
  }
}

TEST(InputRowTest, RefusesDamage) {
  for (const char* text : {"", "1", "1 2 3", "1 2 3 4", "1 2 x 4 f", "-1 2 3 4 f", "1  2 3 4 f"}) {
    EXPECT_FALSE(ParseInputRow(text)) << text;
  }
}

}  // namespace
}  // namespace spate::format
