#include "view/terminal_screen.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/real_loop.h"
#include "view/testing_view.h"

namespace spate::cli {
namespace {

class TerminalScreenTest : public testing::Test {
 protected:
  TerminalScreenTest() : loop_(std::move(*os::RealLoop::Create())) {}
  int OpenFile(const std::string& name) {
    return ::open((folder_.path() + "/" + name).c_str(), O_CREAT | O_RDWR | O_APPEND | O_CLOEXEC,
                  0600);
  }
  void DrainAll(TerminalScreen& screen) {
    while (!screen.Drain(Duration::Millis(50))) {
      loop_->Post([this] { loop_->Stop(); });
      loop_->Run();
    }
  }
  TestFolder folder_;
  std::unique_ptr<os::RealLoop> loop_;
};

TEST_F(TerminalScreenTest, OneFileKeepsTheOrderOfBothStreams) {
  int fd = OpenFile("log");
  {
    TerminalScreen screen(*loop_, os::Environment(), {fd, fd}, nullptr);
    std::string long_bytes(300'000, 'x');
    std::string spool = folder_.Put("spool", long_bytes);
    screen.Write(Stream::kOut, "1\n");
    screen.Write(Stream::kErr, "2\n");
    screen.WriteFile(Stream::kOut, {spool, 10, 299'990, nullptr});
    screen.Write(Stream::kErr, "3\n");
    screen.Write(Stream::kOut, "4\n");
    DrainAll(screen);
    EXPECT_EQ(folder_.Get("log"), "1\n2\n" + long_bytes.substr(10) + "3\n4\n");
    EXPECT_EQ(screen.Backlog(), 0u);
    EXPECT_FALSE(screen.IsTerminal(Stream::kErr));
  }
  ::close(fd);
}

TEST_F(TerminalScreenTest, TwoFilesAreTwoStreams) {
  int out = OpenFile("out");
  int err = OpenFile("err");
  {
    TerminalScreen screen(*loop_, os::Environment(), {out, err}, nullptr);
    screen.Write(Stream::kOut, "o");
    screen.Write(Stream::kErr, "e");
    DrainAll(screen);
  }
  EXPECT_EQ(folder_.Get("out"), "o");
  EXPECT_EQ(folder_.Get("err"), "e");
  ::close(out);
  ::close(err);
}

TEST_F(TerminalScreenTest, MoreThanTheQueueHoldsComesInPieces) {
  int fds[2];
  ASSERT_EQ(::pipe2(fds, O_CLOEXEC), 0);
  std::string bytes(20 << 20, 'y');
  std::string spool = folder_.Put("spool", bytes);
  TerminalScreen screen(*loop_, os::Environment(), {fds[1], 2}, nullptr);
  screen.WriteFile(Stream::kOut, {spool, 0, bytes.size(), nullptr});
  screen.Write(Stream::kOut, "end");
  EXPECT_LT(screen.Backlog(), 10u << 20);  // the file is not in memory
  size_t got = 0;
  std::string last;
  ::fcntl(fds[0], F_SETFL, O_NONBLOCK);
  loop_->WatchRead(fds[0], [&] {
    char buffer[65536];
    ssize_t n = ::read(fds[0], buffer, sizeof buffer);
    if (n <= 0) return;
    got += static_cast<size_t>(n);
    last.assign(buffer, static_cast<size_t>(n));
    if (got == bytes.size() + 3) loop_->Stop();
  });
  loop_->Run();
  EXPECT_TRUE(last.ends_with("end"));
  EXPECT_TRUE(screen.Drain(Duration::Seconds(1)));
  loop_->Unwatch(fds[0]);
  ::close(fds[0]);
  ::close(fds[1]);
}

TEST_F(TerminalScreenTest, AGoneReaderIsReportedOnce) {
  int fds[2];
  ASSERT_EQ(::pipe2(fds, O_CLOEXEC), 0);
  ::close(fds[0]);
  int calls = 0;
  bool gone = false;
  TerminalScreen screen(*loop_, os::Environment(), {fds[1], 2},
                        [&](const Error&, bool reader_gone) {
                          ++calls;
                          gone = reader_gone;
                          loop_->Stop();
                        });
  screen.Write(Stream::kOut, "x");
  loop_->Run();
  screen.Write(Stream::kOut, "y");
  EXPECT_TRUE(screen.Drain(Duration::Millis(100)));
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(gone);
  ::close(fds[1]);
}

}  // namespace
}  // namespace spate::cli
