#include "core/model/fields.h"

#include <gtest/gtest.h>

#include <concepts>
#include <optional>
#include <string>
#include <vector>

namespace spate {
namespace {

struct Row {
  uint32_t id = 0;
  std::string text;
  SPATE_FIELDS(1, id, 2, text);
};
struct Policy {
  uint32_t tries = 2;
  SPATE_FIELDS(20, Named(tries, "retries"));
};
struct Nothing {
  SPATE_FIELDS();
};
// With each mark, a constructor, another order than that of the members, and more fields than the
// preprocessor takes in one scan.
struct Job {
  explicit Job(std::string given) : name(std::move(given)) {}
  std::string name;
  Policy policy;
  std::optional<Row> place;
  std::vector<Row> rows;
  int umask = -1;
  uint64_t secret = 0;
  mutable uint32_t cache = 0;
  bool a = true, b = true, c = true, d = true, e = true, f = true, g = true, h = true, i = true;
  SPATE_FIELDS(1, name, 0, Embed(policy), 2, Into(place), 3, Columns(rows),  // and 4
               5, OneMore(umask), 6, NotInJson(secret), 0, NoField(cache), 7, a, 8, b, 9, c, 10, d,
               11, e, 12, f, 13, g, 14, h, 16, i);
};

struct WithBounds {
  uint32_t slots = 0;
  std::vector<Row> rows;
  std::string text;
  uint32_t plain = 0;
  SPATE_FIELDS(1, Bound(slots, .least = 1, .most = 8), 2, Columns(rows, .sorted = true),  // and 3
               4, Named(text, "words", .must = true), 5, plain);
};

// "1 name=text", with the shape of what is more than a value.
struct Listed {
  std::vector<std::string>& lines;
  void Add(uint32_t number, std::string_view name, const std::string& value) {
    lines.push_back(std::to_string(number) + " " + std::string(name) + "=" + value);
  }
  void operator()(uint32_t number, std::string_view name, const std::string& value) {
    Add(number, name, value);
  }
  void operator()(uint32_t number, std::string_view name, const std::optional<Row>& value) {
    Add(number, name, value ? "row" : "none");
  }
  void operator()(uint32_t number, std::string_view name, std::integral auto value) {
    Add(number, name, std::to_string(value));
  }
  template <typename List>
  void operator()(uint32_t number, std::string_view name, Columns<List>&& columns) {
    Add(number, name, "columns of " + std::to_string(columns.rows.size()));
  }
  template <typename T>
  void operator()(uint32_t number, std::string_view name, OneMore<T>&& number_from) {
    Add(number, name, "one more than " + std::to_string(number_from.value));
  }
};
template <typename T>
std::vector<std::string> LinesOf(const T& value) {
  std::vector<std::string> lines;
  T::Fields(value, Listed{lines});
  return lines;
}

TEST(Fields, AreVisitedInTheOrderOfTheList) {
  Job job("sort");
  job.rows.resize(2);
  EXPECT_EQ(LinesOf(job), (std::vector<std::string>{
                              "1 name=sort", "20 retries=2", "2 *=none", "3 rows=columns of 2",
                              "5 umask=one more than -1", "6 =0", "7 a=1", "8 b=1", "9 c=1",
                              "10 d=1", "11 e=1", "12 f=1", "13 g=1", "14 h=1", "16 i=1"}));
  EXPECT_EQ(LinesOf(Nothing()), std::vector<std::string>());
}

struct BoundLines {
  std::vector<std::string>& lines;
  template <typename T>
  void operator()(uint32_t, std::string_view name, const T&, const Bounds& bounds) {
    const bool open = bounds.most == Bounds().most;
    lines.push_back(std::string(name) + " " + std::to_string(bounds.least) + " " +
                    (open ? "-" : std::to_string(bounds.most)) + (bounds.must ? " must" : "") +
                    (bounds.sorted ? " sorted" : ""));
  }
  template <typename T>
  void operator()(uint32_t, std::string_view name, const T&) {
    lines.push_back(std::string(name) + " without");
  }
};

TEST(Fields, TellTheirBoundsToThoseWhoTakeThem) {
  const std::string least = std::to_string(std::numeric_limits<int64_t>::min());
  std::vector<std::string> lines;
  const WithBounds value;
  WithBounds::Fields(value, BoundLines{lines});
  EXPECT_EQ(lines, (std::vector<std::string>{"slots 1 8", "rows " + least + " - sorted",
                                             "words " + least + " - must", "plain without"}));
  EXPECT_EQ(LinesOf(value), (std::vector<std::string>{"1 slots=0", "2 rows=columns of 0",
                                                      "4 words=", "5 plain=0"}));
}

TEST(Fields, AreSet) {
  Job job("sort");
  Job::Fields(job, []<typename T>(uint32_t, std::string_view, T&& value) {
    if constexpr (std::is_same_v<T, uint32_t&> || std::is_same_v<T, uint64_t&>) value = 7;
    if constexpr (std::is_same_v<T, OneMore<int>>) value.value = 18;
  });
  EXPECT_EQ(job.policy.tries, 7u);
  EXPECT_EQ(job.secret, 7u);
  EXPECT_EQ(job.umask, 18);
  EXPECT_EQ(job.cache, 0u);
}

TEST(Fields, NumbersDiffer) {
  using internal::AreDistinct;
  static_assert(AreDistinct({}) && AreDistinct({3, 1, 300}) && AreDistinct({0, 1, 0}));
  static_assert(!AreDistinct({1, 2, 1}));
}

static_assert(HasFields<Row> && HasFields<const Job> && HasFields<Nothing>);
static_assert(!HasFields<std::string>);

}  // namespace
}  // namespace spate
