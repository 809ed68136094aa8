#include "core/model/name.h"

#include <gtest/gtest.h>

namespace spate {
namespace {

TEST(Names, AreWordsOfAnyShellAndOfAnyFolder) {
  for (const char* good : {"n1", "1", "N", "a.b-c_d", "pc7.example.org", "a-", "gpu"}) {
    EXPECT_EQ(ReadName(good, "node name").value_or(""), good);
  }
  for (const char* bad : {"",
                          ".",
                          "..",
                          ".a",
                          "-a",
                          "_a",
                          "a b",
                          "a/b",
                          "a\\b",
                          "a$b",
                          "a`b",
                          "a\nb",
                          "a'b",
                          "a\"b",
                          "a;b",
                          "a&b",
                          "a|b",
                          "a(b",
                          "a{b",
                          "a[b",
                          "a*b",
                          "a?b",
                          "a~b",
                          "a!b",
                          "a#b",
                          "a=b",
                          "a,b",
                          "a:b",
                          "a@b",
                          "a%b",
                          "a+b",
                          "a<b",
                          "a>b",
                          "a\x7f"
                          "b",
                          "\xc3\xa9",
                          "evil$(touch${IFS}/x)x"}) {
    EXPECT_FALSE(ReadName(bad, "node name")) << bad;
  }
  EXPECT_TRUE(ReadName(std::string(255, 'a'), "node name"));
  EXPECT_FALSE(ReadName(std::string(256, 'a'), "node name"));
  EXPECT_EQ(ReadName("a\tb", "node name").error().message,
            "'a\\tb' is not a valid node name; write a letter or digit, then letters, digits or "
            "any of ._- "
            "(at most 255)");
}

TEST(Names, LabelsMayHaveColons) {
  EXPECT_TRUE(ReadName("pool:lab", "label", kAlsoInLabels));
  EXPECT_FALSE(ReadName(":lab", "label", kAlsoInLabels));
  EXPECT_FALSE(ReadName("a=b", "label", kAlsoInLabels));
}

TEST(Names, PoolsHaveStricterOnes) {
  for (const char* good : {"a", "lab", "Lab_2-x"}) EXPECT_TRUE(CheckPoolName(good)) << good;
  for (const char* bad : {"", "2lab", "-lab", "_lab", "a b", "a.b", "lab:x", "a/b"}) {
    EXPECT_FALSE(CheckPoolName(bad)) << bad;
  }
  EXPECT_TRUE(CheckPoolName(std::string(kPoolNameBytes, 'a')));
  EXPECT_FALSE(CheckPoolName(std::string(kPoolNameBytes + 1, 'a')));
}

}  // namespace
}  // namespace spate
