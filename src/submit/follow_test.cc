// A job of a hub that is followed or waited for, where the hub says what the test says.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cli/exit_code.h"
#include "client/testing_hub.h"
#include "submit/hub_submit.h"
#include "submit/hub_wait.h"
#include "view/testing_view.h"

namespace spate::submit {
namespace {

using client::testing::FakeHub;
using engine::Verdict;

const JobId kJob{12};

wire::JobNews NewsOf(uint32_t succeeded, uint32_t failed, uint32_t total, bool finished = false) {
  wire::JobNews news{.job = kJob, .finished = finished, .nodes = 1};
  news.counts.succeeded = succeeded;
  news.counts.failed = failed;
  news.counts.total = total;
  news.counts.queued = total - succeeded - failed;
  return news;
}

wire::JobNews HeldBy(HoldReason reason, uint32_t succeeded, uint32_t total) {
  wire::JobNews news = NewsOf(succeeded, 0, total);
  news.held = static_cast<uint32_t>(reason);
  return news;
}

// The end of a task that wrote `out`; `code`: its exit code.
wire::EndsRead EndAt(uint64_t position, TaskIndex index, const std::string& out, int code = 0) {
  wire::EndsRead read{.position = position};
  AttemptEnd end = cli::EndOf(index);
  if (code != 0) {
    end.cause = Cause::kExit;
    end.status = code;
  }
  read.ends.ends.push_back(end);
  read.ends.outputs.push_back(cli::Wrote(out));
  read.verdicts.push_back(code == 0 ? Verdict::kSucceeded : Verdict::kFailed);
  return read;
}

// The same of a task whose streams, with so many bytes, have come before it as pieces.
wire::EndsRead EndBehindPieces(uint64_t position, TaskIndex index, uint64_t out, uint64_t err) {
  wire::EndsRead read = EndAt(position, index, "");
  TaskOutput output;
  output.out.total = out;
  output.err.total = err;
  read.ends.outputs[0] = std::make_shared<const TaskOutput>(std::move(output));
  return read;
}

template <typename Reply>
Reply Last(Reply read) {
  read.finished = true;
  return read;
}

bool Has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

class FollowTest : public client::testing::HubTest {
 protected:
  FollowTest()
      : setting_{.here = client::Surroundings::Find().value()}, call_(*loop_, hub_.target()) {
    hub_.on_request = [this](const FakeHub::Came& each) {
      if (const auto* ends = std::get_if<wire::ReadEnds>(&each.request))
        return on_ends(each.id, *ends);
      if (std::holds_alternative<wire::Watch>(each.request)) return on_watch(each.id);
      if (std::holds_alternative<wire::Query>(each.request)) hub_.Reply(each.id, wire::QueryDone());
    };
  }
  template <typename... Replies>
  void Tell(uint32_t id, const Replies&... replies) {
    (hub_.Reply(id, replies), ...);
  }
  // Streams are as a person would have them.
  Result<int> Captured(const std::function<Result<int>()>& act) {
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    auto code = act();
    out_ = ::testing::internal::GetCapturedStdout();
    err_ = ::testing::internal::GetCapturedStderr();
    return code;
  }
  Result<int> Follow(uint32_t tasks) {
    JobSettings settings;
    settings.cwd = "/";
    settings.row_kind = RowKind::kValues;
    settings.command = {"echo", "{}"};
    auto job = Submission::Of(std::move(settings), {"--", "echo", "{}"});
    job.SetTasks(
        tasks, [](size_t) { return Needs(); },
        [](size_t i) { return "v" + std::to_string(i + 1); });
    return Captured([&] { return FollowJob(call_, setting_, options_, job, kJob); });
  }
  Result<int> Wait(WaitOptions how = {}) {
    return Captured(
        [&] { return Waiter(call_, *loop_, setting_.here, std::move(how)).Wait(kJob); });
  }

