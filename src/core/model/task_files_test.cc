#include "core/model/task_files.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/model/limits.h"

namespace spate {
namespace {

TEST(TaskFiles, NamesStayBelowTheFolder) {
  for (const char* good : {"a", "a b", "in/a.txt", "./a", "a//b", "...", "..a/b..", "-x"}) {
    EXPECT_TRUE(CheckTaskFileName(good)) << good;
  }
  for (const char* bad :
       {"", "/", "/a", "..", "../a", "a/..", "a/../b", "a/", ".", "a/.", "./.."}) {
    EXPECT_FALSE(CheckTaskFileName(bad)) << bad;
  }
  EXPECT_FALSE(CheckTaskFileName(std::string_view("a\0b", 3)));
  EXPECT_FALSE(CheckTaskFileName(std::string(5000, 'a')));
}

TEST(TaskFiles, PiecesOfAContent) {
  EXPECT_EQ(PutPieces(0), 1u);
  EXPECT_EQ(PutPieces(1), 1u);
  EXPECT_EQ(PutPieces(kPutPieceBytes), 1u);
  EXPECT_EQ(PutPieces(kPutPieceBytes + 1), 2u);
}

// Every file as NAME MODE SIZE:BYTES.
struct Unpacked {
  std::vector<std::string> files;
  PackReader reader{{.begin = [this](const PackedFile& file) -> Status {
                       files.push_back(file.name + " " + std::to_string(file.mode) + " " +
                                       std::to_string(file.size) + ":");
                       return {};
                     },
                     .bytes = [this](std::string_view bytes) -> Status {
                       files.back() += bytes;
                       return {};
                     },
                     .end = [this]() -> Status {
                       files.back() += '.';
                       return {};
                     }}};
};

std::string PackOf(const std::vector<std::pair<PackedFile, std::string>>& files) {
  std::string pack;
  for (const auto& [file, bytes] : files) {
    AppendPackedFile(pack, file);
    pack += bytes;
  }
  return pack;
}

TEST(TaskFiles, PacksComeApartInAnyPieces) {
  std::string binary("\0\xff\n", 3);
  std::string pack = PackOf(
      {{{"out/a b", 0644, 3}, binary}, {{"empty", 0600, 0}, ""}, {{"run", 0755, 4}, "done"}});
  for (size_t step : {size_t{1}, size_t{7}, pack.size()}) {
    Unpacked unpacked;
    for (size_t at = 0; at < pack.size(); at += step) {
      ASSERT_TRUE(unpacked.reader.Feed(std::string_view(pack).substr(at, step)));
    }
    EXPECT_EQ(unpacked.files, (std::vector<std::string>{"out/a b 420 3:" + binary + ".",
                                                        "empty 384 0:.", "run 493 4:done."}));
    EXPECT_TRUE(unpacked.reader.whole());
  }
}

TEST(TaskFiles, DamagedPacksAreRefused) {
  EXPECT_FALSE(Unpacked().reader.Feed(PackOf({{{"../a", 0644, 0}, ""}})));
  EXPECT_FALSE(Unpacked().reader.Feed(PackOf({{{"../passwd", 0644, 0}, ""}})));
  EXPECT_FALSE(Unpacked().reader.Feed(PackOf({{{"a", 04755, 0}, ""}})));
  EXPECT_FALSE(Unpacked().reader.Feed(PackOf({{{"a", 0644, kLimits.file_bytes + 1}, ""}})));
  EXPECT_FALSE(Unpacked().reader.Feed("\xff\xff\xff\xff"));
  for (size_t cut : {size_t{1}, size_t{10}, size_t{17}}) {
    Unpacked unpacked;
    EXPECT_TRUE(unpacked.reader.Feed(PackOf({{{"a", 0644, 2}, "xy"}}).substr(0, cut)));
    EXPECT_FALSE(unpacked.reader.whole()) << cut;
  }
}

}  // namespace
}  // namespace spate
