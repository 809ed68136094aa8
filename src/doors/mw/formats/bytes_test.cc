#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <spate/bytes.h>

#include <chrono>
#include <cmath>
#include <complex>
#include <deque>
#include <filesystem>
#include <limits>
#include <list>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

// Types of others, which have no member for us.
namespace others {

struct Vec3 {
  float x = 0, y = 0, z = 0;
  friend bool operator==(const Vec3&, const Vec3&) = default;
};
template <class Archive>
void serialize(Archive& archive, Vec3& v) {
  archive(v.x, v.y, v.z);
}

// It shows what it has by functions alone, and looks like a container.
class Bag {
 public:
  using value_type = int;
  const int* begin() const { return values_.data(); }
  const int* end() const { return values_.data() + values_.size(); }
  size_t size() const { return values_.size(); }
  void clear() { values_.clear(); }
  void Put(int value) { values_.push_back(value); }
  friend bool operator==(const Bag&, const Bag&) = default;

 private:
  std::vector<int> values_;
};
template <class Archive>
void serialize(Archive& archive, Bag& bag) {
  std::vector<int> values(bag.begin(), bag.end());
  archive(values);
  if constexpr (Archive::reads) {
    bag.clear();
    for (int each : values) bag.Put(each);
  }
}

// A member goes first.
struct Both {
  int value = 0;
  friend bool operator==(const Both&, const Both&) = default;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(value);
  }
};
template <class Archive>
void serialize(Archive&, Both&) {
  throw std::logic_error("not this one");
}

}  // namespace others

namespace spate::mw {
namespace {

enum class Color : uint8_t { kRed, kBlue };

struct Point {
  double x = 0, y = 0;
  friend bool operator==(const Point&, const Point&) = default;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(x, y);
  }
};

struct Empty {
  friend bool operator==(const Empty&, const Empty&) = default;
  template <class Archive>
  void serialize(Archive&) {}
};

struct Tree {
  int32_t value = 0;
  std::vector<Tree> children;
  friend bool operator==(const Tree&, const Tree&) = default;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(value, children);
  }
};

struct Trial {
  std::string name;
  std::vector<Point> points;
  std::map<std::string, std::vector<std::optional<int16_t>>> notes;
  std::variant<std::monostate, int32_t, std::string, Point> what;
  std::array<bool, 3> flags = {};
  std::pair<Color, char> last;
  friend bool operator==(const Trial&, const Trial&) = default;
  template <class Archive>
  void serialize(Archive& archive) {
    archive(name, points, notes, what, flags, last);
  }
};

template <class T>
void Returns(const T& value) {
  const std::string bytes = encode(value);
  EXPECT_TRUE(decode<T>(bytes) == value) << describer().take();
  // A part of it is none, and neither is more.
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_THROW((void)decode<T>(std::string_view(bytes).substr(0, length)), error) << length;
  }
  EXPECT_THROW((void)decode<T>(bytes + '\0'), error);
}

template <class T>
std::string Words() {
  describer types;
  types.add<T>();
  return types.take();
}

TEST(BytesTest, NumbersReturn) {
  Returns(int8_t{-128});
  Returns(uint64_t{0xffffffffffffffff});
  Returns(std::numeric_limits<int64_t>::min());
  Returns('x');
  Returns(true);
  Returns(1.5f);
  Returns(-std::numeric_limits<double>::infinity());
  Returns(Color::kBlue);
  EXPECT_TRUE(std::isnan(decode<double>(encode(std::nan("")))));
}

TEST(BytesTest, ContainersReturn) {
  Returns(std::string("a\0b", 3));
  Returns(std::string());
  for (size_t size : {0u, 1u, 254u, 255u, 256u, 300u}) {
    Returns(std::string(size, 'x'));
    Returns(std::vector<uint16_t>(size, 7));
    Returns(std::vector<bool>(size, true));
  }
  Returns(std::vector<std::byte>{std::byte{1}, std::byte{255}});
  Returns(std::vector<std::vector<std::string>>{{}, {"a", ""}, {"b"}});
  Returns(std::deque<int>{1, 2, 3});
  Returns(std::list<std::string>{"x", "y"});
  Returns(std::set<int>{3, 1, 2});
  Returns(std::multiset<int>{1, 1, 2});
  Returns(std::unordered_set<std::string>{"a", "b"});
  Returns(std::map<int, std::map<std::string, double>>{{1, {{"a", 1.5}}}, {2, {}}});
  Returns(std::multimap<int, int>{{1, 1}, {1, 2}});
  Returns(std::unordered_map<std::string, std::vector<int>>{{"a", {1}}, {"b", {}}});
  Returns(std::u32string(U"\u00e9\u4e2d"));
}

