// Processes that take task after task, under real shepherds. The worker is a shell that runs what
// it is given, so that each task says what the process does.
#include <signal.h>

#include <algorithm>

#include "node/testing_executor.h"
#include "os/cgroup.h"
#include "os/process.h"
#include "shepherd/resident_frame.h"

namespace spate::node {
namespace {

class ResidentTest : public ProcessExecutorTest {
 protected:
  TaskBody Task(std::string text) const { return Given(std::move(text), worker_); }
  // An answer, with the process's number as its result.
  TaskBody Who(const std::string& first = "") const { return Task(first + "answer 0 $$"); }
  const Ended& RunTask(std::string text) { return Run(Task(std::move(text))); }
  pid_t RunWho(const std::string& first = "") { return PidOf(Run(Who(first))); }
  static pid_t PidOf(const Ended& ended) {
    EXPECT_EQ(ended.end.cause, Cause::kSuccess) << ended.end.note;
    return std::atoi(ended.output->out.bytes.c_str());
  }
  static bool IsGone(pid_t pid) { return kill(pid, 0) != 0; }
  // Says once that the task is at work.
  static std::string Mark(const std::string& name) { return "echo > " + name + "; "; }
  void AwaitFile(const std::string& name) {
    RunUntil([&] { return os::Exists(dir_.Path(name)); });
  }

  std::string worker_ = kResidentShell;
};

TEST_F(ResidentTest, OneProcessTakesAllTasks) {
  pid_t first = RunWho();
  EXPECT_NE(first, 0);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(RunWho(), first);
  EXPECT_EQ(RunTask("answer 7 result").end.status, 7);
  EXPECT_EQ(ended_.rbegin()->second.end.cause, Cause::kExit);
  EXPECT_EQ(ended_.rbegin()->second.output->out.bytes, "result");
  EXPECT_EQ(RunWho(), first);
}

TEST_F(ResidentTest, AFrameNamesTheTask) {
  const Ended& ended = RunTask("answer 0 \"$word $id $index $attempt $length\"");
  EXPECT_EQ(ended.output->out.bytes, "task 1.1 1 1 44");
}

TEST_F(ResidentTest, OutputIsThatOfTheTask) {
  worker_ = std::string("echo begins; ") + kResidentShell;
  EXPECT_EQ(RunTask("echo one; echo bad >&2; answer 0 res").output->out.bytes, "begins\none\nres");
  EXPECT_EQ(ended_.at(0).output->err.bytes, "bad\n");
  const Ended& second = RunTask(
      "echo two; answer 0; until test -e go; do sleep 0.01; done; echo between; echo also >&2; "
      "echo > written");
  EXPECT_EQ(second.output->out.bytes, "two\n");
  dir_.Write("go", "");
  AwaitFile("written");
  const Ended& third = RunTask("echo three; answer 0");
  EXPECT_EQ(third.output->out.bytes, "three\n");
  EXPECT_EQ(third.output->err.bytes, "");
  EXPECT_EQ(third.end.note, "before it had the task its process wrote 13 B, as output of no task");
  EXPECT_EQ(third.end.cause, Cause::kSuccess);
}

// Once for each run, with the bytes of all its processes.
TEST_F(ResidentTest, OutputOfNoTaskIsTold) {
  std::vector<std::string> told;
  options_.on_trouble = [&](std::string text) { told.push_back(std::move(text)); };
  worker_ = std::string(kResidentShell) + "echo late; echo also >&2";
  RunTask("answer 0; until test -e go; do sleep 0.01; done; echo between; echo > written");
  dir_.Write("go", "");
  AwaitFile("written");
  EXPECT_EQ(RunTask("answer 0 $$").output->err.bytes, "");
  RunTask("exit 3");  // the first process: what it wrote before is not forgotten
  RunTask("answer 0");
  EXPECT_TRUE(told.empty());
  executor_.reset();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].find("dropped 18 B of output"), 0u) << told[0];  // "between", "late", "also"
}

// It is given the next task, but writes and ends without reading that.
TEST_F(ResidentTest, OutputOfTheEndOfOneProcessIsNotTheNextOnes) {
  std::vector<AttemptRef> refs;
  for (int i = 0; i < 4; ++i) {
    refs.push_back(Start(Task("answer 0 $id; sleep 0.05; echo late; sleep 0.05; exit 5")));
  }
  for (const AttemptRef& ref : refs) {
    const Ended& ended = Await(ref);
    EXPECT_EQ(ended.output->out.bytes, shepherd::TaskId(ref));
    EXPECT_EQ(ended.end.stdout_total, ended.output->out.bytes.size());
  }
}

