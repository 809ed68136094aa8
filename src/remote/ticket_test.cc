#include "remote/ticket.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "os/file.h"
#include "os/temp_dir.h"

namespace spate::remote {
namespace {

Ticket TwoNodes() {
  Ticket ticket;
  ticket.secret.fill(0xab);
  ticket.self = "n1";
  ticket.hosts = {{"n1", ParseLobbies("10.0.0.1:7001,127.0.0.1:7001").value()}, {"n2", {}}};
  return ticket;
}

TEST(Ticket, ComesBackAsItWas) {
  Ticket ticket = TwoNodes();
  std::string text = FormatTicket(ticket);
  EXPECT_EQ(text, "spate-remote 1\nsecret " + ToHex(ticket.secret) +
                      "\nself n1\nhost n1 10.0.0.1:7001,127.0.0.1:7001\nhost n2\n");
  auto back = ParseTicket(text, "t");
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(*back, ticket);
  EXPECT_TRUE(ParseTicket(text + "later word\n", "t"));
}

TEST(Ticket, WrongOnesNameTheLine) {
  const std::string secret = "secret " + std::string(64, 'a') + "\n";
  for (auto [text, place] : {
           std::pair<std::string, const char*>{"", "t:1:"},
           {"spate-remote 2\n", "t:1:"},
           {"spate-remote 1\nsecret ab\nself a\nhost a\n", "t:2:"},
           {"spate-remote 1\n" + secret + "self a\nhost a nonsense\n", "t:4:"},
           {"spate-remote 1\n" + secret + "self a\nhost\n", "t:4:"},
           {"spate-remote 1\nself a\nhost a\n", "t:2:"},
           {"spate-remote 1\n" + secret + "self b\nhost a\n", "t:2:"},
       }) {
    auto ticket = ParseTicket(text, "t");
    ASSERT_FALSE(ticket) << text;
    EXPECT_NE(ticket.error().message.find(place), std::string::npos) << ticket.error().message;
  }
}

TEST(Ticket, AnyBytesAreRefusedOrRead) {
  EXPECT_TRUE(rc::check([](const std::string& noise) {
    (void)ParseTicket("spate-remote 1\n" + noise, "t");
    (void)ParseTicket(noise, "t");
    (void)ParseLobbies(noise);
  }));
}

TEST(Ticket, AFileThatOthersMayReadIsNoTicket) {
  os::TempDir dir;
  std::string path = dir.Write("ticket", FormatTicket(TwoNodes()));
  ASSERT_TRUE(os::SetPermissions(path, 0600));
  EXPECT_TRUE(LoadTicket(path));
  ASSERT_TRUE(os::SetPermissions(path, 0640));
  auto open = LoadTicket(path);
  ASSERT_FALSE(open);
  EXPECT_EQ(open.error().kind, ErrorKind::kPermission);
}

TEST(Ticket, EachPartAndEachGangHasKeysOfItsOwn) {
  Bytes32 one{}, other{};
  other[0] = 1;
  const PartKeys a = KeysOfPart(one, "a");
  EXPECT_EQ(a.id, KeysOfPart(one, "a").id);
  EXPECT_EQ(a.key, KeysOfPart(one, "a").key);
  EXPECT_NE(a.id, a.key);
  for (const PartKeys& b : {KeysOfPart(one, "b"), KeysOfPart(other, "a")}) {
    EXPECT_NE(a.id, b.id);
    EXPECT_NE(a.key, b.key);
  }
  EXPECT_LE(InboxName(a.id).size(), 100u);
}

}  // namespace
}  // namespace spate::remote
