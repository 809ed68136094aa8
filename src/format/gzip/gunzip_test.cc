#include "format/gzip/gunzip.h"

#include <gtest/gtest.h>

#include <string>

namespace spate::format {
namespace {

// printf 'hello hello\n' | gzip -n9
constexpr std::string_view kHello(
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xcb\x48\xcd\xc9\xc9\x57\xc8\x00\x91\x5c\x00\xa5"
    "\x6a\x0a\x44\x0c\x00\x00\x00",
    29);

// nullopt: refused.
std::optional<std::string> Unzipped(std::string_view bytes, size_t piece) {
  std::string text;
  Gunzip gunzip([&](std::string_view some) -> Status {
    text += some;
    return {};
  });
  while (!bytes.empty()) {
    if (!gunzip.Feed(bytes.substr(0, piece))) return std::nullopt;
    bytes.remove_prefix(std::min(piece, bytes.size()));
  }
  return gunzip.Finish() ? std::optional(text) : std::nullopt;
}

TEST(Gunzip, WholeAndInPieces) {
  EXPECT_TRUE(IsGzip(kHello));
  EXPECT_FALSE(IsGzip("; MaxProcs"));
  const std::string twice = std::string(kHello) + std::string(kHello);
  for (size_t piece : {size_t{1}, size_t{5}, SIZE_MAX}) {
    EXPECT_EQ(Unzipped(kHello, piece), "hello hello\n");
    EXPECT_EQ(Unzipped(twice, piece), "hello hello\nhello hello\n");
  }
}

TEST(Gunzip, DamageIsRefused) {
  for (size_t size = 0; size < kHello.size(); ++size) {
    EXPECT_EQ(Unzipped(kHello.substr(0, size), SIZE_MAX), std::nullopt) << size;
  }
  std::string damaged(kHello);
  damaged[12] ^= 1;
  EXPECT_EQ(Unzipped(damaged, SIZE_MAX), std::nullopt);
  EXPECT_EQ(Unzipped(std::string(kHello) + "rubbish", SIZE_MAX), std::nullopt);
}

TEST(Gunzip, TheSinkMayStopIt) {
  Gunzip gunzip([](std::string_view) -> Status { return Fail(ErrorKind::kInvalid, "enough"); });
  auto fed = gunzip.Feed(kHello);
  ASSERT_FALSE(fed);
  EXPECT_EQ(fed.error().message, "enough");
}

}  // namespace
}  // namespace spate::format