TEST_F(ResidentTest, PythonFlushesUnlessTheJobSaysOtherwise) {
  const std::string show = "answer 0 \"${PYTHONUNBUFFERED-unset}\"";
  settings_.environment = {"PYTHONUNBUFFERED="};
  EXPECT_EQ(RunTask(show).output->out.bytes, "");
  executor_.reset();
  settings_.environment = {};
  ASSERT_EQ(unsetenv("PYTHONUNBUFFERED"), 0);  // shepherds begin with what this process has
  EXPECT_EQ(RunTask(show).output->out.bytes, "1");
  TaskBody own = Task(show);
  own.environment = {"PYTHONUNBUFFERED=x"};
  EXPECT_EQ(Run(own).output->out.bytes, "x");
  EXPECT_EQ(Run("echo ${PYTHONUNBUFFERED-unset}").output->out.bytes, "unset\n");
}

TEST_F(ResidentTest, LongInputsAndResultsPass) {
  worker_ =
      "while read w id i a length <&3; do head -c $length <&3 > got; "
      "printf 'done %s 0 %s\\n' $id $length >&4; cat got >&4; done";
  TaskBody body = Task("");
  for (size_t i = 0; body.input.size() < 3'000'000; ++i) body.input += fmt::format("{}\n", i * i);
  body.input += std::string("\0\t\xff", 3);
  const Ended& ended = Run(body);
  EXPECT_EQ(ended.end.cause, Cause::kSuccess) << ended.end.note;
  EXPECT_EQ(ended.end.stdout_total, body.input.size());
  auto kept = os::ReadFile(ended.output->out.spool, 1 << 26);
  ASSERT_TRUE(kept.has_value());
  EXPECT_TRUE(*kept == body.input);
}

TEST_F(ResidentTest, LiveOutputHasTheResult) {
  settings_.live_output = true;
  AttemptRef ref = Start(Task("echo out; answer 0 result"));
  Await(ref);
  EXPECT_EQ(live_[ref.index][0], "out\nresult");
}

TEST_F(ResidentTest, TheEndOfTheProcessIsThatOfTheAttempt) {
  struct Case {
    std::string text;
    Cause cause;
    int status;
    std::string note;
  };
  for (bool fresh : {true, false}) {
    std::string first = fresh ? "first " : "";
    for (const Case& c : {
             Case{"exit 3", Cause::kExit, 3,
                  fresh ? "its process ended before it had answered its first task" : ""},
             Case{"kill -9 $$", Cause::kSignal, SIGKILL,
                  fresh ? "its process ended before it had answered its first task" : ""},
             Case{
                 "exit 0", Cause::kCheck, 0,
                 "its process ended with exit code 0 before it had answered its " + first + "task"},
             Case{
                 "printf done >&4; exit 0", Cause::kCheck, 0,
                 "its process ended with exit code 0 before it had answered its " + first + "task"},
         }) {
      pid_t before = fresh ? 0 : RunWho();
      const Ended& ended = RunTask(c.text);
      EXPECT_EQ(ended.end.cause, c.cause) << c.text << " " << ended.end.note;
      EXPECT_EQ(ended.end.status, c.status) << c.text;
      EXPECT_EQ(ended.end.note, c.note) << c.text;
      if (!fresh) EXPECT_TRUE(IsGone(before));
    }
  }
  EXPECT_NE(RunWho(), 0);
}

TEST_F(ResidentTest, WhatIsNoAnswerEndsTheProcess) {
  struct Case {
    std::string text;
    std::string why;
  };
  const std::string none = "the answer of its process is none: ";
  for (const Case& c : {
           Case{"echo garbage >&4", none + "'garbage' is not 'done 1.2 STATUS LENGTH'"},
           Case{"head -c 100000 /dev/zero | tr '\\0' x >&4",
                none + "its first line has more than 256 bytes: '" + std::string(60, 'x') + "...'"},
           Case{"echo done $id 0 99999999999 >&4",
                none + "the length '99999999999' is not a number from 0 to 1073741824"},
           Case{"echo done 1.1 0 0 >&4",
                none + "it is for task '1.1', and the process was given 1.2"},
           Case{"exec 4>&-; while :; do sleep 0.05; done",
                "its process has closed its end without an answer"},
       }) {
    next_ = 0;
    ended_.clear();
    pid_t before = RunWho();
    const Ended& ended = RunTask(c.text);
    EXPECT_EQ(ended.end.cause, Cause::kCheck) << c.text;
    EXPECT_EQ(ended.end.note, c.why) << c.text;
    EXPECT_TRUE(IsGone(before));
    EXPECT_NE(RunWho(), before);
  }
}

TEST_F(ResidentTest, OneThatSaysTooMuchIsReplaced) {
  pid_t first = RunWho();
  // Both answers in one write: of two, the second may come when the next task has been given.
  const Ended& twice = RunTask("printf 'done %s 0 0\\ndone %s 7 0\\n' $id $id >&4");
  EXPECT_EQ(twice.end.cause, Cause::kSuccess);  // the first one counts
  EXPECT_NE(RunWho(), first);
  EXPECT_TRUE(IsGone(first));
}

