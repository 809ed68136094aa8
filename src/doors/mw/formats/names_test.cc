#include "doors/mw/formats/names.h"

#include <gtest/gtest.h>

namespace spate::mw {
namespace {

using Names = std::vector<std::string>;

TEST(NamesTest, PiecesOfAResource) {
  EXPECT_EQ(ParsePieces("gpus=2"), (Pieces{"gpus", {"0", "1"}}));
  EXPECT_EQ(ParsePieces("disk-a.b=red,blue"), (Pieces{"disk-a.b", {"red", "blue"}}));
  EXPECT_EQ(ParsePieces("gpus=0,3"), (Pieces{"gpus", {"0", "3"}}));
  EXPECT_EQ(ParsePieces("x=4096")->names.size(), 4096u);
  for (const char* wrong : {"", "gpus", "gpus=", "=2", "gpus=0", "gpus=4097", "gpus=a,a", "gpus=,",
                            "gpus=a,", "2gpus=1", "g pus=1", "gpus=99999999999999999999"}) {
    EXPECT_FALSE(ParsePieces(wrong)) << wrong;
  }
}

TEST(NamesTest, Labels) {
  EXPECT_TRUE(IsLabel("avx512"));
  EXPECT_TRUE(IsLabel("os:linux"));
  for (const char* wrong : {"", "any", "@mw:x", "two words", "a,b"}) {
    EXPECT_FALSE(IsLabel(wrong)) << wrong;
  }
  EXPECT_FALSE(IsLabel(std::string(257, 'x')));
}

}  // namespace
}  // namespace spate::mw
