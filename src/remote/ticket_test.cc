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

TEST(Ticket, AddressesThatNoLobbyHasAreRefused) {
  for (const char* text : {"unix:/tmp/s", "unix:/tmp/s\nself n3", "*:7001", "10.0.0.1:0",
                           "10.0.0.1:7001,[::]:7001", "0.0.0.0:7001", "10.0.0.1:7001,*:7001"}) {
    EXPECT_FALSE(ParseLobbies(text)) << text;
  }
  EXPECT_EQ(ParseLobbies("10.0.0.1:7001,[fd00::2]:7001")->size(), 2u);
  EXPECT_TRUE(ParseLobbies("")->empty());
}

TEST(Ticket, AHostIsFoundByItsWholeNameOrBeforeADot) {
  Ticket ticket = TwoNodes();
  for (const char* name :
       {"n3.site.org", "n4.a", "n4.b", "n5", "10.0.0.7", "10", "a.b.c", "n1.x", "fd00::1"}) {
    ticket.hosts.push_back({name, {}});
  }
  for (auto [host, node] : std::vector<std::pair<std::string, std::string>>{
           {"n1", "n1"},                    // not n1.x
           {"n3", "n3.site.org"},           // cut
           {"n3.site", "n3.site.org"},      // in another place
           {"n3.site.org", "n3.site.org"},  // whole
           {"n5.site.org", "n5"},           // the node's name is the cut one
           {"n3.other.org", ""},            // another domain
           {"n3.sit", ""},                  // not up to a dot
           {"n4", ""},                      // two nodes
           {"n4.a", "n4.a"},
           {"10.0.0.7", "10.0.0.7"},
           {"10.0", ""},  // numbers are whole or nothing
           {"10.0.0.7.8", ""},
           {"10.9", ""},
           {"10.0.0.5", ""},
           {"fd00::1", "fd00::1"},
           {"a", "a.b.c"},
           {"a.b", "a.b.c"},
           {"a.c", ""},
           {"", ""},
           {"n6", ""},
       }) {
    const TicketHost* found = ticket.FindLike(host);
    EXPECT_EQ(found != nullptr ? found->node : "", node) << host;
  }
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