TEST_F(ResidentTest, OneThatSpeaksWithoutATaskIsReplaced) {
  pid_t first = RunWho();
  RunTask("answer 0; until test -e go; do sleep 0.01; done; answer 0 again; echo > written");
  dir_.Write("go", "");
  AwaitFile("written");
  EXPECT_NE(RunWho(), first);
  EXPECT_TRUE(IsGone(first));
}

TEST_F(ResidentTest, OneThatEndsBetweenTasksIsReplaced) {
  // Each ends right behind its answer, so some are given the next task before we hear of it.
  std::vector<AttemptRef> refs;
  constexpr int kTasks = 100;
  for (int i = 0; i < kTasks; ++i) refs.push_back(Start(Task("answer 0 $$; exit 5")));
  std::set<pid_t> pids;
  for (const AttemptRef& ref : refs) pids.insert(PidOf(Await(ref)));
  EXPECT_EQ(pids.size(), size_t{kTasks});
}

TEST_F(ResidentTest, OneThatIsKilledBetweenTasksIsReplaced) {
  for (int i = 0; i < 20; ++i) {
    pid_t pid = RunWho();
    kill(pid, SIGKILL);
    RunUntil([&] { return IsGone(pid); });
    EXPECT_NE(RunWho(), pid);
  }
}

TEST_F(ResidentTest, WhatItLeftEndsWithIt) {
  pid_t first = RunWho("setsid sleep 9999." + mark_ + " > /dev/null 2>&1 & ");
  RunUntil([&] { return !Marked("9999." + mark_).empty(); });
  EXPECT_EQ(RunWho(), first);
  EXPECT_FALSE(Marked("9999." + mark_).empty());  // it is the process's, not the task's
  kill(first, SIGKILL);
  RunUntil([&] { return Marked("9999." + mark_).empty(); });
  EXPECT_NE(RunWho("setsid sleep 9999." + mark_ + " > /dev/null 2>&1 & "), first);
  const Ended& crash = RunTask("kill -9 $$");
  EXPECT_EQ(crash.end.cause, Cause::kSignal);
  EXPECT_EQ(crash.end.left_behind, 1u);
  EXPECT_TRUE(Marked("9999." + mark_).empty());
}

TEST_F(ResidentTest, AnOrderEndsTheProcess) {
  for (EndHow how : {EndHow::kTerm, EndHow::kKill}) {
    pid_t before = RunWho();
    AttemptRef ref = Start(Task(Mark("runs") + "while :; do sleep 9999." + mark_ + "; done"));
    AwaitFile("runs");
    executor_->End(ref, how, Cause::kTimeLimit);
    EXPECT_EQ(Await(ref).end.cause, Cause::kTimeLimit);
    EXPECT_TRUE(IsGone(before));
    EXPECT_TRUE(Marked("9999." + mark_).empty());
    EXPECT_NE(RunWho(), before);
    ASSERT_TRUE(os::RemoveFile(dir_.Path("runs")).has_value());
  }
}

// It would go on for ever, but for the KILL that a node sends after the grace.
TEST_F(ResidentTest, AnAnswerBehindAnOrderToEndCountsForNothing) {
  pid_t before = RunWho();
  AttemptRef ref =
      Start(Task("trap 'answer 0' TERM; " + Mark("runs") + "while :; do sleep 0.01; done"));
  AwaitFile("runs");
  executor_->End(ref, EndHow::kTerm, Cause::kStopped);
  EXPECT_EQ(Await(ref).end.cause, Cause::kStopped);
  EXPECT_TRUE(IsGone(before));
}

TEST_F(ResidentTest, AnotherProcessTakesAnotherTask) {
  pid_t first = RunWho();
  TaskBody other = Who();
  other.environment = {"SPATE_GPUS=1"};
  pid_t second = PidOf(Run(other));
  EXPECT_NE(second, first);
  EXPECT_TRUE(IsGone(first));
  EXPECT_EQ(PidOf(Run(other)), second);
  EXPECT_EQ(Run("echo plain").output->out.bytes, "plain\n");
  EXPECT_TRUE(IsGone(second));
  EXPECT_NE(RunWho(), second);
}

TEST_F(ResidentTest, AnotherJobsProcessEndsFirst) {
  pid_t first = RunWho();
  executor_->OpenJob(JobId(2), std::make_shared<const JobSettings>(settings_), false);
  StartOrder order;
  order.slot = 1;
  order.body = Who();
  order.ref = {JobId(2), next_++, Attempt(1)};
  AttemptRef ref = order.ref;
  executor_->Start(std::move(order));
  EXPECT_NE(PidOf(Await(ref)), first);
  EXPECT_TRUE(IsGone(first));
}

