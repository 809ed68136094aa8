#include "submit/row_file.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "os/file.h"
#include "os/temp_dir.h"

namespace spate::submit {
namespace {

TEST(RowFileTest, HasEachRowAgain) {
  std::vector<std::string> rows;
  for (int i = 0; i < 200; ++i) rows.push_back(std::string(static_cast<size_t>(i % 7), 'a') + '\0');
  rows.emplace_back(1'000'000, 'x');  // longer than what is written at once
  rows.emplace_back();
  os::TempDir dir;
  RowFile file;
  auto source = [&](const cli::RowVisitor& visit) {
    for (const std::string& row : rows) visit(row);
  };
  ASSERT_TRUE(file.Write(source, dir.Path("rows")));
  EXPECT_FALSE(os::Exists(dir.Path("rows")));
  for (TaskIndex i = 0; i < rows.size(); ++i) EXPECT_EQ(file.Row(i), rows[i]) << i;
  EXPECT_EQ(file.Row(static_cast<TaskIndex>(rows.size())), std::nullopt);
}

TEST(RowFileTest, MayBeEmpty) {
  os::TempDir dir;
  RowFile file;
  ASSERT_TRUE(file.Write([](const cli::RowVisitor&) {}, dir.Path("rows")));
  EXPECT_EQ(file.Row(0), std::nullopt);
}

TEST(RowFileTest, TellsWhereNothingCanBeWritten) {
  RowFile file;
  EXPECT_FALSE(file.Write([](const cli::RowVisitor&) {}, "/no-such-folder/rows"));
}

}  // namespace
}  // namespace spate::submit
