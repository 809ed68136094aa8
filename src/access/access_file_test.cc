#include "access/access_file.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <sys/stat.h>

#include "os/file.h"
#include "os/temp_dir.h"

namespace spate::access {
namespace {

constexpr std::string_view kPin =
    "sha256:000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
constexpr std::string_view kSecret =
    "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeffe0e1e2e3e4e5e6e7e8e9eaebecedeeef";

// The lines of a good file, but those that begin like `without`, and then `more`.
std::string Text(std::string_view without = "-", std::string_view more = "") {
  std::string text;
  for (const std::string& line :
       {std::string("hub = head:7100"), "pin = " + std::string(kPin), std::string("serial = 17"),
        std::string("role = node"), std::string("user = ada"),
        std::string("expires = 2027-01-31T12:00:00Z"), "secret = " + std::string(kSecret)}) {
    if (!line.starts_with(without)) text += line + "\n";
  }
  return text.append(more);
}

Access Example() { return ParseAccess(Text(), "x").value(); }

TEST(AccessFile, ReadsWhatPeopleMayWrite) {
  Access access = Example();
  EXPECT_EQ(access.hubs, (std::vector<os::Address>{{.host = "head", .port = 7100}}));
  EXPECT_EQ(access.pin[31], 31);
  EXPECT_EQ(access.serial, 17u);
  EXPECT_EQ(access.role, Role::kNode);
  EXPECT_EQ(access.user, "ada");
  EXPECT_EQ(access.expires.ns, 1801396800LL * 1000000000);
  EXPECT_EQ(access.secret[0], 0xf0);
  for (std::string_view more : {"\n\n# note = x\n  \t\n", "\r\n# x\r\n", "# without an end"}) {
    EXPECT_EQ(ParseAccess(Text("-", more), "x").value(), access) << more;
  }
  EXPECT_EQ(ParseAccess(Text("serial", "\tserial=17 \r\n"), "x").value(), access);
  EXPECT_EQ(ParseAccess(Text("serial", "serial = 17"), "x").value(), access);
  auto two = ParseAccess(Text("-", "hub = [::1]:5\nhub = unix:/run/x\n"), "x");
  ASSERT_TRUE(two);
  EXPECT_EQ(two->hubs.size(), 3u);
  EXPECT_EQ(ParseAccess(Text("expires", "expires = never"), "x")->expires, Instant::Never());
  EXPECT_EQ(ParseAccess(Text("user", "user = *"), "x")->user, kEveryUser);
}

TEST(AccessFile, ErrorsNameTheLineAndTheFix) {
  std::string many_hubs;
  for (int i = 0; i < 16; ++i) many_hubs += "hub = head:7100\n";
  struct Case {
    std::string text;
    const char* message;
  };
  for (const auto& [text, message] :
       {Case{"", "f: `hub` is missing"},
        Case{Text("pin"), "f: `pin` is missing"},
        Case{Text("expires"), "f: `expires` is missing"},
        Case{Text("secret"), "f: `secret` is missing"},
        Case{Text("-", "user = bob"), "line 8: `user` is already in line 5"},
        Case{Text("-", "hello"), "line 8: this line is not `name = value`"},
        Case{Text("-", "= x"), "line 8: the name `` is unknown"},
        Case{Text("-", "expire = never"),
             "line 8: the name `expire` is unknown; did you mean expires?"},
        Case{Text("user", "user ="), "line 7: `user` has no value"},
        Case{Text("user", "user = a b"), "line 7: the user is a name without blanks"},
        Case{Text("user", "user = " + std::string(257, 'a')), "line 7: the user"},
        Case{Text("role", "role = root"), "line 7: the role is node, client or admin"},
        Case{Text("role", "role = Node"), "line 7: the role is"},
        Case{Text("serial", "serial = 0"), "line 7: the serial is a number from 1"},
        Case{Text("serial", "serial = -1"), "line 7: the serial"},
        Case{Text("serial", "serial = 18446744073709551616"), "line 7: the serial"},
        Case{Text("pin", "pin = " + std::string(kSecret)), "line 7: the pin is sha256:"},
        Case{Text("pin", "pin = sha256:00"), "line 7: the pin is sha256:"},
        Case{Text("secret", "secret = " + std::string(63, 'a')), "line 7: the secret is 64"},
        Case{Text("hub", "hub = head"), "line 7: 'head' is not an address: there is no port"},
        Case{Text("hub", "hub = head:0"), "line 7: a hub's port is 1 to 65535"},
        Case{Text("-", many_hubs), "line 23: there are more than 16 hubs"},
        Case{Text("expires", "expires = soon"), "line 7: 'soon' is not a time"},
        Case{Text("u", "user = *").replace(Text("u").find("node"), 4, "admin"),
             "f: only a node can serve all users"}}) {
    auto parsed = ParseAccess(text, "f");
    ASSERT_FALSE(parsed) << message;
    EXPECT_EQ(parsed.error().kind, ErrorKind::kInvalid);
    EXPECT_NE(parsed.error().message.find(message), std::string::npos) << parsed.error().message;
    EXPECT_EQ(parsed.error().message.find(std::string(60, 'a')), std::string::npos);
  }
}

TEST(AccessFile, WhatIsWrittenIsReadTheSame) {
  EXPECT_TRUE(rc::check([] {
    Access access = Example();
    access.serial = *rc::gen::inRange<uint64_t>(1, UINT64_MAX);
    access.role = *rc::gen::element(Role::kNode, Role::kClient, Role::kAdmin);
    access.user = *rc::gen::nonEmpty(rc::gen::string<std::string>());
    std::erase_if(access.user,
                  [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == 127; });
    access.user.insert(0, "u");
    int64_t seconds = *rc::gen::inRange<int64_t>(0, 9000000000);
    if (seconds % 2 == 0) access.expires = {seconds * 1000000000};
    for (uint8_t& byte : access.pin) byte = *rc::gen::arbitrary<uint8_t>();
    for (uint8_t& byte : access.secret) byte = *rc::gen::arbitrary<uint8_t>();
    RC_ASSERT(ParseAccess(FormatAccess(access), "x").value() == access);
  }));
}

TEST(AccessFile, DamageIsRefusedOrReadAsItStands) {
  std::string good = FormatAccess(Example());
  EXPECT_TRUE(rc::check([&] {
    std::string damaged = good;
    damaged[*rc::gen::inRange<size_t>(0, good.size())] = *rc::gen::arbitrary<char>();
    auto parsed = ParseAccess(damaged, "x");
    if (parsed) RC_ASSERT(ParseAccess(FormatAccess(*parsed), "x").value() == *parsed);
  }));
  // Cut short anywhere before the last value is whole: refused.
  for (size_t size = 0; size + 1 < good.size(); ++size) {
    EXPECT_FALSE(ParseAccess(good.substr(0, size), "x")) << size;
  }
}

TEST(AccessFile, IsWrittenAndReadInPrivate) {
  os::TempDir dir;
  std::string path = dir.Path("access");
  ASSERT_TRUE(SaveAccess(path, Example()));
  EXPECT_EQ(os::Stat(path).value().permissions, 0600u);
  EXPECT_EQ(LoadAccess(path).value(), Example());
  ASSERT_EQ(chmod(path.c_str(), 0640), 0);
  auto loaded = LoadAccess(path);
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().kind, ErrorKind::kPermission);
  EXPECT_NE(loaded.error().message.find("chmod 600"), std::string::npos);
  // Written anew it is private again.
  ASSERT_TRUE(SaveAccess(path, Example()));
  EXPECT_TRUE(LoadAccess(path));
  ASSERT_TRUE(os::WriteFile(path, std::string(70000, '#')));
  EXPECT_FALSE(LoadAccess(path));
}

TEST(AccessFile, Expiry) {
  Access access = Example();
  EXPECT_TRUE(CheckExpiry(access, access.expires - Duration{1}));
  auto expired = CheckExpiry(access, access.expires);
  ASSERT_FALSE(expired);
  EXPECT_EQ(expired.error().kind, ErrorKind::kPermission);
  EXPECT_NE(expired.error().message.find("expired on 2027-01-31T12:00:00Z"), std::string::npos);
  access.expires = Instant::Never();
  EXPECT_TRUE(CheckExpiry(access, {INT64_MAX - 1}));
}

TEST(FindAccessFile, OneOfAnotherRoleIsPassedOver) {
  os::TempDir dir;
  os::Environment environment({"HOME=" + dir.Path("home")});
  auto find = [&](AccessOf whose) {
    return FindAccessFile("", environment, whose, dir.Path("etc")).value_or("");
  };
  ASSERT_TRUE(os::MakeDirs(dir.Path("etc"), 0700));
  ASSERT_TRUE(os::MakeDirs(dir.Path("home/.config/spate"), 0700));
  const std::string system = dir.Path("etc/access");
  const std::string own = dir.Path("home/.config/spate/access");
  Access access = Example();
  access.role = Role::kNode;
  ASSERT_TRUE(SaveAccess(system, access));
  EXPECT_EQ(find(AccessOf::kNode), system);
  EXPECT_EQ(find(AccessOf::kOthers), "");
  access.role = Role::kClient;
  ASSERT_TRUE(SaveAccess(own, access));
  EXPECT_EQ(find(AccessOf::kNode), system);
  EXPECT_EQ(find(AccessOf::kOthers), own);
  access.role = Role::kNode;
  ASSERT_TRUE(SaveAccess(dir.Path("etc/node.access"), access));
  EXPECT_EQ(find(AccessOf::kNode), dir.Path("etc/node.access"));
}

TEST(FindAccessFile, InItsOrder) {
  os::TempDir dir;
  std::string system = dir.Write("etc/access", "");
  std::string in_home = dir.Write("home/.config/spate/access", "");
  std::string in_config = dir.Write("config/spate/access", "");
  std::string home = "HOME=" + dir.Path("home");
  std::string config = "XDG_CONFIG_HOME=" + dir.Path("config");
  using Entries = std::vector<std::string>;
  struct Case {
    std::string option;
    Entries environment;
    std::string found;
  };
  for (const auto& [option, environment, found] :
       {Case{"/a", {"SPATE_HUB=/b", home, config}, "/a"},
        Case{"", {"SPATE_HUB=/b", home, config}, "/b"}, Case{"", {home, config}, in_config},
        Case{"", {"SPATE_HUB=", home}, in_home}, Case{"", {home, "XDG_CONFIG_HOME=rel"}, in_home},
        Case{"", {home, "XDG_CONFIG_HOME=/none"}, system}, Case{"", {}, system}}) {
    auto path =
        FindAccessFile(option, os::Environment(environment), AccessOf::kOthers, dir.Path("etc"));
    ASSERT_TRUE(path);
    EXPECT_EQ(*path, found);
  }
  auto none =
      FindAccessFile("", os::Environment(Entries{"HOME=/none"}), AccessOf::kOthers, "/none/etc");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::kNotFound);
  EXPECT_NE(none.error().message.find("'/none/.config/spate/access' and at '/none/etc/access'"),
            std::string::npos)
      << none.error().message;
}

}  // namespace
}  // namespace spate::access
