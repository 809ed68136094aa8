// Many requests over one connection, to a hub that answers as the test says.
#include "client/session.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/testing_hub.h"

namespace spate::client {
namespace {

using testing::FakeHub;

wire::Request AnyQuestion() { return wire::Query{wire::LookAtHub()}; }

class SessionTest : public testing::HubTest {
 protected:
  SessionTest() : session_(*loop_, hub_.target()) {}

  Status Connect() {
    std::optional<Status> done;
    session_.Connect([&](Status status) { done = std::move(status); });
    RunUntil([&] { return done.has_value(); });
    return *done;
  }
  std::unique_ptr<Exchange> Begin(const wire::Request& request) {
    auto begun = session_.Begin(request, [this] { ++heard_; });
    EXPECT_TRUE(begun) << begun.error().message;
    return std::move(*begun);
  }
  template <typename T>
  static bool Is(const std::optional<Result<wire::Reply>>& reply) {
    return reply && *reply && std::holds_alternative<T>(**reply);
  }

  Session session_;
  int heard_ = 0;
};

TEST_F(SessionTest, ManyRequestsAreUnderWayAtOnce) {
  constexpr size_t kMany = 1000;
  ASSERT_TRUE(Connect());
  std::vector<std::unique_ptr<Exchange>> all;
  for (size_t i = 0; i < kMany; ++i) all.push_back(Begin(AnyQuestion()));
  RunUntil([&] { return hub_.came.size() == kMany; });
  EXPECT_EQ(session_.exchanges(), kMany);
  // The last one is answered first, and each hears its own answer.
  std::ranges::reverse(hub_.came);
  for (const FakeHub::Came& each : hub_.came) {
    hub_.Reply(each.id, wire::QueryAnswer{std::to_string(each.id)});
    hub_.Reply(each.id, wire::QueryDone());
  }
  RunUntil([&] { return heard_ == 2 * kMany; });
  std::ranges::reverse(hub_.came);
  for (size_t i = 0; i < kMany; ++i) {
    auto answer = all[i]->Receive();
    ASSERT_TRUE(Is<wire::QueryAnswer>(answer));
    EXPECT_EQ(std::get<wire::QueryAnswer>(**answer).bytes, std::to_string(hub_.came[i].id));
    EXPECT_TRUE(Is<wire::QueryDone>(all[i]->Receive()));
  }
  EXPECT_EQ(session_.exchanges(), 0u);
  all.clear();
  auto next = Begin(AnyQuestion());
  RunUntil([&] { return hub_.came.size() > kMany; });
  EXPECT_TRUE(hub_.All<wire::DropRequest>().empty()) << "what is over needs no drop";
}

TEST_F(SessionTest, AnExchangeThatEndsIsDropped) {
  ASSERT_TRUE(Connect());
  auto dropped = Begin(wire::Watch{JobId(1)});
  auto stays = Begin(wire::Watch{JobId(2)});
  RunUntil([&] { return hub_.came.size() == 2; });
  const uint32_t id = hub_.came[0].id;
  dropped.reset();
  hub_.Reply(id, wire::JobNews{.job = JobId(1)});  // on its way meanwhile
  hub_.Reply(hub_.came[1].id, wire::JobNews{.job = JobId(2)});
  RunUntil([&] { return hub_.came.size() == 3 && stays->ready(); });
  EXPECT_TRUE(std::holds_alternative<wire::DropRequest>(hub_.came[2].request));
  EXPECT_EQ(hub_.came[2].id, id);
  EXPECT_EQ(std::get<wire::JobNews>(**stays->Receive()).job, JobId(2));
  EXPECT_EQ(heard_, 1);
}

// The hub is told of what was taken, not of what has come.
TEST_F(SessionTest, WhatIsTakenIsTold) {
  constexpr size_t kReplies = 300;
  ASSERT_TRUE(Connect());
  auto read = Begin(wire::ReadEnds{JobId(1), 0});
  auto idle = Begin(wire::ReadEnds{JobId(2), 0});
  RunUntil([&] { return hub_.came.size() == 2; });
  const std::string text(1000, 'x');
  for (size_t i = 0; i < kReplies; ++i) {
    for (size_t each = 0; each < 2; ++each) hub_.Reply(hub_.came[each].id, wire::Printed{1, text});
  }
  RunUntil([&] { return heard_ == 2 * kReplies; });
  EXPECT_GT(idle->waiting(), kReplies * text.size());
  size_t taken = 0;
  while (auto reply = read->Receive()) taken += std::get<wire::Printed>(**reply).bytes.size();
  EXPECT_EQ(taken, kReplies * text.size());
  EXPECT_EQ(read->waiting(), 0u);
  RunUntil([&] { return hub_.All<wire::RepliesTaken>().size() == 2; });
  uint32_t told = 0;
  for (const FakeHub::Came& each : hub_.came) {
    const auto* bytes = std::get_if<wire::RepliesTaken>(&each.request);
    if (bytes == nullptr) continue;
    EXPECT_EQ(each.id, hub_.came[0].id);
    told += bytes->bytes;
  }
  EXPECT_GT(told, taken - wire::WindowOf(wire::RequestKind::kReadEnds) / 2);
}

TEST_F(SessionTest, TheEndOfTheConnectionComesAfterWhatCameBefore) {
  ASSERT_TRUE(Connect());
  auto watch = Begin(wire::Watch{JobId(1)});
  RunUntil([&] { return hub_.came.size() == 1; });
  hub_.Reply(hub_.came[0].id, wire::JobNews{.job = JobId(1)});
  RunUntil([&] { return watch->ready(); });
  hub_.Drop();
  RunUntil([&] { return !session_.connected(); });
  EXPECT_TRUE(Is<wire::JobNews>(watch->Receive()));
  for (int i = 0; i < 2; ++i) {  // it stays
    auto end = watch->Receive();
    ASSERT_TRUE(end && !*end);
    EXPECT_EQ(end->error().kind, ErrorKind::kUnavailable);
  }
  auto without = session_.Begin(AnyQuestion(), [] {});
  ASSERT_FALSE(without);
  EXPECT_EQ(without.error().kind, ErrorKind::kUnavailable);
  ASSERT_TRUE(Connect());
  auto again = Begin(AnyQuestion());
  RunUntil([&] { return hub_.came.size() == 2; });
}

TEST_F(SessionTest, AHubOfAnotherVersionIsTold) {
  hub_.refuses = wire::Refusal{wire::RefusalCode::kVersion, "it speaks protocols 2 to 2"};
  auto status = Connect();
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find("it speaks protocols 2 to 2"), std::string::npos);
  EXPECT_NE(status.error().remedy.text.find("end the older one"), std::string::npos)
      << status.error().remedy.text;
  // A client cannot use a hub of version 2, which knows no ids.
  EXPECT_EQ(hub_.greetings.at(0).protocol, wire::kProtocol);
  EXPECT_EQ(hub_.greetings.at(0).oldest_protocol, wire::kProtocol);
}

TEST_F(SessionTest, OneRequestMayBeTooLong) {
  ASSERT_TRUE(Connect());
  auto upload = Begin(wire::Submit{.submission = "s", .settings = [] {
                                     auto settings = std::make_shared<JobSettings>();
                                     settings->cwd = "/";
                                     return settings;
                                   }()});
  auto sent = upload->Send(wire::PutPieces{{std::string(wire::kMaxFrame, 'x')}});
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().kind, ErrorKind::kInvalid);
  EXPECT_TRUE(upload->Send(wire::Rows{{"true"}})) << "the rest may go";
  RunUntil([&] { return hub_.came.size() == 2; });
}

