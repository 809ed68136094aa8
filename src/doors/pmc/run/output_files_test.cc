#include "doors/pmc/run/output_files.h"

#include <gtest/gtest.h>

#include "os/file.h"
#include "os/temp_dir.h"

namespace spate::pmc {
namespace {

class OutputFilesTest : public testing::Test {
 protected:
  Options With(const char* out, const char* err) const {
    Options options;
    options.dag = temp_.Path("d.dag");
    if (out != nullptr) options.out = temp_.Path(out);
    if (err != nullptr) options.err = temp_.Path(err);
    return options;
  }
  static TaskOutput Wrote(const std::string& out, const std::string& err) {
    TaskOutput output;
    output.out = {out, "", out.size()};
    output.err = {err, "", err.size()};
    return output;
  }
  std::string File(const std::string& name) const {
    return os::ReadFile(temp_.Path(name), SIZE_MAX).value_or("nothing");
  }
  os::TempDir temp_;
};

TEST_F(OutputFilesTest, MergedWithTheRecordBehindStdout) {
  temp_.Write("o", "old\n");
  auto files = OutputFiles::Open(With("o", "e"), /*goes_on=*/false);
  ASSERT_TRUE(files);
  EXPECT_TRUE(files->Write("A", Wrote("a\n", "ea\n"), "[A]\n"));
  EXPECT_TRUE(files->Write("B", Wrote("b\n", ""), "[B]\n"));
  EXPECT_EQ(File("o"), "a\n[A]\nb\n[B]\n");
  EXPECT_EQ(File("e"), "ea\n");
}

TEST_F(OutputFilesTest, OneFileMayBeBoth) {
  auto files = OutputFiles::Open(With("o", "o"), false);
  ASSERT_TRUE(files);
  EXPECT_TRUE(files->Write("A", Wrote("a\n", "ea\n"), "[A]\n"));
  EXPECT_EQ(File("o"), "a\nea\n[A]\n");
}

TEST_F(OutputFilesTest, WhatARunThatIsGoneOnWithWroteStays) {
  temp_.Write("o", "old\n");
  auto files = OutputFiles::Open(With("o", nullptr), /*goes_on=*/true);
  ASSERT_TRUE(files);
  EXPECT_TRUE(files->Write("A", Wrote("a\n", ""), "[A]\n"));
  EXPECT_EQ(File("o"), "old\na\n[A]\n");
}

TEST_F(OutputFilesTest, EachTryHasFilesOfItsOwn) {
  Options options = With(nullptr, nullptr);
  options.per_task_stdio = true;
  auto files = OutputFiles::Open(options, false);
  ASSERT_TRUE(files);
  EXPECT_TRUE(files->Write("A", Wrote("1", "e1"), "[A]\n"));
  EXPECT_TRUE(files->Write("A", Wrote("2", ""), "[A]\n"));
  EXPECT_TRUE(files->Write("x/y", Wrote("3", ""), "[x/y]\n"));
  EXPECT_EQ(File("A.out.000"), "1[A]\n");
  EXPECT_EQ(File("A.err.000"), "e1");
  EXPECT_EQ(File("A.out.001"), "2[A]\n");
  EXPECT_EQ(File("x_y.out.000"), "3[x/y]\n");
}

TEST_F(OutputFilesTest, FilesOfATryThatRunsAreReplacedWhole) {
  Options options = With(nullptr, nullptr);
  options.per_task_stdio = true;
  auto files = OutputFiles::Open(options, false);
  ASSERT_TRUE(files);
  EXPECT_TRUE(files->Write("A", Wrote("1", "e1"), "[A]\n"));
  EXPECT_EQ(files->LiveFile("A", 1), temp_.Path("A.out.001"));
  EXPECT_EQ(files->LiveFile("A", 2), temp_.Path("A.err.001"));
  temp_.Write("A.out.001", "a part of");
  EXPECT_TRUE(files->Write("A", Wrote("2", ""), "[A]\n"));
  EXPECT_EQ(File("A.out.001"), "2[A]\n");
  EXPECT_EQ(File("A.err.001"), "");
  EXPECT_TRUE(files->Write("A", Wrote("3", ""), "[A]\n"));
  EXPECT_EQ(File("A.out.002"), "3[A]\n");
  EXPECT_EQ(os::ListDir(temp_.path())->size(), 6u);
}

TEST_F(OutputFilesTest, FilesOfAnEarlierCrashAreTakenAndRemoved) {
  temp_.Write("d.dag.out.1", "one\n");
  temp_.Write("d.dag.out.2", "two\n");
  temp_.Write("d.dag.err.2", "err\n");
  temp_.Write("d.dag.out.3", "of another run\n");
  auto files = OutputFiles::Open(With("o", "e"), false);
  ASSERT_TRUE(files);
  EXPECT_TRUE(files->AdoptLeftovers(temp_.Path("d.dag"), 3));
  EXPECT_EQ(File("o"), "one\ntwo\n");
  EXPECT_EQ(File("e"), "err\n");
  EXPECT_EQ(File("d.dag.out.1"), "nothing");
  EXPECT_EQ(File("d.dag.out.3"), "of another run\n");
}

TEST_F(OutputFilesTest, AFolderThatIsNotThereIsToldAtTheStart) {
  EXPECT_FALSE(OutputFiles::Open(With("no/o", nullptr), false));
}

TEST_F(OutputFilesTest, AFullDiskIsTold) {
  Options options = With(nullptr, nullptr);
  options.out = "/dev/full";
  auto files = OutputFiles::Open(options, false);
  ASSERT_TRUE(files);
  EXPECT_FALSE(files->Write("A", Wrote("a\n", ""), "[A]\n"));
}

}  // namespace
}  // namespace spate::pmc