TEST(BytesTest, ChoicesAndTuplesReturn) {
  Returns(std::optional<int>());
  Returns(std::optional<int>(7));
  Returns(std::optional<std::optional<std::string>>(std::optional<std::string>()));
  Returns(std::pair<int, std::string>(1, "x"));
  Returns(std::tuple<int, std::vector<int>, bool>(1, {2, 3}, false));
  Returns(std::array<std::string, 2>{"a", "b"});
  Returns(std::variant<int, std::string>("x"));
  Returns(std::variant<std::monostate, int>());
  Returns(std::vector<std::variant<int, bool>>{1, true, 2});
}

TEST(BytesTest, StructsReturn) {
  Returns(Point{1, -2});
  Returns(Empty{});
  Returns(std::vector<Empty>(3));
  Returns(std::vector<Point>{{1, 2}, {3, 4}});
  Returns(Tree{1, {{2, {}}, {3, {{4, {}}}}}});
  Returns(Trial{.name = "t",
                .points = {{1, 2}},
                .notes = {{"a", {1, std::nullopt}}, {"b", {}}},
                .what = Point{5, 6},
                .flags = {true, false, true},
                .last = {Color::kBlue, 'z'}});
}

TEST(BytesTest, TimesReturn) {
  using namespace std::chrono_literals;
  Returns(std::chrono::milliseconds(-7));
  Returns(std::chrono::duration<double, std::ratio<1, 3>>(2.5));
  Returns(std::chrono::hours::max());
  Returns(std::chrono::system_clock::time_point(1234567890123456789ns));
  Returns(std::chrono::sys_days(std::chrono::days(20000)));
  Returns(std::vector<std::chrono::seconds>{1s, 2s});
  Returns(std::optional<std::chrono::nanoseconds>(5ns));
}

TEST(BytesTest, ComplexNumbersAndPathsReturn) {
  Returns(std::complex<double>(1.5, -2));
  Returns(std::complex<float>(1, 2));
  Returns(std::vector<std::complex<double>>{{1, 2}, {3, 4}});
  Returns(std::map<int, std::complex<float>>{{1, {2, 3}}});
  Returns(std::filesystem::path("/a/b c"));
  Returns(std::filesystem::path(std::string("\xff\n")));
  Returns(std::vector<std::filesystem::path>{"a", "", "/"});
  // Encoded as numbers next to each other.
  EXPECT_EQ(encode(std::vector<std::complex<double>>(300)).size(), 1u + 8 + 300 * 16);
}

TEST(BytesTest, TypesOfOthersReturn) {
  Returns(others::Vec3{1, 2, 3});
  Returns(std::vector<others::Vec3>{{1, 2, 3}, {4, 5, 6}});
  others::Bag bag;
  for (int i = 0; i < 5; ++i) bag.Put(i);
  Returns(bag);
  Returns(std::map<std::string, others::Bag>{{"a", bag}, {"b", {}}});
  Returns(others::Both{7});
}

TEST(BytesTest, ValuesOfAnyContentReturn) {
  EXPECT_TRUE(rc::check("a map", [] {
    const auto value = *rc::gen::arbitrary<std::map<std::string, std::vector<int64_t>>>();
    RC_ASSERT(decode<std::decay_t<decltype(value)>>(encode(value)) == value);
  }));
  EXPECT_TRUE(rc::check("some values", [] {
    const auto value =
        *rc::gen::arbitrary<std::tuple<std::string, bool, std::vector<std::string>, uint16_t>>();
    RC_ASSERT(decode<std::decay_t<decltype(value)>>(encode(value)) == value);
  }));
}

// Input such as a hostile peer sends.
template <class T>
void TryToRead(std::string_view bytes) {
  try {
    const T value = decode<T>(bytes);
    (void)decode<T>(encode(value));
  } catch (const error&) {
  }
}

void TryAll(std::string_view bytes) {
  TryToRead<int32_t>(bytes);
  TryToRead<std::string>(bytes);
  TryToRead<std::vector<double>>(bytes);
  TryToRead<std::vector<bool>>(bytes);
  TryToRead<std::vector<Empty>>(bytes);
  TryToRead<std::vector<std::vector<std::vector<std::string>>>>(bytes);
  TryToRead<std::map<std::string, std::map<int, std::optional<std::string>>>>(bytes);
  TryToRead<std::variant<std::monostate, std::string, std::vector<Point>>>(bytes);
  TryToRead<std::set<std::tuple<bool, uint8_t>>>(bytes);
  TryToRead<Tree>(bytes);
  TryToRead<std::vector<std::pair<std::chrono::seconds, std::filesystem::path>>>(bytes);
  TryToRead<std::vector<std::complex<double>>>(bytes);
  TryToRead<std::vector<others::Bag>>(bytes);
  TryToRead<Trial>(bytes);
}

TEST(BytesTest, AnyBytesAreAValueOrRefused) {
  EXPECT_TRUE(rc::check("any bytes", [] { TryAll(*rc::gen::arbitrary<std::string>()); }));
  EXPECT_TRUE(rc::check("lengths mostly", [] {
    TryAll(*rc::gen::container<std::string>(
        rc::gen::element('\0', '\1', '\2', '\3', '\x20', '\x7f', '\xfe', '\xff')));
  }));
}

