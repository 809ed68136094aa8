// Lists of the processes below real shepherds.
#include "node/process_list.h"

#include <signal.h>

#include <cstdlib>
#include <optional>

#include "node/part_body.h"
#include "node/testing_executor.h"

namespace spate::node {
namespace {

struct ProcessListTest : ProcessExecutorTest {
  // Also with what GPUs tell, if `gpus`.
  ProcessList& List(bool gpus = false) {
    if (!list_) {
      list_.emplace(*loop_, gpus, [this] {
        ++looks_;
        return executor_->Roots();
      });
    }
    return *list_;
  }
  ListedProcesses Read() {
    std::optional<ListedProcesses> told;
    RunUntil([&, until = loop_->Now() + ProcessList::kFresh] { return loop_->Now() > until; });
    List().Read([&](const ListedProcesses& all) {
      told = all;
      Look();
    });
    RunUntil([&] { return told.has_value(); });
    return told.value_or(ListedProcesses());
  }
  std::vector<ProcessFacts> Of(const AttemptRef& ref) {
    ListedProcesses all = Read();
    return all.contains(ref) ? all.at(ref) : std::vector<ProcessFacts>();
  }
  // Until the next look: processes take a moment to start.
  void Pause() {
    bool over = false;
    loop_->At(loop_->Now() + Duration::Millis(20), [&] { over = true; });
    RunUntil([&] { return over; });
  }
  // The processes with this text in their commands, once there are so many.
  std::vector<ProcessFacts> Having(const AttemptRef& ref, const std::string& text, size_t count) {
    std::vector<ProcessFacts> found;
    for (int i = 0; i < 1'000 && found.size() != count; ++i) {
      if (i > 0) Pause();
      found = Of(ref);
      std::erase_if(found, [&](const auto& each) { return !each.command.contains(text); });
    }
    EXPECT_EQ(found.size(), count) << text;
    found.resize(count);
    return found;
  }
  void AwaitFile(const std::string& name) {
    RunUntil([&] { return os::Exists(dir_.Path(name)); });
  }