  client::HubSetting setting_;
  client::HubCall call_;
  cli::SubmitOptions options_;
  std::function<void(uint32_t id, const wire::ReadEnds&)> on_ends = [](uint32_t, const auto&) {};
  std::function<void(uint32_t id)> on_watch = [](uint32_t) {};
  std::string out_, err_;
};

// ---- `run --hub` -------------------------------------------------------------------------------

TEST_F(FollowTest, OutputIsShownAsTasksEnd) {
  on_ends = [&](uint32_t id, const wire::ReadEnds& from) {
    EXPECT_EQ(from.after, 0u);
    Tell(id, NewsOf(0, 0, 2), EndAt(1, 1, "two\n"), NewsOf(2, 0, 2, true),
         Last(EndAt(2, 0, "one\n")));
  };
  EXPECT_EQ(Follow(2).value(), cli::kExitSuccess);
  EXPECT_EQ(out_, "two\none\n");
  EXPECT_TRUE(Has(err_, "2 tasks: 2 succeeded")) << err_;
}

// The journal may tell of the last end before the hub tells the counts.
TEST_F(FollowTest, TheCountsOfTheEndAreWaitedFor) {
  on_ends = [&](uint32_t id, const wire::ReadEnds&) { Tell(id, Last(EndAt(1, 0, "one\n"))); };
  on_watch = [&](uint32_t id) { Tell(id, NewsOf(0, 0, 1), NewsOf(1, 0, 1, true)); };
  EXPECT_EQ(Follow(1).value(), cli::kExitSuccess);
  EXPECT_TRUE(Has(err_, "1 succeeded")) << err_;
}

TEST_F(FollowTest, AJobOfOneTaskHasItsCode) {
  for (uint32_t tasks : {1u, 2u}) {
    on_ends = [&](uint32_t id, const wire::ReadEnds&) {
      Tell(id, NewsOf(tasks - 1, 1, tasks, true));
      if (tasks == 2) Tell(id, EndAt(1, 1, ""));
      Tell(id, Last(EndAt(2, 0, "", 7)));
    };
    EXPECT_EQ(Follow(tasks).value(), tasks == 1 ? 7 : cli::kExitTasksFailed);
    EXPECT_TRUE(Has(err_, "echo v1")) << err_;  // its command, by its row
  }
}

TEST_F(FollowTest, LongOutputComesInPieces) {
  on_ends = [&](uint32_t id, const wire::ReadEnds&) {
    Tell(id, wire::Printed{1, "long "}, wire::Printed{2, "trouble\n"}, wire::Printed{1, "text\n"},
         NewsOf(1, 0, 1, true), Last(EndBehindPieces(1, 0, 10, 8)));
  };
  EXPECT_EQ(Follow(1).value(), cli::kExitSuccess);
  EXPECT_EQ(out_, "long text\n");
  EXPECT_TRUE(Has(err_, "trouble\n")) << err_;
}

TEST_F(FollowTest, GoesOnWhereItWasWhenTheHubIsBack) {
  int tries = 0;
  on_ends = [&](uint32_t id, const wire::ReadEnds& from) {
    if (++tries == 1) {
      // Half of a long output is lost with the connection, and comes again.
      Tell(id, NewsOf(0, 0, 2), EndAt(5, 0, "one\n"), wire::Printed{1, "half"});
      loop_->At(loop_->Now() + Duration::Millis(20), [this] { hub_.Drop(); });
      return;
    }
    EXPECT_EQ(from.after, 5u);
    Tell(id, wire::Printed{1, "whole\n"}, NewsOf(2, 0, 2, true), Last(EndBehindPieces(6, 1, 6, 0)));
  };
  EXPECT_EQ(Follow(2).value(), cli::kExitSuccess);
  EXPECT_EQ(tries, 2);
  EXPECT_EQ(out_, "one\nwhole\n");
  EXPECT_TRUE(Has(err_, "the hub is unreachable")) << err_;
}

TEST_F(FollowTest, AJobThatHasStoppedByItsRuleEndsIt) {
  options_.run.policy.max_failures = 1;
  on_ends = [&](uint32_t id, const wire::ReadEnds&) {
    wire::JobNews held = HeldBy(HoldReason::kMaxFailures, 0, 3);
    held.counts.failed = 1;
    held.counts.queued = 2;
    // Its end has not been read yet.
    Tell(id, held, EndAt(1, 0, "", 3));
  };
  EXPECT_EQ(Follow(3).value(), cli::kExitTasksFailed);
  EXPECT_TRUE(Has(err_, "1 failed")) << err_;
}

TEST_F(FollowTest, OutputThatIsDamagedIsTold) {
  on_ends = [&](uint32_t id, const wire::ReadEnds&) {
    wire::EndsRead end = EndAt(1, 0, "");
    end.ends.ends.front().not_kept = NotKept::kDamaged;
    Tell(id, NewsOf(1, 0, 1, true), Last(end));
  };
  EXPECT_EQ(Follow(1).value(), cli::kExitTasksFailed);
  EXPECT_TRUE(Has(err_, "was not kept")) << err_;
}

TEST_F(FollowTest, ARefusalEndsIt) {
  on_ends = [&](uint32_t id, const wire::ReadEnds&) {
    Tell(id, wire::Failed{ErrorKind::kPermission, "not yours"});
  };
  EXPECT_EQ(Follow(1).error().message, "not yours");
}

// The second Ctrl-C comes while it says how to come back.
TEST_F(FollowTest, TwoInterruptsCancelTheJob) {
  on_ends = [&](uint32_t id, const wire::ReadEnds&) {
    Tell(id, NewsOf(0, 0, 2));
    loop_->At(loop_->Now() + Duration::Millis(10), [this] {
      call_.Interrupt();
      loop_->At(loop_->Now() + Duration::Millis(10), [this] { call_.Interrupt(); });
    });
  };
  EXPECT_EQ(Follow(2).value(), cli::kExitInterrupted);
  EXPECT_TRUE(Has(err_, "job 12 continues without this terminal, 0 of 2 tasks ended")) << err_;
  std::vector<wire::Cancel> cancels;
  for (const auto* asked : hub_.All<wire::Query>()) {
    if (auto cancel = asked->question.As<wire::Cancel>()) cancels.push_back(*cancel);
  }
  ASSERT_EQ(cancels.size(), 1u);
  EXPECT_TRUE(cancels[0].jobs.Contains(kJob.value, 0));
}

// ---- `job wait` --------------------------------------------------------------------------------

TEST_F(FollowTest, AWaitEndsWithTheJob) {
  on_watch = [&](uint32_t id) { Tell(id, NewsOf(0, 0, 2), NewsOf(2, 0, 2, true)); };
  EXPECT_EQ(Wait().value(), cli::kExitSuccess);
  EXPECT_EQ(err_, "");
  on_watch = [&](uint32_t id) { Tell(id, NewsOf(1, 1, 2, true)); };
  EXPECT_EQ(Wait().value(), cli::kExitTasksFailed);
  EXPECT_TRUE(Has(err_, "1 of 2 tasks succeeded, 1 failed")) << err_;
  EXPECT_TRUE(Has(err_, "spate job retry")) << err_;
  EXPECT_EQ(Wait({.quiet = true}).value(), cli::kExitTasksFailed);
  EXPECT_FALSE(Has(err_, "succeeded")) << err_;
}

TEST_F(FollowTest, AWaitSaysOnceWhyTheJobDoesNotGoOn) {
  on_watch = [&](uint32_t id) {
    Tell(id, HeldBy(HoldReason::kUser, 0, 2), HeldBy(HoldReason::kUser, 1, 2),
         NewsOf(2, 0, 2, true));
  };
  EXPECT_EQ(Wait({.reach = " --access f"}).value(), cli::kExitSuccess);
  const size_t first = err_.find("job 12 is held");
  ASSERT_NE(first, std::string::npos) << err_;
  EXPECT_EQ(err_.find("job 12 is held", first + 1), std::string::npos) << err_;
  EXPECT_TRUE(Has(err_, "spate job release --access f 12")) << err_;
}

TEST_F(FollowTest, AWaitForASubmitEndsWhereTheJobHasStopped) {
  on_watch = [&](uint32_t id) { Tell(id, HeldBy(HoldReason::kAllFail, 0, 2)); };
  EXPECT_EQ(Wait({.stopped = HaltRule()}).value(), cli::kExitTasksFailed);
  // Others wait until it is released.
  on_watch = [&](uint32_t id) {
    Tell(id, HeldBy(HoldReason::kAllFail, 0, 2), NewsOf(2, 0, 2, true));
  };
  EXPECT_EQ(Wait().value(), cli::kExitSuccess);
}

TEST_F(FollowTest, AWaitOutlastsTheHub) {
  int tries = 0;
  on_watch = [&](uint32_t id) {
    if (++tries < 3) return hub_.Drop();
    Tell(id, NewsOf(1, 0, 1, true));
  };
  EXPECT_EQ(Wait().value(), cli::kExitSuccess);
  EXPECT_EQ(tries, 3);
  const size_t first = err_.find("the hub is unreachable");
  ASSERT_NE(first, std::string::npos) << err_;
  EXPECT_EQ(err_.find("the hub is unreachable", first + 1), std::string::npos) << err_;
}

TEST_F(FollowTest, AWaitThatIsInterruptedSaysHowToComeBack) {
  on_watch = [&](uint32_t id) {
    Tell(id, NewsOf(0, 0, 1));
    loop_->At(loop_->Now() + Duration::Millis(10), [this] { call_.Interrupt(); });
  };
  EXPECT_EQ(Wait().value(), cli::kExitInterrupted);
  EXPECT_TRUE(Has(err_, "job 12 continues")) << err_;
  EXPECT_TRUE(Has(err_, "spate job wait 12")) << err_;
}

TEST_F(FollowTest, AWaitForAnAbsentJobIsRefused) {
  on_watch = [&](uint32_t id) { Tell(id, wire::Failed{ErrorKind::kNotFound, "no job 12"}); };
  EXPECT_EQ(Wait().error().kind, ErrorKind::kNotFound);
}

TEST_F(FollowTest, AWaitWithFilesToComeFailsWhereOutputWasNotKept) {
  on_watch = [&](uint32_t id) {
    wire::JobNews news = NewsOf(1, 0, 1, true);
    news.not_kept.push_back({NotKept::kDamaged, 1});
    Tell(id, news);
  };
  EXPECT_EQ(Wait({.quiet = true}).value(), cli::kExitSuccess);
  EXPECT_EQ(Wait({.quiet = true, .needs_output = true}).value(), cli::kExitTasksFailed);
  EXPECT_TRUE(Has(err_, "was not kept")) << err_;
}

}  // namespace
}  // namespace spate::submit