TEST(BytesTest, LengthsThatAreNotThereTakeNoMemory) {
  // Lengths up to 2^64 - 1, at each level: memory would not do for any.
  for (const uint64_t n : {uint64_t{1} << 32, uint64_t{1} << 60, ~uint64_t{0}}) {
    writer to;
    for (int i = 0; i < 3; ++i) to.length(n);
    const std::string bytes = to.take() + std::string(1000, '\xff');
    EXPECT_THROW((void)decode<std::string>(bytes), error);
    EXPECT_THROW((void)decode<std::vector<double>>(bytes), error);
    EXPECT_THROW((void)decode<std::vector<std::vector<int>>>(bytes), error);
    EXPECT_THROW((void)decode<std::vector<Empty>>(bytes), error);
    EXPECT_THROW((void)decode<std::vector<bool>>(bytes), error);
    EXPECT_THROW((void)decode<Trial>(bytes), error);
  }
}

// A type that holds its own kind could nest as deep as there are bytes.
TEST(BytesTest, TooDeepIsRefused) {
  std::string bytes;
  for (int i = 0; i < 2'000'000; ++i) bytes += std::string("\0\0\0\0\0\1", 6);
  EXPECT_THROW((void)decode<Tree>(bytes), error);
  Tree deep;
  for (int i = 0; i < 400; ++i) {
    Tree above;
    above.children.push_back(std::move(deep));
    deep = std::move(above);
  }
  EXPECT_TRUE(decode<Tree>(encode(deep)) == deep);
}

TEST(BytesTest, TextsOfTypes) {
  EXPECT_EQ(Words<int>(), "i32");
  EXPECT_EQ(Words<Color>(), "u8");
  EXPECT_EQ(Words<uint8_t>(), "u8");
  EXPECT_EQ(Words<bool>(), "bool");
  EXPECT_EQ(Words<double>(), "f64");
  EXPECT_EQ(Words<void>(), "void");
  EXPECT_EQ(Words<std::string>(), "str");
  EXPECT_EQ((Words<std::tuple<int, std::vector<std::string>>>()), "(i32,[str])");
  EXPECT_EQ((Words<std::map<std::string, int>>()), "[(str,i32)]");
  EXPECT_EQ((Words<std::optional<std::vector<bool>>>()), "maybe([bool])");
  EXPECT_EQ((Words<std::variant<std::monostate, int>>()), "one_of(none,i32)");
  EXPECT_EQ(Words<Point>(), "{(f64,f64)}");
  EXPECT_EQ(Words<std::tuple<>>(), "()");
  EXPECT_EQ((Words<std::tuple<int, std::complex<double>, int>>()), "(i32,(f64,f64),i32)");
  EXPECT_EQ((Words<std::pair<int, std::chrono::milliseconds>>()), "(i32,every(1/1000,i64))");
  EXPECT_EQ((Words<std::chrono::sys_seconds>()), "since(every(1/1,i64))");
  EXPECT_EQ((Words<std::pair<std::filesystem::path, int>>()), "(str,i32)");
  EXPECT_EQ(Words<others::Vec3>(), "{(f32,f32,f32)}");
  EXPECT_EQ(Words<others::Bag>(), "{([i32])}");
}

TEST(BytesTest, TypesWithTheSameBytesHaveTheSameText) {
  EXPECT_EQ(Words<std::vector<int>>(), Words<std::deque<int>>());
  EXPECT_EQ((Words<std::map<int, bool>>()), (Words<std::vector<std::pair<int, bool>>>()));
  EXPECT_EQ((Words<std::pair<int, int>>()), (Words<std::array<int, 2>>()));
  EXPECT_EQ(Words<long>(), Words<int64_t>());
}

TEST(BytesTest, TypesWithOtherBytesHaveAnotherText) {
  const std::set<std::string> all = {
      Words<int>(),
      Words<unsigned>(),
      Words<float>(),
      Words<std::vector<int>>(),
      Words<std::tuple<int>>(),
      Words<std::tuple<int, int>>(),
      Words<std::optional<int>>(),
      Words<std::variant<int>>(),
      Words<std::tuple<std::tuple<int>, int>>(),
      Words<std::tuple<std::tuple<int, int>>>(),
      Words<std::tuple<std::vector<int>, int>>(),
      Words<std::vector<std::tuple<int, int>>>(),
      Words<Point>(),
      Words<std::pair<double, double>>(),
      Words<std::string>(),
      Words<std::vector<std::string>>(),
      Words<Empty>(),
      Words<Trial>(),
      Words<Tree>(),
      Words<std::chrono::seconds>(),
      Words<std::chrono::milliseconds>(),
      Words<std::chrono::sys_seconds>(),
      Words<std::chrono::sys_time<std::chrono::milliseconds>>(),
  };
  EXPECT_EQ(all.size(), 23u);
}

}  // namespace
}  // namespace spate::mw
