#include "submit/hub_wait.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "cli/exit_code.h"
#include "cli/options/shared.h"
#include "os/real_loop.h"

namespace spate::submit {
namespace {

std::string KeyWith(Why why) {
  return KeyOfWait({.job = JobId(1), .nodes = 1, .why = std::move(why)});
}

TEST(KeyOfWait, IsWithoutTimesAndCounts) {
  auto next_try = [](int64_t seconds) {
    return KeyWith({{ReasonKind::kNextTry, {}, {Duration::Seconds(seconds)}, {}}});
  };
  EXPECT_EQ(next_try(10), next_try(9));
  auto share = [](int64_t others) {
    return KeyWith({{ReasonKind::kFairShare, {others, 1}, {}, {}}});
  };
  EXPECT_EQ(share(3), share(4));
  EXPECT_NE(next_try(10), share(3));
}

TEST(KeyOfWait, ChangesWithItsSubject) {
  auto after = [](int64_t job) { return KeyWith({{ReasonKind::kAfterJob, {job, 0}, {}, {}}}); };
  EXPECT_NE(after(1), after(2));
  auto lacks = [](std::string label) {
    return KeyWith({{ReasonKind::kLacksLabel, {}, {}, {std::move(label), "n1"}}});
  };
  EXPECT_NE(lacks("big"), lacks("small"));
  auto pool = [](std::string name, std::string state) {
    return KeyWith({{ReasonKind::kPoolState, {1, 0}, {}, {std::move(name), std::move(state)}}});
  };
  EXPECT_EQ(pool("p", "5s"), pool("p", "6s"));
  EXPECT_NE(pool("p", "5s"), pool("q", "5s"));
  wire::JobNews held{.job = JobId(1), .held = 1, .nodes = 1};
  EXPECT_NE(KeyOfWait(held), KeyWith({}));
}

// Jobs whose ends are known, by number: an exit code, or an error.
struct Ends {
  std::map<uint32_t, Result<int>> by_job;
  bool skips = false;
  uint32_t interrupted_by = 0;  // the job at which Ctrl-C comes
  std::vector<uint32_t> waited = {};

  Result<int> Wait(std::vector<std::string> words, const cli::Option* timeout = nullptr) {
    cli::Words typed;
    typed.words = std::move(words);
    if (timeout != nullptr) typed.options.push_back({timeout, "0.001"});
    auto loop = os::RealLoop::Create().value();
    bool interrupted = false;
    const Waits of{.pick = [](const JobSelector& jobs) -> Result<std::vector<uint32_t>> {
                     std::vector<uint32_t> numbers;
                     if (jobs.last) numbers.push_back(9);
                     for (const NumberRange& range : jobs.ranges) {
                       for (uint32_t n = range.first; n <= range.last; ++n) numbers.push_back(n);
                     }
                     return numbers;
                   },
                   .wait = [&](uint32_t job) -> Result<int> {
                     waited.push_back(job);
                     interrupted |= job == interrupted_by;
                     if (timeout != nullptr) loop->Run();  // until the timeout
                     return by_job.at(job);
                   },
                   .interrupt =
                       [&] {
                         interrupted = true;
                         loop->Stop();
                       },
                   .interrupted = [&] { return interrupted; },
                   .passes_over_absent = skips};
    return WaitForEach(typed, *loop, of);
  }
};

const Result<int> kAbsent = std::unexpected(Error{ErrorKind::kNotFound, "no such job"});

TEST(WaitForEach, HasTheHighestCodeOfAllJobs) {
  Ends ends{{{1, 0}, {2, 1}, {3, 0}, {9, 7}}};
  EXPECT_EQ(ends.Wait({"1-2", "3"}).value(), 1);
  EXPECT_EQ(ends.waited, (std::vector<uint32_t>{1, 2, 3}));
  EXPECT_EQ(ends.Wait({}).value(), 7);  // the last job
}

TEST(WaitForEach, PassesOverAbsentJobsAmongSeveralAlone) {
  Ends ends{{{1, 0}, {2, kAbsent}, {3, 1}}};
  EXPECT_FALSE(ends.Wait({"1-3"}));
  ends.skips = true;
  EXPECT_EQ(ends.Wait({"1-3"}).value(), 1);
  EXPECT_FALSE(ends.Wait({"2"}));
}

TEST(WaitForEach, EndsWhereItIsInterrupted) {
  Ends ends{{{1, 0}, {2, 130}, {3, 0}}, false, 2};
  EXPECT_EQ(ends.Wait({"1-3"}).value(), 130);
  EXPECT_EQ(ends.waited, (std::vector<uint32_t>{1, 2}));
}

TEST(WaitForEach, EndsWithItsTimeout) {
  Ends ends{{{1, 130}, {2, 0}}};
  EXPECT_EQ(ends.Wait({"1-2"}, &cli::opt::kTimeout).value(), cli::kExitTimedOut);
  EXPECT_EQ(ends.waited, (std::vector<uint32_t>{1}));
}

}  // namespace
}  // namespace spate::submit
