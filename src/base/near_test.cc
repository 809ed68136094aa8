#include "base/near.h"

#include <gtest/gtest.h>

#include <vector>

namespace spate {
namespace {

TEST(EditDistance, CountsInsertionsDeletionsReplacementsAndSwaps) {
  struct Case {
    std::string_view a, b;
    size_t distance;
  };
  for (const Case& c : std::vector<Case>{{"", "", 0},
                                         {"a", "", 1},
                                         {"", "ab", 2},
                                         {"retries", "retries", 0},
                                         {"retires", "retries", 1},
                                         {"memroy", "memory", 1},
                                         {"memry", "memory", 1},
                                         {"memoryy", "memory", 1},
                                         {"kitten", "sitting", 3},
                                         {"abc", "xyz", 3}}) {
    EXPECT_EQ(EditDistance(c.a, c.b, 100), c.distance) << c.a << " " << c.b;
    EXPECT_EQ(EditDistance(c.b, c.a, 100), c.distance) << c.b << " " << c.a;
    EXPECT_EQ(EditDistance(c.a, c.b, 2), std::min<size_t>(c.distance, 2)) << c.a << " " << c.b;
  }
}

TEST(Nearest, NamesWhatWasMeantOrNothing) {
  const std::vector<std::string_view> names = {
      "--jobs", "--memory", "--min-free-memory", "--retries", "-j", "all", "last"};
  struct Case {
    std::string_view word, near;
  };
  for (const Case& c : std::vector<Case>{{"--memroy", "--memory"},
                                         {"--Memory", "--memory"},
                                         {"--retry", "--retries"},
                                         {"--min-free-mem", "--min-free-memory"},
                                         {"lsat", "last"},
                                         {"al", "all"},
                                         {"--frobnicate", ""},
                                         {"", ""},
                                         {"x", ""},
                                         {"zzz", ""}}) {
    EXPECT_EQ(Nearest(c.word, names).value_or(""), c.near) << c.word;
  }
  EXPECT_EQ(Nearest(std::string(1000, 'a'), names), std::nullopt);
  EXPECT_EQ(DidYouMean("lsat", names), "; did you mean last?");
  EXPECT_EQ(DidYouMean("zzz", names), "");
}

}  // namespace
}  // namespace spate
