// Uploads to a hub that accepts, refuses or is lost as the test says.
#include "client/submission.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/testing_hub.h"
#include "wire/limits.h"

namespace spate::client {
namespace {

using testing::FakeHub;

class SubmissionTest : public testing::HubTest {
 protected:
  SubmissionTest() : call_(*loop_, hub_.target()) {}

  static Submission Of(std::vector<std::string> rows) {
    JobSettings settings;
    settings.cwd = "/";
    Submission made = Submission::Of(std::move(settings), {"--", "true"});
    made.head.submission = "host/1-2";
    const auto count = static_cast<uint32_t>(rows.size());
    made.SetTasks(count, [](size_t) { return Needs(); }, [rows](size_t i) { return rows[i]; });
    return made;
  }
  // At each end of an upload, what `reply` says.
  void AtTheEnd(std::function<void(uint32_t id)> reply) {
    hub_.on_request = [reply = std::move(reply)](const FakeHub::Came& each) {
      if (std::holds_alternative<wire::SubmitEnd>(each.request)) reply(each.id);
    };
  }

  HubCall call_;
};

TEST(SubmissionOf, KeepsOutputAndNamesWhatWasTyped) {
  const Submission job = Submission::Of({}, {"--", "true"});
  EXPECT_EQ(job.head.keep_output, kKeepOutput);
  EXPECT_EQ(job.head.argv, (std::vector<std::string>{"--", "true"}));
  EXPECT_EQ(job.again, Submission::Again::kNever);
  EXPECT_EQ(job.head.add_to, JobId());
}

TEST(SubmissionOf, EqualNeedsAreOneRequest) {
  Submission job = Submission::Of({}, {});
  auto needs = [](size_t i) {
    Needs each;
    each.milli_cpus = i == 1 ? 2000 : 1000;
    return each;
  };
  job.SetTasks(4, needs, [](size_t i) { return "row " + std::to_string(i); });
  EXPECT_EQ(job.end.count, 4u);
  ASSERT_EQ(job.end.requests.size(), 2u);
  EXPECT_EQ(job.end.requests[1].needs.milli_cpus, 2000u);
  ASSERT_EQ(job.end.runs.size(), 3u);  // 1, 1, 2
  EXPECT_EQ(job.end.runs[2].first, 2u);
  EXPECT_EQ(job.end.runs[2].count, 2u);
  EXPECT_EQ(job.end.runs[2].request, 0u);
  for (int walk = 0; walk < 2; ++walk) {
    std::vector<std::string> rows;
    job.rows([&](std::string_view row) { rows.emplace_back(row); });
    EXPECT_EQ(rows, (std::vector<std::string>{"row 0", "row 1", "row 2", "row 3"}));
  }
}

// Tasks that are added later may find it.
TEST(SubmissionOf, OfNoTasksIsOneRequest) {
  Submission job = Submission::Of({}, {});
  job.SetTasks(0, nullptr, nullptr);
  EXPECT_EQ(job.end.requests.size(), 1u);
  EXPECT_TRUE(job.end.runs.empty());
}

TEST(SubmissionOf, EachRequestNeedsTheFeature) {
  Submission job = Submission::Of({}, {});
  auto needs = [](size_t i) {
    Needs each;
    each.labels = {i == 0 ? "big" : "a"};
    return each;
  };
  job.SetTasks(2, needs, [](size_t) { return std::string(); });
  job.NeedFeature("bash");
  EXPECT_EQ(job.end.requests[0].needs.labels, (std::vector<std::string>{"@bash", "big"}));
  EXPECT_EQ(job.end.requests[1].needs.labels, (std::vector<std::string>{"@bash", "a"}));
  job.NeedFeature("pmix");
  EXPECT_EQ(job.end.requests[1].needs.labels, (std::vector<std::string>{"@bash", "@pmix", "a"}));
}

TEST_F(SubmissionTest, AllOfItIsOneRequest) {
  AtTheEnd([this](uint32_t id) { hub_.Reply(id, wire::Accepted{JobId(5), false, 2}); });
  Submission job = Of(std::vector<std::string>(20'000, "true"));
  job.pieces = {"some", "bytes"};
  job.edges = {{0, 1}, {0, 2}};
  auto accepted = Submit(call_, job);
  ASSERT_TRUE(accepted) << accepted.error().message;
  EXPECT_EQ(accepted->job, JobId(5));
  EXPECT_EQ(accepted->nodes, 2u);
  for (const FakeHub::Came& each : hub_.came) EXPECT_EQ(each.id, hub_.came[0].id);
  EXPECT_TRUE(std::holds_alternative<wire::Submit>(hub_.came[0].request));
  EXPECT_EQ(hub_.All<wire::PutPieces>().size(), 2u);
  auto rows = hub_.All<wire::Rows>();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0]->rows.size() + rows[1]->rows.size(), 20'000u);
  ASSERT_EQ(hub_.All<wire::Edges>().size(), 1u);
  EXPECT_EQ(hub_.All<wire::Edges>()[0]->edges.size(), 2u);
  EXPECT_EQ(hub_.All<wire::SubmitEnd>()[0]->count, 20'000u);
}

TEST_F(SubmissionTest, AfterALostConnectionTheSameIsSentAgain) {
  int tries = 0;
  AtTheEnd([&](uint32_t id) {
    if (++tries == 1) return hub_.Drop();  // nobody knows whether it was accepted
    hub_.Reply(id, wire::Accepted{JobId(5), /*known=*/true});
  });
  Submission job = Of({"true", "false"});
  job.again = Submission::Again::kLost;
  auto accepted = Submit(call_, job);
  ASSERT_TRUE(accepted) << accepted.error().message;
  EXPECT_TRUE(accepted->known);
  auto heads = hub_.All<wire::Submit>();
  ASSERT_EQ(heads.size(), 2u);
  EXPECT_EQ(heads[0]->submission, heads[1]->submission);
  EXPECT_EQ(hub_.All<wire::Rows>()[1]->rows, (std::vector<std::string>{"true", "false"}));
  EXPECT_EQ(hub_.greetings.size(), 2u);
}

TEST_F(SubmissionTest, WhatTheHubCannotTellFromAnotherIsSentOnce) {
  AtTheEnd([&](uint32_t) { hub_.Drop(); });
  for (auto again : {Submission::Again::kNever, Submission::Again::kBusy}) {
    hub_.came.clear();
    Submission job = Of({"true"});
    job.again = again;
    auto accepted = Submit(call_, job);
    ASSERT_FALSE(accepted);
    EXPECT_EQ(accepted.error().kind, ErrorKind::kUnavailable);
    EXPECT_EQ(hub_.All<wire::Submit>().size(), 1u);
  }
}

TEST_F(SubmissionTest, WhatTheHubHasNotAnsweredIsUnknown) {
  AtTheEnd([&](uint32_t) { call_.Interrupt(); });
  Submission job = Of({"true"});
  job.again = Submission::Again::kLost;
  auto accepted = Submit(call_, job);
  ASSERT_FALSE(accepted);
  EXPECT_EQ(accepted.error().kind, ErrorKind::kUnknown);
  EXPECT_NE(accepted.error().message.find("not known whether the job was submitted"),
            std::string::npos);
  ASSERT_EQ(accepted.error().remedy.commands.size(), 1u);
  EXPECT_EQ(accepted.error().remedy.commands[0].args,
            (std::vector<std::string>{"--key", "host/1-2"}));
  // Before the hub has all of it, nothing is open.
  call_.Resume();
  hub_.on_request = [&](const FakeHub::Came& each) {
    if (std::holds_alternative<wire::Submit>(each.request)) {
      hub_.Reply(each.id, wire::Failed{ErrorKind::kExhausted, "too many jobs"});
    }
  };
  accepted = Submit(call_, job);
  ASSERT_FALSE(accepted);
  EXPECT_EQ(accepted.error().kind, ErrorKind::kExhausted);
}

TEST_F(SubmissionTest, OthersWhoSubmitToTheJobAreWaitedFor) {
  int tries = 0;
  hub_.on_request = [&](const FakeHub::Came& each) {
    if (!std::holds_alternative<wire::Submit>(each.request)) {
      if (std::holds_alternative<wire::SubmitEnd>(each.request) && tries == 3) {
        hub_.Reply(each.id, wire::Accepted{JobId(5), false, 0, 7});
      }
      return;
    }
    if (++tries < 3) hub_.Reply(each.id, wire::Failed{ErrorKind::kBusy, "somebody else adds"});
  };
  Submission job = Of({"true"});
  job.again = Submission::Again::kBusy;
  auto accepted = Submit(call_, job);
  ASSERT_TRUE(accepted) << accepted.error().message;
  EXPECT_EQ(accepted->first, 7u);
  EXPECT_EQ(tries, 3);
  // One that does not wait for them is refused at once.
  tries = 0;
  job.again = Submission::Again::kLost;
  auto refused = Submit(call_, job);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "somebody else adds");
  EXPECT_EQ(tries, 1);
  EXPECT_EQ(hub_.greetings.size(), 1u) << "a refusal does not end the connection";
}

TEST_F(SubmissionTest, ALineThatIsTooLongIsNotSent) {
  Submission job = Of({"true", std::string(wire::kWireLimits.row_bytes + 1, 'x')});
  job.again = Submission::Again::kLost;
  auto refused = Submit(call_, job);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kInvalid);
  EXPECT_NE(refused.error().message.find("task 2: its line has"), std::string::npos);
  RunUntil([&] { return !hub_.All<wire::DropRequest>().empty(); });
  EXPECT_TRUE(hub_.All<wire::SubmitEnd>().empty());
}

}  // namespace
}  // namespace spate::client