TEST_F(ResidentTest, SlotsHaveProcessesOfTheirOwn) {
  AttemptRef a = Start(Who("while ! test -e b; do sleep 0.01; done; "), 1);
  AttemptRef b = Start(Who(Mark("b")), 2);
  pid_t first = PidOf(Await(a));
  pid_t second = PidOf(Await(b));
  EXPECT_NE(first, second);
  EXPECT_EQ(PidOf(Await(Start(Who(), 2))), second);
  EXPECT_EQ(PidOf(Await(Start(Who(), 1))), first);
}

TEST_F(ResidentTest, AClosedJobsProcessEnds) {
  worker_ = std::string(kResidentShell) + "echo > left";
  pid_t pid = RunWho();
  EXPECT_FALSE(IsGone(pid));
  executor_->CloseJob(JobId(1));
  AwaitFile("left");  // by itself, at the end of its input
  RunUntil([&] { return IsGone(pid); });
}

TEST_F(ResidentTest, OneThatDoesNotLeaveIsKilled) {
  worker_ = std::string(kResidentShell) + "while :; do sleep 9999." + mark_ + "; done";
  pid_t pid = RunWho();
  executor_->CloseJob(JobId(1));
  RunUntil([&] { return IsGone(pid) && Marked("9999." + mark_).empty(); });
}

TEST_F(ResidentTest, TheExecutorsEndIsThatOfItsInput) {
  worker_ = std::string(kResidentShell) + "echo > left";
  pid_t pid = RunWho();
  executor_.reset();
  EXPECT_TRUE(os::Exists(dir_.Path("left")));
  EXPECT_TRUE(IsGone(pid));
}

TEST_F(ResidentTest, AnAttemptThatWaitsForAnothersEndCanBeEnded) {
  worker_ =
      std::string(kResidentShell) + "echo > leaves; while :; do sleep 9999." + mark_ + "; done";
  pid_t pid = RunWho();
  AttemptRef next = Start(Shell("echo next"));
  AwaitFile("leaves");
  executor_->End(next, EndHow::kTerm, Cause::kStopped);
  const Ended& ended = Await(next);
  EXPECT_EQ(ended.end.cause, Cause::kStopped);
  EXPECT_EQ(ended.output->out.bytes, "");
  EXPECT_TRUE(IsGone(pid));
}

TEST_F(ResidentTest, WhatCannotBeStartedIsTold) {
  TaskBody body = Task("");
  body.steps[0].commands[0].argv = {"./none"};
  const Ended& ended = Run(body);
  EXPECT_EQ(ended.end.cause, Cause::kStart);
  EXPECT_EQ(ended.end.status, 127);
  EXPECT_EQ(ended.end.note, "./none: No such file or directory");
  EXPECT_NE(RunWho(), 0);
}

TEST_F(ResidentTest, CpuTimeIsThatOfTheTask) {
  const std::string work = "i=0; while test $i -lt 300000; do i=$((i+1)); done; ";
  Duration busy = RunTask(work + "answer 0").end.user;
  Duration idle = RunTask("answer 0").end.user;
  EXPECT_GT(busy.ns, 0);
  EXPECT_LT(idle.ns, busy.ns / 4);
  Duration again = RunTask(work + "answer 0").end.user;
  EXPECT_GT(again.ns, busy.ns / 4);
  const AttemptEnd& last = RunTask("kill -9 $$").end;
  EXPECT_LT(last.user.ns + last.system.ns, busy.ns);  // what the others used is not in it
  EXPECT_GT(ended_.at(0).end.peak_memory, 0u);
  EXPECT_GT(ended_.at(1).end.peak_memory, 0u);
}

TEST_F(ResidentTest, MemoryIsBoundedForEachTask) {
  auto order = [&](std::string text) {
    StartOrder start;
    start.body = Task(std::move(text));
    start.needs.memory = 64 << 20;
    return start;
  };
  EXPECT_EQ(Await(StartOf(order("answer 0"))).end.cause, Cause::kSuccess);
  const Ended& ended =
      Await(StartOf(order("x=$(head -c 200000000 /dev/zero | tr '\\0' x); while :; "
                          "do sleep 0.05; done")));
  EXPECT_EQ(ended.end.cause, Cause::kMemory) << ended.end.note;
  EXPECT_EQ(Await(StartOf(order("answer 0"))).end.cause, Cause::kSuccess);
}

TEST_F(ResidentTest, ABodyWithMoreThanAProcessIsRefused) {
  TaskBody body = Who();
  body.stdout_file = "out";
  const Ended& ended = Run(body);
  EXPECT_EQ(ended.end.cause, Cause::kStart);
  EXPECT_NE(ended.end.note.find("links, checks, files or redirected streams"), std::string::npos);
}

}  // namespace
}  // namespace spate::node
