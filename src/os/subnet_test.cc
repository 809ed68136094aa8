#include "os/subnet.h"

#include <gtest/gtest.h>

namespace spate::os {
namespace {

SocketAddress At(const std::string& host) {
  return SocketAddress::Numeric({.host = host, .port = 7}).value().value();
}

TEST(Subnets, WhoIsIn) {
  struct Case {
    const char* list;
    const char* address;
    bool in;
  };
  const Case cases[] = {
      {"192.168", "192.168.3.4", true},
      {"192.168", "::ffff:192.168.3.4", true},
      {"192.168", "192.169.3.4", false},
      {"192.168.", "192.168.3.4", true},
      {"19", "192.168.3.4", false},
      {"10.1.2.3", "10.1.2.3", true},
      {"10.1.2.3", "10.1.2.4", false},
      {"10.0.0.0/8", "10.255.1.1", true},
      {"10/8", "11.0.0.1", false},
      {"10.1.2.128/25", "10.1.2.127", false},
      {"10.1.2.128/25", "10.1.2.129", true},
      {"0.0.0.0/0", "8.8.8.8", true},
      {"0.0.0.0/0", "2001:db8::1", false},
      {"124.168,10.0.0.0/8", "10.4.4.4", true},
      {" 124.168, 10.0.0.0/8 ", "124.168.4.4", true},
      {"fd00::/8", "fd12::1", true},
      {"fd00::/8", "fe80::1", false},
      {"2001:db8", "2001:db8:5::1", true},
      {"2001:db8", "2001:db9::1", false},
      {"2001:db8::1", "2001:db8::1", true},
      {"2001:db8::1", "2001:db8::2", false},
      // This machine always is.
      {"192.168", "127.0.0.1", true},
      {"192.168", "::1", true},
  };
  for (const Case& c : cases) {
    auto subnets = Subnets::Parse(c.list);
    ASSERT_TRUE(subnets) << c.list << ": " << subnets.error().message;
    EXPECT_EQ(subnets->Has(At(c.address)), c.in) << c.list << " " << c.address;
    EXPECT_EQ(subnets->HasText(At(c.address).Text()), c.in) << c.list << " " << c.address;
  }
  Subnets some = Subnets::Of({At("10.1.2.3"), At("fd00::1")});
  EXPECT_TRUE(some.Has(At("10.1.2.3")));
  EXPECT_TRUE(some.Has(At("fd00::1")));
  EXPECT_FALSE(some.Has(At("10.1.2.2")));
  EXPECT_FALSE(some.HasText("head:7"));
  EXPECT_TRUE(Subnets().Has(At("127.0.0.1")));
  EXPECT_FALSE(Subnets().Has(At("10.1.2.3")));
}

TEST(Subnets, WhatIsNone) {
  for (const char* list :
       {"", " ", ",", "x", "10.0.0.0/33", "fd00::/129", "10.0.0.0/", "10.0.0.0/8x", "1.2.3.4.5",
        "300.1", "10.0.0.0/-1", "fd00::g", "1:2:3:4:5:6:7:8:9"}) {
    EXPECT_FALSE(Subnets::Parse(list)) << list;
  }
}

}  // namespace
}  // namespace spate::os