  std::optional<ProcessList> list_;
  int looks_ = 0;
};

TEST_F(ProcessListTest, HasAllThatATaskForksHoweverItRunsAway) {
  uint16_t slot = 1;
  settings_.leftovers = Leftovers::kWait;
  for (const auto& [way, text] : WaysToRunAway()) {
    if (slot > 4) break;
    const AttemptRef ref = Start(Shell(WithMark(text, mark_) + "\nsleep 9999." + mark_), slot++);
    size_t expected = way == "a tree" ? 10 : 2;
    if (way == "ignoring signals") expected = 2;
    std::vector<ProcessFacts> found;
    for (int i = 0; i < 1'000 && found.size() != expected; ++i) {
      if (i > 0) Pause();
      found = Of(ref);
      std::erase_if(found, [&](const ProcessFacts& each) {
        return !each.command.starts_with("sleep 9999." + mark_);
      });
    }
    EXPECT_EQ(found.size(), expected) << way;
    for (const ProcessFacts& process : found) {
      EXPECT_EQ(process.threads, 1u);
      EXPECT_GT(process.memory, 0u);
      EXPECT_GT(process.start, 0u);
      EXPECT_LT(process.elapsed, Duration::Seconds(60));
    }
  }
}

TEST_F(ProcessListTest, AttemptsHaveTheirOwnAndEndAlone) {
  const AttemptRef one = Start(Shell("sleep 9999." + mark_ + " & wait"), 1);
  const AttemptRef two = Start(Shell("sleep 9999." + mark_ + " & wait"), 2);
  const auto before = Having(two, "sleep 9999.", 2);  // the shell's words have it, too
  Having(one, "sleep 9999.", 2);
  executor_->End(one, EndHow::kKill, Cause::kStopped);
  Await(one);
  EXPECT_TRUE(Of(one).empty());
  const auto after = Having(two, "sleep 9999.", 2);
  EXPECT_EQ(before[0].pid, after[0].pid);
  EXPECT_EQ(before[1].pid, after[1].pid);
  EXPECT_EQ(before[1].parent, before[0].pid);
}

TEST_F(ProcessListTest, AnotherProgramIsShownAndAnotherName) {
  const AttemptRef ref = Start(Plain(
      {"/bin/bash", "-c",
       "until test -e go; do sleep 0.01; done; exec -a 'renamed\033[2J' sleep 9999." + mark_}));
  const uint32_t pid = Having(ref, "until test -e go", 1).at(0).pid;
  dir_.Write("go", "");
  const ProcessFacts now = Having(ref, "renamed\033[2J 9999." + mark_, 1).at(0);
  EXPECT_EQ(now.pid, pid);
}

TEST_F(ProcessListTest, AHungShepherdNeedNotAnswer) {
  const AttemptRef ref = Start(Plain({"/bin/sleep", "9999." + mark_}));
  Having(ref, "9999.", 1);
  const pid_t shepherd = executor_->ShepherdPids().at(0);
  ASSERT_EQ(kill(shepherd, SIGSTOP), 0);
  Having(ref, "9999.", 1);
  kill(shepherd, SIGCONT);
}

TEST_F(ProcessListTest, RanksOfALauncherAreThoseBelowIt) {
  const std::string text = "OMPI_COMM_WORLD_RANK=3 sh -c 'sleep 9999." + mark_ + "; :'; :";
  const AttemptRef launcher = Start(Shell(text), 1);
  EXPECT_EQ(Having(launcher, "sleep 9999.", 3).at(2).rank, 3u);
  EXPECT_EQ(Having(launcher, "sleep 9999.", 3).at(0).rank, std::nullopt);
  // One that the whole task has inherited is another job's.
  TaskBody body = Shell("sleep 9999." + mark_ + "; :");
  body.environment = {"PMI_RANK=5"};
  const AttemptRef heir = Start(std::move(body), 2);
  for (const ProcessFacts& process : Having(heir, "sleep 9999.", 2)) {
    EXPECT_EQ(process.rank, std::nullopt) << process.command;
  }
}

TEST_F(ProcessListTest, OneLookServesThoseWhoAskAtTheSameTime) {
  const AttemptRef ref = Start(Plain({"/bin/sleep", "9999." + mark_}));
  Having(ref, "9999.", 1);
  Read();
  const int before = looks_;
  int told = 0;
  for (int i = 0; i < 10; ++i) {
    List().Read([&](const ListedProcesses& all) {
      EXPECT_EQ(all.at(ref).size(), 1u);
      ++told;
    });
  }
  EXPECT_EQ(told, 10);
  EXPECT_EQ(looks_, before);
}

TEST_F(ProcessListTest, GpuMemoryIsAskedWithBoundedPatience) {
  const AttemptRef ref = Start(Plain({"/bin/sleep", "9999." + mark_}));
  const std::string path = std::getenv("PATH");
  setenv("PATH", (dir_.path() + ":" + path).c_str(), 1);
  List(true);
  EXPECT_EQ(Having(ref, "9999.", 1).at(0).gpu_memory, std::nullopt) << "there is no such program";
  list_.reset();
  List(true);
  const uint32_t pid = Having(ref, "9999.", 1).at(0).pid;
  list_.reset();
  List(true);
  dir_.Write("nvidia-smi",
             fmt::format("#!/bin/sh\necho '{0}, 100'\necho '{0}, 28'\necho 1, [N/A]\n", pid));
  ASSERT_EQ(chmod(dir_.Path("nvidia-smi").c_str(), 0755), 0);
  EXPECT_EQ(Having(ref, "9999.", 1).at(0).gpu_memory, uint64_t{128} << 20);
  dir_.Write("nvidia-smi", "#!/bin/sh\nexec sleep 60\n");
  const Instant before = loop_->Now();
  EXPECT_EQ(Having(ref, "9999.", 1).at(0).gpu_memory, std::nullopt);
  EXPECT_LT(loop_->Now() - before, Duration::Seconds(2));
  setenv("PATH", path.c_str(), 1);
}

}  // namespace
}  // namespace spate::node
