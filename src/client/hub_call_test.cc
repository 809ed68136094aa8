// The blocking skin, over a hub that answers as the test says.
#include "client/hub_call.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/testing_hub.h"

namespace spate::client {
namespace {

using testing::FakeHub;

class HubCallTest : public testing::HubTest {
 protected:
  HubCallTest() : call_(*loop_, hub_.target()) {}
  // Each question is answered by these texts, and then by its end.
  void AnswerBy(std::vector<std::string> texts) {
    hub_.on_request = [this, texts = std::move(texts)](const FakeHub::Came& each) {
      if (!std::holds_alternative<wire::Query>(each.request)) return;
      for (const std::string& text : texts) hub_.Answer(each.id, wire::ReadStderr::Answer{text});
      hub_.Reply(each.id, wire::QueryDone());
    };
  }

  HubCall call_;
};

TEST_F(HubCallTest, AsksByItself) {
  AnswerBy({"one", "two"});
  EXPECT_FALSE(call_.connected() || call_.reached());
  std::string told;
  auto asked = Query(call_, wire::ReadStderr(),
                     [&](const wire::ReadStderr::Answer& answer) { told += answer.text + ";"; });
  ASSERT_TRUE(asked) << asked.error().message;
  EXPECT_EQ(told, "one;two;");
  EXPECT_TRUE(call_.connected() && call_.reached());
  ASSERT_TRUE(QueryOne(call_, wire::ReadStderr()));
  EXPECT_EQ(hub_.greetings.size(), 1u) << "one connection is enough";
}

TEST_F(HubCallTest, ARefusalIsAnError) {
  hub_.on_request = [this](const FakeHub::Came& each) {
    hub_.Reply(each.id, wire::Failed{ErrorKind::kPermission, "not yours"});
  };
  auto asked = QueryOne(call_, wire::ReadStderr());
  ASSERT_FALSE(asked);
  EXPECT_EQ(asked.error().kind, ErrorKind::kPermission);
  EXPECT_EQ(asked.error().message, "not yours");
  auto watch = call_.Begin(wire::Watch{JobId(1)});
  ASSERT_TRUE(watch);
  auto news = call_.NextNews(**watch);
  ASSERT_FALSE(news);
  EXPECT_EQ(news.error().message, "not yours");
}

// The rest of its answer is not taken for the next one's.
TEST_F(HubCallTest, AQuestionWhoseAnswerIsNotWantedIsDropped) {
  AnswerBy({"one", "two"});
  auto asked = Query(call_, wire::ReadStderr(), [](const wire::ReadStderr::Answer&) -> Status {
    return Fail(ErrorKind::kIo, "no more");
  });
  ASSERT_FALSE(asked);
  EXPECT_EQ(asked.error().message, "no more");
  AnswerBy({"three"});
  auto next = QueryOne(call_, wire::ReadStderr());
  ASSERT_TRUE(next);
  EXPECT_EQ(next->text, "three");
  EXPECT_EQ(hub_.All<wire::DropRequest>().size(), 1u);
  EXPECT_EQ(hub_.greetings.size(), 1u) << "on the same connection";
}

TEST_F(HubCallTest, AsksWhileASubscriptionLasts) {
  AnswerBy({"one"});
  auto watch = call_.Begin(wire::Watch{JobId(7)});
  ASSERT_TRUE(watch);
  ASSERT_TRUE(QueryOne(call_, wire::ReadStderr()));
  hub_.Reply(hub_.came[0].id, wire::JobNews{.job = JobId(7), .missed = 3});
  auto news = call_.NextNews(**watch);
  ASSERT_TRUE(news);
  EXPECT_EQ(news->job, JobId(7));
  EXPECT_EQ(news->missed, 3u);
  EXPECT_FALSE(call_.NextWithin(**watch, Duration::Millis(1)));
}

TEST_F(HubCallTest, ALostConnectionIsMadeAgainByTheNextQuestion) {
  hub_.on_request = [this](const FakeHub::Came&) { hub_.Drop(); };
  auto lost = QueryOne(call_, wire::ReadStderr());
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().kind, ErrorKind::kUnavailable);
  EXPECT_FALSE(call_.connected());
  AnswerBy({"back"});
  EXPECT_TRUE(QueryOne(call_, wire::ReadStderr()));
  EXPECT_EQ(hub_.greetings.size(), 2u);
}

TEST_F(HubCallTest, AChangeWithoutAnAnswerIsUnknown) {
  hub_.on_request = [this](const FakeHub::Came&) { hub_.Drop(); };
  EXPECT_EQ(QueryOne(call_, wire::ChangeJobs()).error().kind, ErrorKind::kUnavailable);
  call_.TellUnknown();
  auto changed = QueryOne(call_, wire::ChangeJobs());
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().kind, ErrorKind::kUnknown);
  ASSERT_EQ(changed.error().remedy.commands.size(), 1u);
  EXPECT_EQ(changed.error().remedy.commands[0].command, "job list");
  EXPECT_EQ(QueryOne(call_, wire::SetUser{.user = "ann"}).error().remedy.commands.at(0).command,
            "hub user");
  EXPECT_EQ(QueryOne(call_, wire::AddPool()).error().remedy.commands.at(0).command, "pool list");
  EXPECT_EQ(QueryOne(call_, wire::SetHub()).error().remedy.commands.at(0).command, "hub status");
  EXPECT_EQ(QueryOne(call_, wire::ReadStderr()).error().kind, ErrorKind::kUnavailable);
  EXPECT_EQ(
      QueryOne(call_, wire::Forget{.jobs = {}, .older_than = {}, .dry_run = true}).error().kind,
      ErrorKind::kUnavailable);
  // The hub's answer is known.
  hub_.on_request = [this](const FakeHub::Came& each) {
    hub_.Reply(each.id, wire::Failed{ErrorKind::kUnavailable, "not now"});
  };
  EXPECT_EQ(QueryOne(call_, wire::ChangeJobs()).error().kind, ErrorKind::kUnavailable);
}

