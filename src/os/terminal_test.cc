#include "os/terminal.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <thread>

#include "os/fd.h"
#include "os/file.h"
#include "os/real_loop.h"
#include "os/signals.h"
#include "os/temp_dir.h"

namespace spate::os {
namespace {

Fd MakeTerminal(Fd* master) {
  master->Reset(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  EXPECT_EQ(grantpt(master->get()), 0);
  EXPECT_EQ(unlockpt(master->get()), 0);
  return Fd(open(ptsname(master->get()), O_RDWR | O_NOCTTY | O_CLOEXEC));
}

TEST(Terminal, Facts) {
  Fd master;
  Fd terminal = MakeTerminal(&master);
  Pipe pipe = MakePipe().value();
  struct Row {
    bool on_terminal;
    std::vector<std::string> environment;
    bool may_colour, may_move, is_utf8;
  };
  const Row kRows[] = {
      {true, {"TERM=xterm"}, true, true, false},
      {true, {"TERM=xterm", "NO_COLOR=1", "LANG=de_DE.UTF-8"}, false, true, true},
      {true, {"TERM=xterm", "NO_COLOR=", "LC_ALL=C", "LANG=en_US.utf8"}, true, true, false},
      {true, {"TERM=dumb"}, false, false, false},
      {true, {}, false, false, false},
      {false, {"TERM=xterm", "LC_CTYPE=en_US.utf8"}, false, false, true},
  };
  for (const Row& row : kRows) {
    int fd = row.on_terminal ? terminal.get() : pipe.write.get();
    TerminalFacts facts = LookAtTerminal(fd, Environment(row.environment));
    EXPECT_EQ(facts.is_terminal, row.on_terminal);
    EXPECT_EQ(facts.may_colour, row.may_colour);
    EXPECT_EQ(facts.may_move, row.may_move);
    EXPECT_EQ(facts.is_utf8, row.is_utf8);
  }
  EXPECT_FALSE(IsForeground(terminal.get()));
}

TEST(Terminal, Width) {
  Fd master;
  Fd terminal = MakeTerminal(&master);
  winsize size = {.ws_row = 24, .ws_col = 132, .ws_xpixel = 0, .ws_ypixel = 0};
  ASSERT_EQ(ioctl(master.get(), TIOCSWINSZ, &size), 0);
  EXPECT_EQ(TerminalWidth(terminal.get(), Environment({"COLUMNS=40"})), 132u);
  Pipe pipe = MakePipe().value();
  EXPECT_EQ(TerminalWidth(pipe.write.get(), Environment({"COLUMNS=40"})), 40u);
  EXPECT_EQ(TerminalWidth(pipe.write.get(), Environment({"COLUMNS=x"})), 80u);
  EXPECT_EQ(TerminalWidth(pipe.write.get(), Environment()), 80u);
}

TEST(Terminal, PrintWidth) {
  Fd master;
  Fd terminal = MakeTerminal(&master);
  EXPECT_EQ(PrintWidth(terminal.get(), Environment()), 80u);  // a terminal that does not know
  winsize size = {.ws_row = 24, .ws_col = 132, .ws_xpixel = 0, .ws_ypixel = 0};
  ASSERT_EQ(ioctl(master.get(), TIOCSWINSZ, &size), 0);
  Pipe pipe = MakePipe().value();
  struct Row {
    int fd;
    std::vector<std::string> environment;
    std::optional<uint32_t> width;
  };
  const Row kRows[] = {{terminal.get(), {}, 132},
                       {terminal.get(), {"COLUMNS=60"}, 60},
                       {terminal.get(), {"COLUMNS=x"}, 132},
                       {terminal.get(), {"COLUMNS=3"}, 40},
                       {pipe.write.get(), {}, std::nullopt},
                       {pipe.write.get(), {"COLUMNS=0"}, std::nullopt},
                       {pipe.write.get(), {"COLUMNS=200"}, 200}};
  for (const Row& row : kRows) {
    EXPECT_EQ(PrintWidth(row.fd, Environment(row.environment)), row.width);
  }
}

TEST(Terminal, Height) {
  Fd master;
  Fd terminal = MakeTerminal(&master);
  EXPECT_EQ(TerminalHeight(terminal.get()), 24u);
  winsize size{.ws_row = 7, .ws_col = 30, .ws_xpixel = 0, .ws_ypixel = 0};
  ASSERT_EQ(ioctl(master.get(), TIOCSWINSZ, &size), 0);
  EXPECT_EQ(TerminalHeight(terminal.get()), 7u);
}

TEST(Terminal, KeysComeAtOnceAndModesComeBack) {
  Fd master;
  Fd terminal = MakeTerminal(&master);
  termios before{}, after{};
  ASSERT_EQ(tcgetattr(terminal.get(), &before), 0);
  {
    auto keys = KeyTerminal::Enter(terminal.get());
    ASSERT_TRUE(keys);
    KeyTerminal moved = std::move(*keys);
    ASSERT_EQ(write(master.get(), "q\x03", 2), 2);
    char got[8];
    EXPECT_EQ(read(terminal.get(), got, sizeof got), 2);  // without a line's end
    ASSERT_EQ(write(master.get(), "x", 1), 1);
  }
  ASSERT_EQ(tcgetattr(terminal.get(), &after), 0);
  EXPECT_EQ(after.c_lflag, before.c_lflag);
  EXPECT_EQ(after.c_iflag, before.c_iflag);
  Pipe pipe = MakePipe().value();
  EXPECT_FALSE(KeyTerminal::Enter(pipe.read.get()));
}

class OutputThreadTest : public ::testing::Test {
 protected:
  OutputThreadTest() : loop_(std::move(RealLoop::Create().value())), pipe_(MakePipe().value()) {}
  void RunGuarded() {
    TimerId guard = loop_->At(loop_->Now() + Duration::Seconds(20), [this] {
      ADD_FAILURE() << "the awaited call did not come";
      loop_->Stop();
    });
    loop_->Run();
    loop_->Cancel(guard);
  }
  std::unique_ptr<RealLoop> loop_;
  Pipe pipe_;
};

TEST_F(OutputThreadTest, KeepsOrderOfManyWrites) {
  std::string expected;
  std::string got;
  std::thread reader([&] { got = ReadToEnd(pipe_.read.get(), 64 << 20, "pipe").value(); });
  {
    OutputThread out(*loop_, pipe_.write.get(), {.name = "a pipe"});
    for (int i = 0; i < 20000; ++i) {
      std::string line = std::to_string(i) + "\n";
      if (i % 1000 == 0) line += std::string(100000, 'x');
      expected += line;
      out.Write(std::move(line));
    }
    EXPECT_TRUE(out.Flush(Duration::Seconds(20)));
    EXPECT_EQ(out.Backlog(), 0u);
    EXPECT_TRUE(out.Close(Duration::Seconds(20)));
    EXPECT_TRUE(out.Close(Duration::Seconds(20)));
  }
  pipe_.write.Reset();
  reader.join();
  EXPECT_TRUE(got == expected);
}

TEST_F(OutputThreadTest, TellsWhenFullAndWhenThereIsRoom) {
  OutputThread out(*loop_, pipe_.write.get(), {.name = "a pipe", .limit = 200000});
  int rooms = 0;
  out.OnRoom([&] {
    ++rooms;
    EXPECT_LE(out.Backlog(), 100000u);
    loop_->Stop();
  });
  // The pipe itself takes 64 KB.
  EXPECT_TRUE(out.Write(std::string(150000, 'a')));
  EXPECT_FALSE(out.Write(std::string(150000, 'b')));
  EXPECT_FALSE(out.Write("c"));
  EXPECT_GT(out.Backlog(), 200000u);
  std::string got;
  std::thread reader([&] { got = ReadToEnd(pipe_.read.get(), 1 << 20, "pipe").value(); });
  RunGuarded();
  EXPECT_EQ(rooms, 1);
  EXPECT_TRUE(out.Close(Duration::Seconds(20)));
  pipe_.write.Reset();
  reader.join();
  EXPECT_EQ(got.size(), 300001u);
}

TEST_F(OutputThreadTest, ReaderGoneIsToldOnceAndDoesNotKill) {
  OutputThread out(*loop_, pipe_.write.get(), {.name = "standard output"});
  int calls = 0;
  out.OnError([&](const Error& error, bool reader_gone) {
    ++calls;
    EXPECT_TRUE(reader_gone);
    EXPECT_EQ(error.message, "cannot write to 'standard output': Broken pipe");
    EXPECT_TRUE(out.Write("more"));
    EXPECT_EQ(out.Backlog(), 0u);
    loop_->Post([this] { loop_->Stop(); });
  });
  pipe_.read.Reset();
  out.Write("x");
  RunGuarded();
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(out.Flush(Duration::Seconds(20)));
  EXPECT_FALSE(out.Close(Duration::Seconds(20)));
}

TEST_F(OutputThreadTest, OtherErrorsAreNotAReaderGone) {
  Fd full = OpenWrite("/dev/full", OpenHow::kReadWrite).value();
  OutputThread out(*loop_, full.get(), {.name = "standard output"});
  out.OnError([&](const Error& error, bool reader_gone) {
    EXPECT_FALSE(reader_gone);
    EXPECT_EQ(error.kind, ErrorKind::kExhausted);
    loop_->Stop();
  });
  out.Write("x");
  RunGuarded();
}

TEST_F(OutputThreadTest, ErrorAfterTheOwnerIsGoneIsNotTold) {
  {
    OutputThread out(*loop_, pipe_.write.get(), {.name = "a pipe"});
    out.OnError([](const Error&, bool) { ADD_FAILURE(); });
    pipe_.read.Reset();
    out.Write("x");
    EXPECT_FALSE(out.Flush(Duration::Seconds(20)));
  }
  loop_->Post([this] { loop_->Stop(); });
  RunGuarded();
}

TEST_F(OutputThreadTest, AReaderThatHangsIsLeft) {
  OutputThread out(*loop_, pipe_.write.get(), {.name = "a pipe"});
  out.Write(std::string(1 << 20, 'x'));
  auto closed = out.Close(Duration::Millis(20));
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error().kind, ErrorKind::kBusy);
  // Let the thread that was left behind end before its pipe goes.
  std::string rest(1 << 20, '\0');
  size_t left = rest.size();
  while (left > 0) left -= ReadSome(pipe_.read.get(), rest.data(), left, "pipe").value();
}

TEST(Signals, Names) {
  EXPECT_EQ(SignalName(kSignalTerm), "SIGTERM");
  EXPECT_EQ(SignalName(11), "SIGSEGV");
  EXPECT_EQ(SignalName(99), "signal 99");
  EXPECT_EQ(SignalNumber("TERM"), 15);
  EXPECT_EQ(SignalNumber("sigusr1"), 10);
  EXPECT_EQ(SignalNumber("9"), 9);
  EXPECT_EQ(SignalNumber("0"), 0);
  EXPECT_EQ(SignalNumber("none"), 0);
  EXPECT_EQ(SignalNumber(""), 0);
}

TEST(Signals, DieOfSignalIsSeenByTheParent) {
  for (int signo : {kSignalInt, kSignalTerm, kSignalPipe}) {
    pid_t pid = fork();
    if (pid == 0) {
      IgnoreSignal(signo);
      DieOfSignal(signo);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(WTERMSIG(status), signo);
  }
}

}  // namespace
}  // namespace spate::os