// A program with a loop of its own waits for one descriptor.
TEST_F(SessionTest, OneDescriptorToPoll) {
  const int fd = loop_->Descriptor().value();
  auto run_until = [&](auto done) {
    while (!done()) {
      pollfd look{fd, POLLIN, 0};
      ASSERT_EQ(poll(&look, 1, 60'000), 1);
      loop_->RunReady();
    }
  };
  hub_.on_request = [this](const FakeHub::Came& each) { hub_.Reply(each.id, wire::QueryDone()); };
  bool connected = false;
  session_.Connect([&](const Status& status) { connected = status.has_value(); });
  run_until([&] { return connected; });
  auto first = Begin(AnyQuestion());
  auto second = Begin(AnyQuestion());
  run_until([&] { return first->ready() && second->ready(); });
  EXPECT_TRUE(Is<wire::QueryDone>(first->Receive()));
  EXPECT_TRUE(Is<wire::QueryDone>(second->Receive()));
}

// A listener may end everything.
TEST_F(SessionTest, AListenerMayDestroyTheSession) {
  auto session = std::make_unique<Session>(*loop_, hub_.target());
  bool connected = false;
  session->Connect([&](const Status& status) { connected = status.has_value(); });
  RunUntil([&] { return connected; });
  std::unique_ptr<Exchange> first, second;
  auto end_all = [&] {
    first.reset();
    second.reset();
    session.reset();
  };
  first = std::move(*session->Begin(AnyQuestion(), end_all));
  second = std::move(*session->Begin(AnyQuestion(), end_all));
  RunUntil([&] { return hub_.came.size() == 2; });
  hub_.Drop();
  RunUntil([&] { return session == nullptr; });
}

}  // namespace
}  // namespace spate::client