// Its program did other things, so it has not heard that the hub has cut it off.
TEST_F(HubCallTest, ACallOfALoopThatStoodStillConnectsAgain) {
  hub_.silence = Duration::Millis(400);
  auto stand_still = [&] {
    for (const Instant end = loop_->Now() + Duration::Millis(250); loop_->Now() < end;) {
    }
  };
  AnswerBy({"one"});
  ASSERT_TRUE(QueryOne(call_, wire::ReadStderr()));
  stand_still();
  hub_.Drop();
  EXPECT_TRUE(call_.connected()) << "as far as was heard";
  auto asked = QueryOne(call_, wire::ReadStderr());
  EXPECT_TRUE(asked) << asked.error().message;
  EXPECT_EQ(hub_.greetings.size(), 2u);
  // A request under way would end with its connection.
  auto watch = call_.Begin(wire::Watch{JobId(7)});
  ASSERT_TRUE(watch);
  const size_t before = hub_.greetings.size();
  stand_still();
  EXPECT_TRUE(QueryOne(call_, wire::ReadStderr()));
  EXPECT_EQ(hub_.greetings.size(), before);
}

TEST_F(HubCallTest, AnInterruptEndsWhatWaits) {
  auto watch = call_.Begin(wire::Watch{JobId(1)});
  ASSERT_TRUE(watch);
  loop_->Post([this] { call_.Interrupt(); });
  auto reply = call_.Next(**watch);
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.error().kind, ErrorKind::kBusy);
  EXPECT_FALSE(call_.Begin(wire::Watch{JobId(2)})) << "until Resume";
  call_.Resume();
  RunUntil([&] { return hub_.came.size() == 1; });
  hub_.Reply(hub_.came[0].id, wire::JobNews{.job = JobId(1)});
  EXPECT_TRUE(call_.NextNews(**watch)) << "the exchange is still there";
}

TEST(HubCall, NobodyThere) {
  os::TempDir dir;
  auto loop = std::move(os::RealLoop::Create().value());
  HubCall call(*loop, {link::Target::Of({.path = dir.Path("socket")}), "none", wire::Role::kClient,
                       "spate hub start"});
  auto asked = QueryOne(call, wire::ReadStderr());
  ASSERT_FALSE(asked);
  EXPECT_EQ(asked.error().kind, ErrorKind::kUnavailable);
  EXPECT_NE(asked.error().message.find("Start it: spate hub start"), std::string::npos);
}

}  // namespace
}  // namespace spate::client
