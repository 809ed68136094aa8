#include "transport/tcp/listener.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <vector>

#include "os/temp_dir.h"
#include "os/testing_watches.h"
#include "transport/tcp/dialer.h"
#include "transport/tcp/testing_peer.h"

namespace spate::transport {
namespace {

os::SocketAddress At(std::string_view text) {
  return os::SocketAddress::Numeric(os::ParseAddress(text).value()).value().value();
}

class ListenerTest : public LoopTest {
 protected:
  ListenerTest() : fd_(os::Listen(At("127.0.0.1:0")).value()) {
    address_ = os::LocalAddress(fd_.get()).value();
  }
  os::Fd Connect() { return os::StartConnect(address_).value(); }

  os::Fd fd_;
  os::SocketAddress address_;
  std::vector<Arrival> arrivals_;
  Listener::Events events_{.arrived = [this](Arrival a) { arrivals_.push_back(std::move(a)); },
                           .trouble = nullptr};
};

TEST_F(ListenerTest, TakesWhoComes) {
  Listener listener(*loop_, std::move(fd_), events_);
  std::vector<os::Fd> clients;
  for (int i = 0; i < 40; ++i) clients.push_back(Connect());
  RunUntil([&] { return arrivals_.size() == 40; });
  EXPECT_EQ(arrivals_[0].peer.Text(), os::LocalAddress(clients[0].get()).value().Text());
  EXPECT_EQ(listener.places_taken(), 40u);
  arrivals_.clear();
  EXPECT_EQ(listener.places_taken(), 0u);
}

TEST_F(ListenerTest, NoMoreThanItsPlacesAtOnce) {
  Listener listener(*loop_, std::move(fd_), events_, {.places = 3});
  std::vector<os::Fd> clients;
  for (int i = 0; i < 8; ++i) clients.push_back(Connect());
  size_t seen = 0;
  while (seen < 8) {
    size_t expected = std::min<size_t>(3, 8 - seen);
    RunUntil([&] { return arrivals_.size() >= expected; });
    RunUntil([&] { return true; });  // nobody else comes
    EXPECT_EQ(arrivals_.size(), expected);
    seen += arrivals_.size();
    arrivals_.clear();
  }
}

TEST_F(ListenerTest, PlacesMayOutliveIt) {
  auto listener =
      std::make_unique<Listener>(*loop_, std::move(fd_), events_, ListenerLimits{.places = 1});
  os::Fd client = Connect();
  RunUntil([&] { return arrivals_.size() == 1; });
  listener.reset();
  arrivals_.clear();
}

TEST_F(ListenerTest, MayEndInsideItsFunction) {
  std::unique_ptr<Listener> listener;
  int calls = 0;
  events_.arrived = [&](const Arrival&) {
    ++calls;
    listener.reset();
  };
  std::vector<os::Fd> clients;
  for (int i = 0; i < 3; ++i) clients.push_back(Connect());
  listener = std::make_unique<Listener>(*loop_, std::move(fd_), events_);
  RunUntil([&] { return calls > 0; });
  EXPECT_EQ(calls, 1);
}

TEST_F(ListenerTest, OutOfDescriptorsItPausesAndGoesOn) {
  std::vector<Error> troubles;
  std::vector<Instant> times;
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  events_.trouble = [&](const Error& error) {
    troubles.push_back(error);
    times.push_back(loop_->Now());
    if (troubles.size() == 2) setrlimit(RLIMIT_NOFILE, &before);
  };
  Listener listener(*loop_, std::move(fd_), events_, {.pause = Duration::Millis(5)});
  RunUntil([&] { return true; });  // a sanitizer opens pipes when it sees a type first
  os::Fd client = Connect();
  rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);
  RunUntil([&] { return arrivals_.size() == 1; });
  setrlimit(RLIMIT_NOFILE, &before);
  ASSERT_EQ(troubles.size(), 2u);
  EXPECT_EQ(troubles[0].kind, ErrorKind::kExhausted);
  EXPECT_GE(times[1] - times[0], Duration::Millis(5));
}

// Those who wait in the system's queue would wait for as long as the machine has no room.
TEST_F(ListenerTest, WithoutRoomToWatchItRefusesAndGoesOn) {
  std::vector<Error> troubles;
  events_.trouble = [&](const Error& error) { troubles.push_back(error); };
  Listener listener(*loop_, std::move(fd_), events_);
  RunUntil([&] { return true; });
  os::room_to_watch = 15;
  std::vector<os::Fd> refused;
  for (int i = 0; i < 2; ++i) {
    refused.push_back(Connect());
    RunUntil([&] {
      os::room_to_watch = 15;
      char byte = 0;
      return recv(refused.back().get(), &byte, 1, 0) == 0;
    });
  }
  os::room_to_watch = -1;
  os::Fd client = Connect();
  RunUntil([&] { return arrivals_.size() == 1; });
  ASSERT_EQ(troubles.size(), 1u) << "it is told once";
  EXPECT_EQ(troubles[0].kind, ErrorKind::kExhausted);
  EXPECT_TRUE(troubles[0].message.starts_with("refusing connections: this user has reached"))
      << troubles[0].message;
}

// ----------------------------------------------------------------------------------- the dialer

class DialerTest : public ListenerTest {
 protected:
  Result<Dialer::Reached> Dial(std::vector<os::Address> addresses,
                               Duration patience = Duration::Seconds(20)) {
    std::optional<Result<Dialer::Reached>> result;
    Dialer dialer(*loop_, std::move(addresses), [&](auto r) { result = std::move(r); }, patience);
    RunUntil([&] { return result.has_value(); });
    return result ? std::move(*result) : Fail(ErrorKind::kIo, "no answer");
  }
  os::Address Here() { return os::ParseAddress(address_.Text()).value(); }
  // Nobody listens there.
  os::Address Dead() {
    os::Fd fd = os::Listen(At("127.0.0.1:0")).value();
    return os::ParseAddress(os::LocalAddress(fd.get()).value().Text()).value();
  }
};

TEST_F(DialerTest, ReachesTheFirstThatAnswers) {
  auto reached = Dial({Dead(), {.path = "/nowhere/socket"}, Here(), Dead()});
  ASSERT_TRUE(reached) << reached.error().message;
  EXPECT_EQ(reached->address.Text(), address_.Text());
  os::TempDir dir;
  auto listener = os::Listen(At("unix:" + dir.Path("s")));
  ASSERT_TRUE(listener);
  reached = Dial({{.path = dir.Path("s")}});
  ASSERT_TRUE(reached) << reached.error().message;
  EXPECT_TRUE(reached->address.is_unix());
}

TEST_F(DialerTest, TellsOfEveryAddress) {
  auto reached = Dial({Dead(), {.path = "/nowhere/socket"}});
  ASSERT_FALSE(reached);
  EXPECT_NE(reached.error().message.find("nothing listens there"), std::string::npos);
  EXPECT_NE(reached.error().message.find("/nowhere/socket"), std::string::npos);
  EXPECT_FALSE(Dial({}));
}

TEST_F(DialerTest, DoesNotWaitForeverForOneAddress) {
  // A listener whose queue is full drops further requests, so that they wait.
  os::Fd full = os::Listen(At("127.0.0.1:0"), 0).value();
  auto at = os::LocalAddress(full.get()).value();
  std::vector<os::Fd> fillers;
  for (int i = 0; i < 4; ++i) fillers.push_back(os::StartConnect(at).value());
  auto reached = Dial({os::ParseAddress(at.Text()).value(), Here()}, Duration::Millis(30));
  ASSERT_TRUE(reached) << reached.error().message;
  EXPECT_EQ(reached->address.Text(), address_.Text());
}

TEST_F(DialerTest, MayEndInsideItsAnswerOrBefore) {
  std::unique_ptr<Dialer> dialer;
  bool done = false;
  dialer = std::make_unique<Dialer>(*loop_, std::vector{Here()}, [&](auto reached) {
    EXPECT_TRUE(reached);
    dialer.reset();
    done = true;
  });
  RunUntil([&] { return done; });
  dialer = std::make_unique<Dialer>(*loop_, std::vector{Here()}, [&](auto) { ADD_FAILURE(); });
  dialer.reset();
  RunUntil([&] { return true; });
}

}  // namespace
}  // namespace spate::transport
