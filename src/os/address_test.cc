#include "os/address.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "os/real_loop.h"

namespace spate::os {
namespace {

TEST(Address, TextAndBack) {
  struct Case {
    const char* text;
    Address address;
  };
  for (const auto& [text, address] :
       {Case{"head.example.org:7100", {.host = "head.example.org", .port = 7100}},
        Case{"10.0.0.1:1", {.host = "10.0.0.1", .port = 1}},
        Case{"[::1]:65535", {.host = "::1", .port = 65535}}, Case{"*:0", {.host = "*", .port = 0}},
        Case{"unix:/run/a b", {.path = "/run/a b"}}}) {
    auto parsed = ParseAddress(text);
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ(*parsed, address) << text;
    EXPECT_EQ(FormatAddress(address), text);
  }
  EXPECT_EQ(ParseAddress("head", 7100).value(), (Address{.host = "head", .port = 7100}));
  EXPECT_EQ(ParseAddress("[::1]", 7100).value(), (Address{.host = "::1", .port = 7100}));
  EXPECT_EQ(ParseAddress("head:1", 7100).value().port, 1);
}

TEST(Address, WrongTexts) {
  struct Case {
    std::string text;
    const char* reason;
  };
  const std::string long_name(256, 'a');
  for (const auto& [text, reason] :
       {Case{"", "no host"}, Case{"head", "no port"}, Case{":1", "no host"},
        Case{"head:", "the port is"}, Case{"head:65536", "the port is"},
        Case{"head:-1", "the port is"}, Case{"head:1x", "the port is"}, Case{"::1", "in brackets"},
        Case{"[::1", "no ]"}, Case{"[head]:1", "an IPv6 address"}, Case{"[::1]1", "no port"},
        Case{"-x:1", "such a host"}, Case{"a b:1", "such a host"}, Case{"a:b:1", "in brackets"},
        Case{long_name + ":1", "too long"}, Case{std::string("unix:/a\0b", 9), "NUL"},
        Case{"unix:", "begin with /"}, Case{"unix:run/x", "begin with /"}}) {
    auto parsed = ParseAddress(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_NE(parsed.error().message.find(reason), std::string::npos) << parsed.error().message;
  }
}

TEST(Address, WhateverIsTakenComesBackTheSame) {
  EXPECT_TRUE(rc::check([](const std::string& text) {
    auto parsed = ParseAddress(text, 7100);
    if (parsed) RC_ASSERT(ParseAddress(FormatAddress(*parsed)).value() == *parsed);
  }));
}

TEST(SocketAddress, Texts) {
  struct Case {
    const char* text;
    const char* socket_text;
    bool this_machine;
  };
  for (const auto& [text, socket_text, this_machine] :
       {Case{"127.0.0.2:7", "127.0.0.2:7", true}, Case{"10.1.2.3:7", "10.1.2.3:7", false},
        Case{"[0:0::1]:7", "[::1]:7", true},
        Case{"[::ffff:127.0.0.1]:7", "[::ffff:127.0.0.1]:7", true}, Case{"*:7", "[::]:7", false},
        Case{"unix:/run/x", "unix:/run/x", true}}) {
    auto address = SocketAddress::Numeric(ParseAddress(text).value());
    ASSERT_TRUE(address && *address) << text;
    EXPECT_EQ((*address)->Text(), socket_text);
    EXPECT_EQ((*address)->IsThisMachine(), this_machine) << text;
  }
  EXPECT_EQ(SocketAddress().Text(), "unknown");
  EXPECT_FALSE(SocketAddress::Numeric({.host = "head", .port = 7}).value().has_value());
  EXPECT_FALSE(SocketAddress::Numeric({.path = "/" + std::string(107, 'x')}));
  EXPECT_TRUE(SocketAddress::Numeric({.path = "/" + std::string(106, 'x')}));
}

class LookupTest : public ::testing::Test {
 protected:
  LookupTest() : loop_(std::move(RealLoop::Create().value())) {
    loop_->At(loop_->Now() + Duration::Seconds(60), [this] {
      ADD_FAILURE() << "no answer";
      loop_->Stop();
    });
  }
  Result<std::vector<SocketAddress>> Ask(const Address& address) {
    Result<std::vector<SocketAddress>> got;
    Lookup lookup(*loop_, address, [&](auto answer) {
      got = std::move(answer);
      loop_->Stop();
    });
    loop_->Run();
    return got;
  }
  std::unique_ptr<RealLoop> loop_;
};

TEST_F(LookupTest, NumbersPathsAndNames) {
  EXPECT_EQ(Ask({.host = "10.0.0.1", .port = 5}).value().at(0).Text(), "10.0.0.1:5");
  EXPECT_EQ(Ask({.path = "/run/x"}).value().at(0).Text(), "unix:/run/x");
  EXPECT_FALSE(Ask({.path = "/" + std::string(200, 'x')}));
  auto local = Ask({.host = "localhost", .port = 5});  // /etc/hosts, by the thread
  if (local) EXPECT_TRUE(local->at(0).IsThisMachine());
}

TEST_F(LookupTest, IsNotAnsweredAfterItsEnd) {
  for (const char* host : {"127.0.0.1", "localhost"}) {
    Lookup lookup(*loop_, {.host = host, .port = 5}, [](auto) { ADD_FAILURE(); });
  }
  loop_->Post([this] { loop_->Stop(); });
  loop_->Run();
}

TEST_F(LookupTest, MayEndInsideItsAnswer) {
  std::unique_ptr<Lookup> lookup;
  lookup = std::make_unique<Lookup>(*loop_, Address{.host = "127.0.0.1", .port = 5}, [&](auto) {
    lookup.reset();
    loop_->Stop();
  });
  loop_->Run();
  EXPECT_EQ(lookup, nullptr);
}

}  // namespace
}  // namespace spate::os
