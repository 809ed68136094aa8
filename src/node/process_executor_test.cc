// Real processes through ProcessExecutor: how they end, what they write, what is measured.
#include "node/process_executor.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "node/testing_executor.h"
#include "shepherd/shepherd_main.h"

namespace spate::node {
namespace {

TEST_F(ProcessExecutorTest, TellsHowCommandsEnd) {
  dir_.Write("plain.txt", "no program");
  dir_.Write("noline", "exit 4");
  dir_.Write("badline", "#!/nowhere/interpreter\n");
  chmod(dir_.Path("noline").c_str(), 0755);
  chmod(dir_.Path("badline").c_str(), 0755);
  struct {
    TaskBody body;
    Cause cause;
    int status;
    std::string note;
  } cases[] = {
      {Plain({"/bin/true"}), Cause::kSuccess, 0, ""},
      {Plain({"true"}), Cause::kSuccess, 0, ""},
      {Plain({"/bin/false"}), Cause::kExit, 1, ""},
      {Shell("exit 255"), Cause::kExit, 255, ""},
      {Shell("kill -SEGV $$"), Cause::kSignal, SIGSEGV, ""},
      {Shell("kill -9 $$"), Cause::kSignal, SIGKILL, ""},
      {Plain({"frobnicate", "x"}), Cause::kStart, 127, "frobnicate: command not found"},
      {Plain({"./none"}), Cause::kStart, 127, "./none: No such file or directory"},
      {Plain({"./plain.txt"}), Cause::kStart, 126,
       "./plain.txt: permission denied (is it executable? chmod +x makes it so)"},
      {Plain({"/tmp"}), Cause::kStart, 126, "/tmp: is a folder, not a program"},
      {Plain({"./noline"}), Cause::kExit, 4, ""},
      {Plain({"./badline"}), Cause::kStart, 126, "./badline: its interpreter does not exist"},
      {Plain({""}), Cause::kStart, 127, ": command not found"},
      {Plain({"true", std::string(3 << 20, 'x')}), Cause::kStart, 126,
       "true: its arguments and environment are longer than the system allows"},
  };
  for (auto& c : cases) {
    std::string name = c.body.steps[0].commands[0].argv[0];
    const Ended& ended = Run(c.body);
    EXPECT_EQ(ended.end.cause, c.cause) << name << " " << ended.end.note;
    EXPECT_EQ(ended.end.status, c.status) << name;
    EXPECT_EQ(ended.end.note, c.note) << name;
    EXPECT_EQ(ended.end.slot, 1);
    EXPECT_EQ(ended.end.left_behind, 0u) << name;
    EXPECT_TRUE(ended.end.processes.empty());
  }
}

TEST_F(ProcessExecutorTest, CollectsOutput) {
  const Ended& ended = Run("echo out; echo err >&2; printf more");
  EXPECT_EQ(ended.output->out.bytes, "out\nmore");
  EXPECT_EQ(ended.output->out.total, 8u);
  EXPECT_EQ(ended.output->err.bytes, "err\n");
  EXPECT_EQ(ended.end.stdout_total, 8u);
  EXPECT_EQ(ended.end.stderr_total, 4u);
  const Ended& silent = Run("exit 0");
  EXPECT_EQ(silent.output->out.total, 0u);
}

TEST_F(ProcessExecutorTest, LongOutputGoesToASpoolFileThatGoesWithItsLastOwner) {
  const Ended& exact = Run("head -c 65536 /dev/zero");
  EXPECT_EQ(exact.output->out.bytes, std::string(65536, '\0'));
  EXPECT_EQ(exact.output->out.spool, "");
  Ended& ended = Run("seq 1 200000; seq 1 50000 >&2");
  const OutputStream& out = ended.output->out;
  EXPECT_EQ(out.bytes, "");
  EXPECT_EQ(out.total, 1288895u);
  auto text = os::ReadFile(out.spool, 1 << 24);
  ASSERT_TRUE(text.has_value());
  std::string expected;
  for (int i = 1; i <= 200000; ++i) expected += std::to_string(i) + "\n";
  EXPECT_TRUE(*text == expected);
  std::string spool = out.spool;
  std::string other = ended.output->err.spool;
  EXPECT_TRUE(os::Exists(other));
  TaskOutputPtr second = ended.output;
  ended.output.reset();
  EXPECT_TRUE(os::Exists(spool));
  second.reset();
  EXPECT_FALSE(os::Exists(spool));
  EXPECT_FALSE(os::Exists(other));
}

TEST_F(ProcessExecutorTest, OutputOfAttemptsStaysApart) {
  std::vector<AttemptRef> refs;
  for (int i = 0; i < 50; ++i) {
    refs.push_back(Start(Shell(fmt::format("echo {0}; (echo late {0} &)", i))));
  }
  Await(refs.back());
  for (int i = 0; i < 50; ++i) {
    const std::string& text = ended_[refs[i].index].output->out.bytes;
    EXPECT_TRUE(text.starts_with(fmt::format("{}\n", i))) << text;
    EXPECT_TRUE(text == fmt::format("{0}\nlate {0}\n", i) || text == fmt::format("{}\n", i));
    EXPECT_EQ(order_[i], static_cast<uint32_t>(i));
  }
}

TEST_F(ProcessExecutorTest, AStrangePipeFlagOfOneTaskDoesNotReachTheNext) {
  // Perl-free: dd sets O_NONBLOCK on its output.
  Run("dd if=/dev/null oflag=nonblock status=none");
  const Ended& ended = Run("head -c 3000000 /dev/zero | cat");
  EXPECT_EQ(ended.end.cause, Cause::kSuccess) << ended.output->err.bytes;
  EXPECT_EQ(ended.output->out.total, 3000000u);
}

TEST_F(ProcessExecutorTest, GivesTheTaskItsSurroundings) {
  settings_.environment = {"A=job", "B=job", "PATH=/usr/bin:/bin"};
  TaskBody body = Shell(
      "pwd; echo $A $B $C; echo $(( $(ps -o pgid= -p $$) == $$ )); ps -o tty= -p $$; "
      "cat; echo $(ls -l /proc/self/fd | grep -c -v -e total -e /proc/); trap | wc -l; grep SigBlk "
      "/proc/self/status");
  body.environment = {"B=task", "C=task"};
  const Ended& ended = Run(body);
  EXPECT_EQ(ended.output->out.bytes,
            dir_.path() + "\njob task task\n1\n?\n3\n0\nSigBlk:\t0000000000000000\n")
      << ended.output->err.bytes;
}

TEST_F(ProcessExecutorTest, NicenessIsAdded) {
  settings_.nice = 7;
  EXPECT_EQ(Run("nice").output->out.bytes, fmt::format("{}\n", getpriority(PRIO_PROCESS, 0) + 7));
}

// A script that prints the processors that a process may run on.
std::string AllowedCpusOf(const char* pid) {
  return fmt::format("sed -n 's/^Cpus_allowed_list:\\t//p' /proc/{}/status", pid);
}

TEST_F(ProcessExecutorTest, ShepherdsStayAtHomeAndTasksDoNot) {
  options_.slots = static_cast<uint16_t>(os::AllowedCpus().Cpus().size());
  std::string ours = fmt::format("{}", getpid());
  EXPECT_EQ(Run(AllowedCpusOf("self")).output->out.bytes,
            Run(AllowedCpusOf(ours.c_str())).output->out.bytes);
  EXPECT_EQ(Run(AllowedCpusOf("$PPID")).output->out.bytes,
            fmt::format("{}\n", os::AllowedCpus().Cpus().front()));
}

TEST_F(ProcessExecutorTest, WithFewerSlotsThanProcessorsNobodyHasAHome) {
  if (os::AllowedCpus().Cpus().size() < 2) GTEST_SKIP() << "one processor";
  options_.slots = 1;
  EXPECT_EQ(Run(AllowedCpusOf("$PPID")).output->out.bytes,
            Run(AllowedCpusOf("self")).output->out.bytes);
}

TEST_F(ProcessExecutorTest, TheTasksOwnPathDecides) {
  dir_.Write("bin/tool", "#!/bin/sh\necho mine\n");
  chmod(dir_.Path("bin/tool").c_str(), 0755);
  TaskBody body = Plain({"tool"});
  EXPECT_EQ(Run(body).end.status, 127);
  body.environment = {"PATH=" + dir_.Path("bin") + ":/bin"};
  EXPECT_EQ(Run(body).output->out.bytes, "mine\n");
  EXPECT_EQ(Run(body).output->out.bytes, "mine\n");
  ASSERT_TRUE(os::RemoveFile(dir_.Path("bin/tool")));
  EXPECT_EQ(Run(body).end.note, "tool: command not found");
}

TEST_F(ProcessExecutorTest, RedirectsToFiles) {
  dir_.Write("in.txt", "content\n");
  dir_.Write("out.txt", "old old old\n");
  TaskBody body = Shell("cat; echo err >&2");
  body.stdin_file = "in.txt";
  body.stdout_file = "out.txt";
  body.stderr_file = "new/folder/err.txt";
  const Ended& ended = Run(body);
  EXPECT_EQ(ended.end.cause, Cause::kSuccess) << ended.end.note;
  EXPECT_TRUE(FileHas("out.txt", "content\n"));
  EXPECT_TRUE(FileHas("new/folder/err.txt", "err\n"));
  EXPECT_EQ(ended.end.stdout_total, 0u);
  body = Shell("echo a; echo b >&2; echo c");
  body.stdout_file = body.stderr_file = "both.txt";
  Run(body);
  EXPECT_TRUE(FileHas("both.txt", "a\nb\nc\n"));
}

TEST_F(ProcessExecutorTest, AFileOfStderrMayComeLate) {
  std::string err = dir_.Path("late.txt");
  dir_.Write("late.txt", "of another attempt\n");
  TaskBody body = Shell("test ! -e " + err + " && echo out");
  body.late_stderr = true;
  body.stderr_file = err;
  EXPECT_EQ(Run(body).end.cause, Cause::kSuccess);
  EXPECT_FALSE(os::Exists(err)) << "nothing was written to it";

  body.steps =
      Shell("head -c 200000 /dev/zero >&2; until test -s " + err + "; do sleep 0.01; done").steps;
  const Ended& ended = Run(body);
  EXPECT_EQ(ended.end.cause, Cause::kSuccess) << ended.end.note;
  EXPECT_EQ(ended.end.stderr_total, 0u);
  EXPECT_EQ(os::ReadFile(err, 1 << 20).value_or(""), std::string(200000, '\0'));

  body.steps = Plain({"no-such-command"}).steps;
  EXPECT_EQ(Run(body).end.cause, Cause::kStart);
  EXPECT_TRUE(FileHas("late.txt", "no-such-command: command not found\n"));

  body.stderr_file = dir_.Path("none/late.txt");
  body.steps = Shell("echo x >&2; echo y >&2").steps;
  const Ended& lost = Run(body);
  EXPECT_EQ(lost.end.cause, Cause::kSuccess);
  EXPECT_NE(lost.end.note.find("stderr is lost: cannot write '"), std::string::npos)
      << lost.end.note;

  // The next attempt's is its own again.
  EXPECT_EQ(Run(Shell("echo e >&2")).end.stderr_total, 2u);
}

TEST_F(ProcessExecutorTest, MissingFilesAndFoldersAreSaidClearly) {
  TaskBody body = Plain({"true"});
  body.stdin_file = "none.txt";
  const Ended& input = Run(body);
  EXPECT_EQ(input.end.cause, Cause::kStart);
  EXPECT_EQ(input.end.status, 126);
  EXPECT_EQ(input.end.note, "cannot open 'none.txt' as stdin: No such file or directory");
  dir_.Write("file", "");
  body = Plain({"true"});
  body.stdout_file = "file/below";
  EXPECT_EQ(Run(body).end.note, "cannot open 'file/below' as stdout: Not a directory");
  ASSERT_TRUE(os::MakeDir(dir_.Path("gone")));
  settings_.cwd = dir_.Path("gone");
  executor_->OpenJob(JobId(2), std::make_shared<const JobSettings>(settings_), false);
  ASSERT_TRUE(os::RemoveEmptyDir(dir_.Path("gone")));
  StartOrder order;
  order.ref = {JobId(2), 1000, Attempt(1)};
  order.slot = 1;
  order.body = Plain({"true"});
  executor_->Start(order);
  const Ended& cwd = Await(order.ref);
  EXPECT_EQ(cwd.end.cause, Cause::kStart);
  EXPECT_EQ(cwd.end.note, fmt::format("cannot enter the job's folder '{}': No such file or "
                                      "directory",
                                      dir_.Path("gone")));
  ASSERT_TRUE(cwd.output);
  EXPECT_EQ(cwd.output->err.bytes, "spate: " + cwd.end.note + "\n");
}

// A shepherd knows so many jobs, however many are open, and those that it runs.
TEST_F(ProcessExecutorTest, ManyJobsAreOpen) {
  constexpr uint32_t kJobs = 100;
  Make();
  settings_.environment = {"A=1"};
  auto settings = std::make_shared<const JobSettings>(settings_);
  StartOrder slow;
  slow.ref = {JobId(1), 5000, Attempt(1)};
  slow.slot = 2;
  slow.body = Shell("until test -e go; do sleep 0.01; done");
  executor_->Start(std::move(slow));
  for (uint32_t round = 0; round < 2; ++round) {
    for (uint32_t job = 2; job < kJobs; ++job) {
      if (round == 0) executor_->OpenJob(JobId(job), settings, false);
      StartOrder order;
      order.ref = {JobId(job), round * kJobs + job, Attempt(1)};
      order.slot = job % 2 == 0 ? 1 : 2;
      order.body = Shell("echo $A");
      executor_->Start(std::move(order));
    }
  }
  dir_.Write("go", "");
  RunUntil([&] { return ended_.size() == 2 * (kJobs - 2) + 1; });
  for (const auto& [index, ended] : ended_) {
    EXPECT_EQ(ended.end.cause, Cause::kSuccess) << index << ": " << ended.end.note;
    if (index < 5000) EXPECT_EQ(ended.output->out.bytes, "1\n") << index;
  }
  for (uint32_t job = 1; job < kJobs; ++job) executor_->CloseJob(JobId(job));
  EXPECT_EQ(executor_->jobs(), 0u);
  // And one that is opened again is what it is now.
  settings_.environment = {"A=2"};
  executor_->OpenJob(JobId(1), std::make_shared<const JobSettings>(settings_), false);
  EXPECT_EQ(Run("echo $A").output->out.bytes, "2\n");
}

TEST_F(ProcessExecutorTest, ChecksOutputs) {
  TaskBody body = Shell("echo a > good; : > empty; printf b > cut");
  body.output_checks = {{CheckWhen::kOut, CheckKind::kLinePlus, "good"}};
  EXPECT_EQ(Run(body).end.cause, Cause::kSuccess);
  body.output_checks = {{CheckWhen::kOut, CheckKind::kExistsPlus, "empty"},
                        {CheckWhen::kOut, CheckKind::kLine, "good"},
                        {CheckWhen::kOut, CheckKind::kLine, "cut"},
                        {CheckWhen::kOut, CheckKind::kExists, "none"}};
  const Ended& ended = Run(body);
  EXPECT_EQ(ended.end.cause, Cause::kCheck);
  EXPECT_EQ(ended.end.status, 0);
  EXPECT_EQ(ended.end.note, "empty is empty\ncut has an incomplete last line\nnone does not exist");
  // A command that failed is not checked.
  body = Shell("exit 2");
  body.output_checks = {{CheckWhen::kOut, CheckKind::kExists, "none"}};
  EXPECT_EQ(Run(body).end.note, "");
}

TEST_F(ProcessExecutorTest, TellsStartsAndMeasures) {
  StartOrder order;
  order.body = Shell("i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; exit 0");
  order.tell_start = true;
  Instant before = loop_->Now();
  AttemptRef ref = StartOf(order);
  const Ended& ended = Await(ref);
  ASSERT_TRUE(started_.contains(ref.index));
  EXPECT_EQ(started_[ref.index], ended.end.start);
  EXPECT_GE(ended.end.start, before);
  EXPECT_LE(ended.end.start + ended.end.wall, loop_->Now());
  EXPECT_GT(ended.end.user.ns + ended.end.system.ns, 1'000'000);
  EXPECT_EQ(ended.end.memory_source, MemorySource::kRusage);
  EXPECT_GT(ended.end.peak_memory, 500u << 10);
  EXPECT_EQ(ended.end.read_bytes, -1);
  EXPECT_FALSE(started_.contains(Start(Plain({"true"})).index));
}

TEST_F(ProcessExecutorTest, MeasuresInputAndOutputWhenAsked) {
  settings_.measure_io = true;
  const Ended& ended =
      Run("head -c 300000 /dev/zero > big; (head -c 100000 big > /dev/null) ; true");
  EXPECT_GE(ended.end.read_bytes, 400000);
  EXPECT_GE(ended.end.written_bytes, 400000);
  EXPECT_LT(ended.end.written_bytes, 600000);
}

TEST_F(ProcessExecutorTest, SamplesMemoryOfTheWholeTree) {
  StartOrder order;
  // Two processes of 30 MB each: the largest alone is what rusage knows.
  order.body = Shell(
      "for i in 1 2; do (head -c 30000000 /dev/zero | tail -c 30000000 | "
      "sh -c 'sleep 0.7; cat' | wc -c) & done; wait");
  order.sample_memory = true;
  AttemptRef ref = StartOf(order);
  const Ended& ended = Await(ref);
  ASSERT_FALSE(samples_[ref.index].empty());
  EXPECT_EQ(ended.end.memory_source, MemorySource::kSampled);
  EXPECT_GT(ended.end.peak_memory, 55'000'000u);
}

TEST_F(ProcessExecutorTest, EndsATaskThatGoesOverItsMemory) {
  StartOrder order;
  order.body = Shell("head -c 200000000 /dev/zero | tail -c 200000000 | sleep 9999." + mark_);
  order.needs.memory = 50'000'000;
  const Ended& ended = Await(StartOf(order));
  EXPECT_EQ(ended.end.cause, Cause::kMemory);
  EXPECT_TRUE(Marked("9999." + mark_).empty());
}

// Also where the node's own sample came first, and in the file that the task's stderr goes to.
TEST_F(ProcessExecutorTest, ATaskOverItsMemorySaysSoWhereItsStderrGoes) {
  for (bool late : {false, true}) {
    for (bool to_file : {false, true}) {
      if (late && !to_file) continue;
      StartOrder order;
      order.body = Shell("echo before >&2; touch there" + std::to_string(next_) + "; sleep 30");
      if (to_file) order.body.stderr_file = dir_.Path("err");
      order.body.late_stderr = late;
      order.needs.memory = 1'000'000'000;
      std::string there = "there" + std::to_string(next_);
      AttemptRef ref = StartOf(std::move(order));
      RunUntil([&] { return os::Exists(dir_.Path(there)); });
      executor_->End(ref, EndHow::kKill, Cause::kMemory);
      const Ended& ended = Await(ref);
      EXPECT_EQ(ended.end.cause, Cause::kMemory);
      EXPECT_NE(ended.end.note.find("needed more memory than the 954 MB"), std::string::npos)
          << ended.end.note;
      std::string err =
          to_file ? os::ReadFile(dir_.Path("err"), 1 << 16).value_or("") : ended.output->err.bytes;
      EXPECT_TRUE(
          err.starts_with("before\nspate: MemoryError: over the limit of 954 MB of memory (peak "))
          << err;
    }
  }
}

TEST_F(ProcessExecutorTest, LiveOutputComesWhileTheTaskRuns) {
  settings_.live_output = true;
  AttemptRef ref =
      Start(Shell("echo one; while ! test -e go; do sleep 0.01; done; echo two; "
                  "echo err >&2"));
  RunUntil([&] { return live_[ref.index][0] == "one\n"; });
  EXPECT_FALSE(ended_.contains(ref.index));
  dir_.Write("go", "");
  const Ended& ended = Await(ref);
  EXPECT_EQ(live_[ref.index][0], "one\ntwo\n");
  EXPECT_EQ(live_[ref.index][1], "err\n");
  EXPECT_EQ(ended.output->out.bytes, "one\ntwo\n");
}

TEST_F(ProcessExecutorTest, LiveOutputThatNobodyTakesHoldsTheTaskUp) {
  settings_.live_output = true;
  // Counts what it could write; while this thread does not read, that must stay bounded.
  AttemptRef ref = Start(Shell("dd if=/dev/zero bs=65536 count=1000 2>/dev/null; echo end > over"));
  RunUntil([&] { return !live_[ref.index][0].empty(); });
  EXPECT_FALSE(Until(Duration::Millis(300), [&] { return os::Exists(dir_.Path("over")); }));
  const Ended& ended = Await(ref);
  EXPECT_EQ(ended.end.cause, Cause::kSuccess);
  EXPECT_EQ(live_[ref.index][0].size(), 65536000u);
  EXPECT_EQ(ended.end.stdout_total, 65536000u);
}

TEST_F(ProcessExecutorTest, AKillOrderIsObeyedWhileNobodyTakesOutput) {
  settings_.live_output = true;
  AttemptRef ref = Start(Shell("exec cat /dev/zero"));
  RunUntil([&] { return !live_[ref.index][0].empty(); });
  std::vector<pid_t> shepherds = executor_->ShepherdPids();
  executor_->End(ref, EndHow::kKill, Cause::kStopped);
  executor_->Pause(false);  // sends at once; from here on this thread reads nothing
  auto childless = [&] {
    int children = 0;
    for (pid_t pid : shepherds) shepherd::ProcessTree(pid).Each([&](pid_t) { ++children; });
    return children == 0;
  };
  EXPECT_TRUE(Until(Duration::Seconds(20), childless));
  EXPECT_EQ(Await(ref).end.cause, Cause::kStopped);
}

TEST_F(ProcessExecutorTest, OneSlotAfterAnother) {
  options_.slots = 40;
  for (uint16_t slot = 40; slot >= 1; --slot) Start(Plain({"true"}), slot);
  RunUntil([&] { return ended_.size() == 40; });
  EXPECT_EQ(executor_->ShepherdPids().size(), 40u);
}

TEST_F(ProcessExecutorTest, ALackOfProcessesIsWaitedFor) {
  // Root is not bound by RLIMIT_NPROC, a limit on descriptors binds everybody.
  TaskBody body;
  body.steps = {{{}}};
  for (int i = 0; i < 30; ++i) body.steps[0].commands.push_back({{"cat"}});
  PipeCommands(body);
  AttemptRef plain = Start(Plain({"true"}));
  Await(plain);
  pid_t pid = executor_->ShepherdPids().at(0);
  rlimit before;
  ASSERT_EQ(prlimit(pid, RLIMIT_NOFILE, nullptr, &before), 0);
  rlimit few{24, before.rlim_max};
  ASSERT_EQ(prlimit(pid, RLIMIT_NOFILE, &few, nullptr), 0);
  AttemptRef ref = Start(body);
  EXPECT_FALSE(Until(Duration::Millis(50), [&] { return false; }));
  loop_->At(loop_->Now() + Duration::Millis(100),
            [&] { prlimit(pid, RLIMIT_NOFILE, &before, nullptr); });
  const Ended& ended = Await(ref);
  EXPECT_EQ(ended.end.cause, Cause::kSuccess);
  EXPECT_EQ(ended.end.note, "had to wait for the system: Too many open files");
  // While it waits it can be taken back.
  ASSERT_EQ(prlimit(pid, RLIMIT_NOFILE, &few, nullptr), 0);
  AttemptRef second = Start(body);
  executor_->Withdraw(second);
  RunUntil([&] { return taken_back_.contains(second.index); });
  ASSERT_EQ(prlimit(pid, RLIMIT_NOFILE, &before, nullptr), 0);
}

class FewFilesTest : public ProcessExecutorTest {
 protected:
  FewFilesTest() {
    options_.on_trouble = [this](std::string text) { troubles_.push_back(text); };
    getrlimit(RLIMIT_NOFILE, &before_);
  }
  ~FewFilesTest() override { setrlimit(RLIMIT_NOFILE, &before_); }
  void SetLimit(rlim_t files) {
    rlimit few{files, before_.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  }
  rlimit before_;
  std::vector<std::string> troubles_;
};

TEST_F(FewFilesTest, TheFirstShepherdIsTriedAgain) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer itself wants descriptors";
#endif
  options_.made_at_start = 0;
  Make();
  SetLimit(3);
  AttemptRef ref = Start(Plain({"true"}));
  AttemptRef back = Start(Plain({"true"}));
  AttemptRef stopped = Start(Plain({"true"}));
  executor_->Withdraw(back);
  executor_->End(stopped, EndHow::kTerm, Cause::kStopped);
  EXPECT_TRUE(taken_back_.empty() && ended_.empty());  // never from inside
  RunUntil([&] { return taken_back_.contains(back.index) && ended_.contains(stopped.index); });
  EXPECT_EQ(ended_[stopped.index].end.cause, Cause::kStopped);
  EXPECT_FALSE(ended_.contains(ref.index));
  ASSERT_EQ(troubles_.size(), 1u);
  EXPECT_NE(troubles_[0].find("Too many open files"), std::string::npos) << troubles_[0];
  SetLimit(before_.rlim_cur);
  EXPECT_EQ(Await(ref).end.cause, Cause::kSuccess);
}

TEST_F(FewFilesTest, OthersRunTheTasksOfASlotWithoutShepherd) {
  options_.slots = 100;
  options_.task_open_files = 50;
  Make();
  Run("true");
  SetLimit(20);
  std::vector<AttemptRef> refs;
  for (uint16_t slot = 1; slot <= 100; ++slot) {
    refs.push_back(Start(Shell("echo $SPATE_SLOT; ulimit -n"), slot));
  }
  RunUntil([&] { return ended_.size() == 101; });
  EXPECT_LT(executor_->ShepherdPids().size(), 20u);
  for (size_t i = 0; i < refs.size(); ++i) {
    const Ended& ended = ended_[refs[i].index];
    EXPECT_EQ(ended.end.cause, Cause::kSuccess) << ended.end.note;
    EXPECT_EQ(ended.end.slot, i + 1);
    EXPECT_TRUE(ended.output->out.bytes.ends_with("\n20\n") ||
                ended.output->out.bytes.ends_with("\n50\n"));
  }
  EXPECT_EQ(ended_[refs[0].index].output->out.bytes, "\n50\n");
  EXPECT_EQ(troubles_.size(), 1u);
}

TEST_F(ProcessExecutorTest, AFullDiskForOutputIsSaid) {
  options_.spool_folder = "/nowhere";
  const Ended& ended = Run("seq 1 100000");
  EXPECT_EQ(ended.end.cause, Cause::kCheck);
  EXPECT_EQ(ended.end.stdout_total, 588895u);
  EXPECT_EQ(ended.output->out.total, 65536u);
  EXPECT_EQ(ended.output->out.bytes.size(), 65536u);
  EXPECT_TRUE(ended.end.note.starts_with("output beyond the first 64 KB is lost: cannot write "))
      << ended.end.note;
}

}  // namespace
}  // namespace spate::node

int main(int argc, char** argv) {
  if (auto status = spate::shepherd::ShepherdEntry(argc, argv)) return *status;
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
