#include "base/bytes32.h"

#include <gtest/gtest.h>

namespace spate {
namespace {

TEST(Bytes32, HexAndBack) {
  Bytes32 bytes{};
  bytes[0] = 0x0f;
  bytes[31] = 0xa9;
  std::string text = "0f" + std::string(60, '0') + "a9";
  EXPECT_EQ(ToHex(bytes), text);
  EXPECT_EQ(Bytes32FromHex(text), bytes);
  EXPECT_EQ(Bytes32FromHex("0F" + std::string(60, '0') + "A9"), bytes);
}

TEST(Bytes32, WrongTexts) {
  std::string good(64, 'a');
  for (const std::string& bad : {std::string(), good.substr(1), good + "a", "g" + good.substr(1),
                                 good.substr(1) + " ", good.substr(1) + std::string(1, '\0')}) {
    EXPECT_FALSE(Bytes32FromHex(bad)) << bad;
  }
}

}  // namespace
}  // namespace spate
