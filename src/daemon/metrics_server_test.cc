#include "daemon/metrics_server.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "base/check.h"

namespace spate::daemon {
namespace {

TEST(AnswerHttp, AnswersWhatItIsAsked) {
  struct Case {
    const char* request;
    const char* status;
    bool body;
  };
  for (const Case& each :
       std::vector<Case>{{"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", "200 OK", true},
                         {"GET /metrics?x=1 HTTP/1.0\r\n\r\n", "200 OK", true},
                         {"HEAD /metrics HTTP/1.1\r\n\r\n", "200 OK", false},
                         {"GET / HTTP/1.1\r\n\r\n", "404 Not Found", false},
                         {"GET /metrics2 HTTP/1.1\r\n\r\n", "404 Not Found", false},
                         {"POST /metrics HTTP/1.1\r\n\r\n", "405 Method Not Allowed", false},
                         {"GET /metrics\r\n\r\n", "400 Bad Request", false},
                         {"GET /metrics HTTP/2.0\r\n\r\n", "400 Bad Request", false},
                         {"\r\n\r\n", "400 Bad Request", false},
                         {"\x16\x03\x01 \x02 \r\n\r\n", "400 Bad Request", false}}) {
    std::string answer = AnswerHttp(each.request, [] { return "figures 1\n"; }, false);
    EXPECT_TRUE(answer.starts_with(std::string("HTTP/1.1 ") + each.status + "\r\n"))
        << each.request << answer;
    EXPECT_EQ(answer.ends_with("\r\n\r\nfigures 1\n"), each.body) << each.request;
  }
  std::string head =
      AnswerHttp("HEAD /metrics HTTP/1.1\r\n\r\n", [] { return "figures 1\n"; }, false);
  EXPECT_NE(head.find("Content-Length: 10\r\n"), std::string::npos);
  EXPECT_TRUE(head.ends_with("\r\n\r\n"));
}

TEST(AnswerHttp, OfALocalPortMustMeanThisMachine) {
  auto status = [](const std::string& headers) {
    const std::string request = "GET /metrics HTTP/1.1\r\n" + headers + "\r\n";
    return AnswerHttp(request, [] { return "1\n"; }, true).substr(9, 3);
  };
  for (const char* host : {"", "Host: localhost:9100\r\n", "A: b\r\nhost: 127.0.0.1:1\r\n",
                           "Host: [::1]:9100\r\n", "Host:localhost\r\n"}) {
    EXPECT_EQ(status(host), "200") << host;
  }
  for (const char* host : {"Host: evil.example\r\n", "Host: localhost.evil.example:80\r\n"}) {
    EXPECT_EQ(status(host), "421") << host;
  }
}

class MetricsServerTest : public ::testing::Test {
 protected:
  MetricsServerTest() : loop_(std::move(os::RealLoop::Create().value())) {}
  void Open(const MetricsLimits& limits) {
    os::Address at = *os::ParseAddress("127.0.0.1:0");
    server_ = MetricsServer::Open(*loop_, at, [this] { return text_; }, {}, limits).value();
  }
  struct Peer {
    os::Fd fd;
    std::string got;
    bool ended = false;
  };
  void Read(Peer& peer) {
    char bytes[4096];
    os::IoStep step = os::Receive(peer.fd.get(), bytes, sizeof bytes);
    if (step.kind == os::IoStep::Kind::kWouldBlock) return;
    if (step.kind == os::IoStep::Kind::kDone) {
      peer.got.append(bytes, step.bytes);
      return;
    }
    peer.ended = true;
    loop_->Unwatch(peer.fd.get());
    peer.fd = {};
  }
  std::unique_ptr<Peer> Say(std::string request) {
    auto peer = std::make_unique<Peer>();
    peer->fd = os::StartConnect(server_->address()).value();
    loop_->WatchRead(peer->fd.get(), [this, peer = peer.get()] { Read(*peer); });
    loop_->WatchWrite(peer->fd.get(), [this, peer = peer.get(), request]() mutable {
      os::IoStep step = os::SendSome(peer->fd.get(), request);
      if (step.kind == os::IoStep::Kind::kDone) request.erase(0, step.bytes);
      if (request.empty() || step.kind == os::IoStep::Kind::kError) {
        loop_->UnwatchWrite(peer->fd.get());
      }
    });
    return peer;
  }
  void RunUntil(const std::function<bool()>& done) {
    bool given_up = false;
    os::TimerId guard = loop_->At(loop_->Now() + Duration::Seconds(60), [&] { given_up = true; });
    std::function<void()> look = [&] {
      if (done() || given_up) return loop_->Stop();
      loop_->At(loop_->Now() + Duration::Micros(50), look);
    };
    loop_->Post(look);
    loop_->Run();
    loop_->Cancel(guard);
    EXPECT_FALSE(given_up) << "the awaited state did not come";
  }

  std::string text_ = std::string(1 << 20, 'x');
  std::unique_ptr<os::RealLoop> loop_;
  std::unique_ptr<MetricsServer> server_;
};

constexpr const char* kAsk = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";

TEST_F(MetricsServerTest, GivesTheWholeText) {
  Open({});
  auto peer = Say(kAsk);
  RunUntil([&] { return peer->ended; });
  EXPECT_TRUE(peer->got.starts_with("HTTP/1.1 200 OK\r\n"));
  EXPECT_TRUE(peer->got.ends_with(std::string(1 << 20, 'x')));
}

TEST_F(MetricsServerTest, RefusesALongRequest) {
  Open({.request = 1000});
  auto peer = Say("GET /metrics HTTP/1.1\r\n" + std::string(100'000, 'a'));
  RunUntil([&] { return peer->ended; });
  EXPECT_TRUE(peer->got.starts_with("HTTP/1.1 431 ")) << peer->got;
}

TEST_F(MetricsServerTest, CutsTheSilentOffAndGoesOn) {
  Open({.connections = 2, .deadline = Duration::Millis(100)});
  auto silent = Say(""), slow = Say("GET /metr");
  RunUntil([&] { return silent->ended && slow->ended; });
  EXPECT_EQ(silent->got + slow->got, "");
  auto peer = Say(kAsk);
  RunUntil([&] { return peer->ended; });
  EXPECT_TRUE(peer->got.starts_with("HTTP/1.1 200 OK\r\n"));
}

TEST_F(MetricsServerTest, ThoseWhoSayNothingKeepNobodyOut) {
  Open({.connections = 4, .deadline = Duration::Seconds(3600)});
  std::vector<std::unique_ptr<Peer>> silent;
  for (int i = 0; i < 20; ++i) silent.push_back(Say("GET /metrics HT"));
  auto peer = Say(kAsk);
  RunUntil([&] { return peer->ended; });
  EXPECT_TRUE(peer->got.starts_with("HTTP/1.1 200 OK\r\n"));
}

TEST_F(MetricsServerTest, CutsOffWhoDoesNotRead) {
  text_ = std::string(64 << 20, 'x');  // more than the system takes ahead
  Open({.connections = 1, .deadline = Duration::Millis(100)});
  auto peer = Say(kAsk);
  loop_->UnwatchRead(peer->fd.get());
  auto next = Say("GET / HTTP/1.1\r\n\r\n");  // waits for the place
  RunUntil([&] { return next->ended; });
  EXPECT_TRUE(next->got.starts_with("HTTP/1.1 404 ")) << next->got;
}

}  // namespace
}  // namespace spate::daemon
