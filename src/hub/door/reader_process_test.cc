#include "hub/door/reader_process.h"

#include <gtest/gtest.h>

#include "os/file.h"
#include "os/signals.h"
#include "os/temp_dir.h"

namespace spate::hub {
namespace {

const wire::QuestionRow* NoRows(uint32_t) { return nullptr; }

TEST(ReaderProcesses, KeepingIsAReaderOfItsOwnThatSaysWhenItHasEnded) {
  os::IgnoreSignal(os::kSignalPipe);
  os::TempDir temp;
  auto loop = std::move(*os::RealLoop::Create());
  const std::string told = temp.Path("told");
  ReaderProcesses readers(*loop, {"sh", "-c", "printf '%s ' \"$@\" > \"$0\"; exit 3", told, "DIR"},
                          NoRows);
  std::unique_ptr<JournalAnswer> work;
  bool ended = false;
  work = readers.StoreState(JobId(12), [&] {
    work = nullptr;
    ended = true;
    loop->Stop();
  });
  ASSERT_NE(work, nullptr);
  loop->Run();
  EXPECT_TRUE(ended);
  EXPECT_EQ(os::ReadFile(told, 100).value_or(""), "DIR 12 keep ");
}

// A process that is not wanted any more is ended, and says nothing.
TEST(ReaderProcesses, KeepingEndsWithItsOwner) {
  os::IgnoreSignal(os::kSignalPipe);
  auto loop = std::move(*os::RealLoop::Create());
  ReaderProcesses readers(*loop, {"sleep", "1000"}, NoRows);
  auto work = readers.StoreState(JobId(1), [] { FAIL(); });
  ASSERT_NE(work, nullptr);
  work = nullptr;
  ReaderProcesses none(*loop, {"/nothing/here"}, NoRows);
  bool failed = none.StoreState(JobId(1), [&] { loop->Stop(); }) == nullptr;
  EXPECT_TRUE(failed);
}

}  // namespace
}  // namespace spate::hub
