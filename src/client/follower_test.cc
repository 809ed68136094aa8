// Ends of a job into a sink, whose place survives processes.
#include "client/follower.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/testing_hub.h"
#include "os/temp_dir.h"

namespace spate::client {
namespace {

using testing::FakeHub;

constexpr Duration kNow;

// The hub's journal has ends 1 to `ends` of a job that was made at 77.
class FollowerTest : public testing::HubTest {
 protected:
  FollowerTest() : call_(*loop_, hub_.target()) {
    hub_.on_request = [this](const FakeHub::Came& each) {
      const auto* query = std::get_if<wire::Query>(&each.request);
      if (query == nullptr) return;
      const auto asked = *query->question.As<wire::ListEnds>();
      uint64_t position = asked.created.ns == kCreated ? asked.after : 0;
      asked_.push_back(asked.after);
      do {
        wire::EndsListed listed;
        if (position < ends_) ++position;
        listed.position = position;
        listed.created = Instant{kCreated};
        hub_.Answer(each.id, listed);
      } while (position < ends_);
      hub_.Reply(each.id, wire::QueryDone());
    };
  }
  Result<Follower> Open() { return Follower::Open(call_, Path(), dir_.Path("lock"), kNow); }
  std::string Path() { return dir_.Path("place"); }
  // Into `sink_`; fails at the end with this position, and when it is to be settled.
  Status CatchUp(Follower& follower, uint64_t fails_at = 0, bool settles = true) {
    auto take = [&](const wire::EndsListed& listed, Position& place) -> Status {
      if (listed.position == fails_at) return Fail(ErrorKind::kIo, "the disk is full");
      if (listed.position > place.position) sink_ += std::to_string(listed.position) + ";";
      place = {listed.position, listed.created.ns, sink_.size()};
      return {};
    };
    auto settle = [&] {
      ++settled_;
      return settles ? Status() : Fail(ErrorKind::kIo, "cannot sync");
    };
    return follower.CatchUp(call_, wire::ListEnds{.job = JobId(3)}, take, settle);
  }

  static constexpr int64_t kCreated = 77;
  os::TempDir dir_;
  HubCall call_;
  uint64_t ends_ = 3;
  std::vector<uint64_t> asked_;  // positions
  std::string sink_;
  int settled_ = 0;
};

TEST_F(FollowerTest, GoesOnWhereItHasCome) {
  {
    auto follower = Open();
    ASSERT_TRUE(follower) << follower.error().message;
    ASSERT_TRUE(CatchUp(*follower));
    EXPECT_EQ(follower->place(), (Position{3, kCreated, 6}));
  }
  EXPECT_EQ(os::ReadFile(Path(), 100).value(), "position 3 created 77 bytes 6\n");
  ends_ = 5;
  auto next = Open();  // as another process does
  ASSERT_TRUE(next);
  ASSERT_TRUE(CatchUp(*next));
  EXPECT_EQ(sink_, "1;2;3;4;5;");
  EXPECT_EQ(asked_, (std::vector<uint64_t>{0, 3}));
  const int settled = settled_;
  ASSERT_TRUE(CatchUp(*next));
  EXPECT_EQ(settled_, settled) << "there was nothing new";
}

TEST_F(FollowerTest, AnErrorLeavesThePlaceWhereItWas) {
  auto follower = Open();
  ASSERT_TRUE(follower);
  EXPECT_FALSE(CatchUp(*follower, /*fails_at=*/2));
  EXPECT_FALSE(os::Exists(Path()));
  EXPECT_FALSE(CatchUp(*follower, 0, /*settles=*/false));
  EXPECT_EQ(follower->place(), Position());
  EXPECT_FALSE(os::Exists(Path()));
  EXPECT_TRUE(CatchUp(*follower));
  EXPECT_EQ(asked_, (std::vector<uint64_t>{0, 0, 0}));
}

TEST_F(FollowerTest, OneAtATime) {
  auto first = Open();
  ASSERT_TRUE(first);
  auto second = Open();
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::kBusy);
  // A patient one comes after the first.
  loop_->At(loop_->Now() + Duration::Millis(20),
            [&] { first = Fail(ErrorKind::kBusy, "it is done"); });
  EXPECT_TRUE(Follower::Open(call_, Path(), dir_.Path("lock"), Duration::Seconds(60)));
}

TEST(Position, WhatCannotBeReadIsTheBeginning) {
  os::TempDir dir;
  EXPECT_EQ(ReadPlace(dir.Path("none")), Position());
  for (const char* text : {"", "position 3", "position 3 created x bytes 6\n", "created 1\n",
                           "position 3 created 4 bytes 6"}) {
    EXPECT_EQ(ReadPlace(dir.Write("place", text)), Position()) << text;
  }
  const Position place{3, -4, 6};
  EXPECT_EQ(ReadPlace(dir.Write("place", FormatPlace(place))), place);
}

}  // namespace
}  // namespace spate::client
