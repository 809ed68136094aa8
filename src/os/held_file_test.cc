#include "os/held_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <optional>
#include <utility>

#include "os/file.h"
#include "os/temp_dir.h"

namespace spate::os {
namespace {

std::string TextAt(const std::string& path) { return ReadFile(path, 100).value_or("none"); }

TEST(HeldFile, IsWrittenByOneAtATime) {
  TempDir dir;
  const std::string path = dir.Path("file");
  auto first = HeldFile::Hold(path);
  ASSERT_TRUE(first);
  EXPECT_FALSE(Exists(path)) << "nobody may see it empty";
  for (const char* text : {"one", "two"}) {
    ASSERT_TRUE(first->Write(text, 0600));
    EXPECT_EQ(TextAt(path), text);
    auto second = HeldFile::Hold(path);
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().kind, ErrorKind::kBusy);
  }
  EXPECT_EQ(Stat(path)->permissions, 0600u);
  EXPECT_EQ(ListDir(DirName(path))->size(), 1u) << "nothing else is left there";
  first->Release();
  auto second = HeldFile::Hold(path);
  ASSERT_TRUE(second);
  EXPECT_EQ(TextAt(path), "two") << "it stays until it is written";
  ASSERT_TRUE(second->Write("three", 0600));
  EXPECT_FALSE(first->Write("four", 0600));
  EXPECT_EQ(TextAt(path), "three");
}

TEST(HeldFile, OfTwoThatMakeItOneWins) {
  TempDir dir;
  auto first = HeldFile::Hold(dir.Path("file"));
  auto second = HeldFile::Hold(dir.Path("file"));
  ASSERT_TRUE(first && second);
  ASSERT_TRUE(second->Write("second", 0600));
  auto late = first->Write("first", 0600);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().kind, ErrorKind::kBusy);
  EXPECT_EQ(TextAt(dir.Path("file")), "second");
  EXPECT_EQ(ListDir(DirName(dir.Path("file")))->size(), 1u);
}

TEST(HeldFile, ComesBackWhenItWasRemoved) {
  TempDir dir;
  const std::string path = dir.Path("file");
  auto file = HeldFile::Hold(path);
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->Write("one", 0600));
  ASSERT_TRUE(RemoveFile(path));
  ASSERT_TRUE(file->Write("two", 0600));
  EXPECT_EQ(TextAt(path), "two");
  EXPECT_FALSE(HeldFile::Hold(path));
}

TEST(HeldFile, IsFreeWhenItsProcessHasEnded) {
  TempDir dir;
  const std::string path = dir.Path("file");
  std::optional<HeldFile> file = std::move(*HeldFile::Hold(path));
  ASSERT_TRUE(file->Write("one", 0600));
  file.reset();
  EXPECT_TRUE(HeldFile::Hold(path));
}

TEST(HeldFile, CannotBeWhereNothingCanBeWritten) {
  TempDir dir;
  auto file = HeldFile::Hold(dir.Path("no/such/folder"));
  ASSERT_TRUE(file);
  EXPECT_FALSE(file->Write("text", 0600));
  auto folder = HeldFile::Hold(DirName(dir.Path("x")));
  ASSERT_TRUE(folder);
  EXPECT_FALSE(folder->Write("text", 0600));
}

}  // namespace
}  // namespace spate::os
