#include "doors/mw/formats/resource_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

namespace spate::mw {
namespace {

// A file that CL-MW 0.4 wrote.
constexpr std::string_view kText =
    ";; Status of the computation\n"
    "(:computation-status :in-progress)\n"
    ";; Time Stamp of Resource File\n"
    "(:timestamp 4004276170)\n"
    ";; Member ID\n"
    "(:member-id \"run.17\")\n"
    ";; Update Interval (sec) of Resource File\n"
    "(:update-interval 300)\n"
    ";; Slaves Needed\n"
    "(:slaves-needed 998)\n"
    ";; Slave Executable and Shared Libs\n"
    "(:slave-executable (\"/srv/app/ping\" (\"/srv/app/libx.so\" \"/srv/app/liby.so\")))\n"
    ";; Slave Arguments\n"
    "(:slave-arguments (\"--mw-slave\" \"--mw-master-host\" \"head\" \"--mw-master-port\" "
    "\"47416\"))\n";

ResourceFile Example() {
  return {.timestamp = 1795287370,
          .member_id = "run.17",
          .slaves_needed = 998,
          .executable = "/srv/app/ping",
          .libraries = {"/srv/app/libx.so", "/srv/app/liby.so"},
          .slave_arguments = SlaveArguments("head", 47416)};
}

std::string ErrorOf(std::string_view text) {
  auto read = ReadResourceFile(text, "f.rsc");
  return read ? "none" : read.error().message;
}

TEST(ResourceFileTest, TheFileOfClMw) {
  EXPECT_EQ(WriteResourceFile(Example()), kText);
  auto read = ReadResourceFile(kText, "f.rsc");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, Example());
}

TEST(ResourceFileTest, WithoutLibrariesAndWithQuotes) {
  std::string text = WriteResourceFile({.finished = true,
                                        .timestamp = 0,
                                        .member_id = "a \"b\" \\c\n(d",
                                        .update_interval = 5,
                                        .executable = "/x",
                                        .access = "A;B"});
  EXPECT_EQ(text,
            ";; Status of the computation\n(:computation-status :finished)\n"
            ";; Time Stamp of Resource File\n(:timestamp 2208988800)\n"
            ";; Member ID\n(:member-id \"a \\\"b\\\" \\\\c\n(d\")\n"
            ";; Update Interval (sec) of Resource File\n(:update-interval 5)\n"
            ";; Slaves Needed\n(:slaves-needed 0)\n"
            ";; Slave Executable and Shared Libs\n(:slave-executable (\"/x\" NIL))\n"
            ";; Slave Arguments\n(:slave-arguments ())\n"
            ";; Access for Slaves of Spate\n(:spate-access \"A;B\")\n");
  auto read = ReadResourceFile(text, "f.rsc");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->member_id, "a \"b\" \\c\n(d");
  EXPECT_EQ(read->access, "A;B");
  EXPECT_TRUE(read->finished);
}

TEST(ResourceFileTest, WhatMayStandThere) {
  ResourceFile none;
  EXPECT_FALSE(none.finished);
  EXPECT_EQ(none.member_id, "default-member-id");
  EXPECT_EQ(none.update_interval, 300);
  auto with = [&](auto&& change) {
    ResourceFile file = none;
    change(file);
    return file;
  };
  struct Case {
    std::string_view text;
    ResourceFile file;
  };
  for (const Case& c : std::vector<Case>{
           {"", none},
           {"; no line end", none},
           {"\xef\xbb\xbf;; a mark of UTF-8", none},
           {"a 12 \"b\" :timestamp () (()) ((:timestamp x)) (\"timestamp\" 1) (12 13)", none},
           {"(timestamp 1) (:timestamps 1) (:new (\"(\" #| ) |# #\\( |)| (:timestamp 3)) ; )\n)",
            none},
           {"(:COMPUTATION-STATUS :FINISHED)", with([](auto& f) { f.finished = true; })},
           {"(:Computation-Status\n\t:Finished)", with([](auto& f) { f.finished = true; })},
           {"(:computation-status :Failed)", with([](auto& f) { f.finished = f.failed = true; })},
           {"(:computation-status :failed)(:computation-status :finished)",
            with([](auto& f) { f.finished = true; })},
           {"(:computation-status :finished)(:computation-status :in-progress)", none},
           {"(:timestamp +2208988807)", with([](auto& f) { f.timestamp = 7; })},
           {"(:timestamp 2208988807.)", with([](auto& f) { f.timestamp = 7; })},
           {"(:timestamp 0)", with([](auto& f) { f.timestamp = -2208988800; })},
           {"(:slaves-needed -0)", none},
           {"(:slaves-needed 1 2 (3) \"4\")", with([](auto& f) { f.slaves_needed = 1; })},
           {"(:slaves-needed 1)\n(:slaves-needed 2)", with([](auto& f) { f.slaves_needed = 2; })},
           {"#| (:slaves-needed 1) |#(;x\n:slaves-needed;y\n#|z|#5)",
            with([](auto& f) { f.slaves_needed = 5; })},
           {"(:member-id \"\")", with([](auto& f) { f.member_id = ""; })},
           {"(:slave-executable (\"a\" nil))", with([](auto& f) { f.executable = "a"; })},
           {"(:slave-executable (\"a\" ()))", with([](auto& f) { f.executable = "a"; })},
           {"(:slave-executable (\"a\"))", with([](auto& f) { f.executable = "a"; })},
           {"(:slave-executable (\"b\" (\"c\")))(:slave-executable (\"a\" Nil x (y)) z)",
            with([](auto& f) { f.executable = "a"; })},
           {"(:slave-executable (\"b\" (\"c\")))(:slave-executable NIL)", none},
           {"(:slave-arguments (\"a\"))(:slave-arguments NIL)", none},
           {"(:slave-arguments '(\"a\" \"\"))",
            with([](auto& f) { f.slave_arguments = {"a", ""}; })},
           {"(:spate-access \"x\")", with([](auto& f) { f.access = "x"; })},
       }) {
    auto read = ReadResourceFile(c.text, "f.rsc");
    ASSERT_TRUE(read) << c.text << ": " << read.error().message;
    EXPECT_EQ(*read, c.file) << c.text;
  }
}

TEST(ResourceFileTest, AnyOrder) {
  std::vector<std::string> lines;
  for (std::string_view rest = kText; !rest.empty();) {
    size_t end = rest.find('\n') + 1;
    lines.emplace_back(rest.substr(0, end));
    rest.remove_prefix(end);
  }
  EXPECT_TRUE(rc::check("lines in any order", [&] {
    std::vector<std::string> mixed = lines;
    for (size_t i = mixed.size(); i > 1; --i) {
      std::swap(mixed[i - 1], mixed[*rc::gen::inRange<size_t>(0, i)]);
    }
    std::string text;
    for (const std::string& line : mixed) text += line;
    RC_ASSERT(ReadResourceFile(text, "f.rsc").value() == Example());
  }));
}

TEST(ResourceFileTest, DefaultsOfACommandLine) {
  ResourceFile options{.member_id = "mine", .slave_arguments = {"x"}, .access = "y"};
  EXPECT_EQ(ReadResourceFile("(:timestamp 2208988800)", "f.rsc", options).value(), options);
  auto read = ReadResourceFile(kText, "f.rsc", options);
  EXPECT_EQ(read->member_id, "run.17");
  EXPECT_EQ(read->slave_arguments, SlaveArguments("head", 47416));
  EXPECT_EQ(read->access, "y");
}

TEST(ResourceFileTest, Errors) {
  constexpr std::string_view kRepair = "; correct it, or let the master write the file again";
  struct Case {
    std::string_view text, message;
  };
  for (const Case& c : std::vector<Case>{
           {"(:computation-status)",
            ":computation-status must be :in-progress, :finished or :failed"},
           {"(:computation-status finished)",
            ":computation-status must be :in-progress, :finished or :failed"},
           {"(:timestamp)", ":timestamp must be a whole number from 0 to 1000000000000000"},
           {"(:timestamp \"1\")", ":timestamp must be a whole number from 0 to 1000000000000000"},
           {"(:timestamp . 5)",
            ":timestamp must be a whole number from 0 to 1000000000000000, not ."},
           {"(:timestamp 1000000000000001)",
            ":timestamp must be a whole number from 0 to 1000000000000000, not 1000000000000001"},
           {"(:slaves-needed -1)",
            ":slaves-needed must be a whole number from 0 to 1000000000000000, not -1"},
           {"(:slaves-needed +-1)",
            ":slaves-needed must be a whole number from 0 to 1000000000000000, not +-1"},
           {"(:update-interval 1.5)",
            ":update-interval must be a whole number from 0 to 1000000000000000, not 1.5"},
           {"(:update-interval 99999999999999999999999999999999999999999999999)",
            ":update-interval must be a whole number from 0 to 1000000000000000, not "
            "9999999999999999999999999999999999999999"},
           {"(:member-id run)", ":member-id must be a string in double quotes"},
           {"(:member-id)", ":member-id must be a string in double quotes"},
           {"(:spate-access secret)", ":spate-access must be a string in double quotes"},
           {"(:slave-arguments \"a\")", ":slave-arguments must be a list of strings, or NIL"},
           {"(:slave-arguments)", ":slave-arguments must be a list of strings, or NIL"},
           {"(:slave-arguments (\"a\" 5))",
            ":slave-arguments must be a list of strings in double quotes"},
           {"(:slave-executable \"a\")",
            ":slave-executable must be (\"PATH\" LIBRARIES), LIBRARIES a list of strings or NIL"},
           {"(:slave-executable ())",
            ":slave-executable must be (\"PATH\" LIBRARIES), LIBRARIES a list of strings or NIL"},
           {"(:slave-executable (\"a\" \"b\"))",
            ":slave-executable must be a list of strings, or NIL"},
       }) {
    EXPECT_EQ(ErrorOf("; x\n\"\n\"" + std::string(c.text) + "\n(:timestamp 1)"),
              "f.rsc:3: " + std::string(c.message) + std::string(kRepair));
  }
  EXPECT_TRUE(ErrorOf("(:member-id \"a\")\n(:slave-arguments (\"a\"\n\"b\")")
                  .starts_with("f.rsc:2: the list that begins here has no end; "));
  EXPECT_TRUE(ErrorOf("(:member-id \"a").starts_with("f.rsc:1: the string that begins here "));
  EXPECT_TRUE(ErrorOf("\n(:timestamp 3000000000))\n").starts_with("f.rsc:2: this ) has no ( "));
}

TEST(ResourceFileTest, SizesAreBounded) {
  std::string text(kText);
  text.resize(kResourceFileBytesMax, ' ');
  EXPECT_EQ(ReadResourceFile(text, "f.rsc").value(), Example());
  EXPECT_EQ(ErrorOf(text + ' '),
            "f.rsc:1: the file has more than 1.0 MB, so it is not a resource file of CL-MW: name "
            "another one");
  std::string words;
  for (size_t i = 0; i < kResourceWordsMax; ++i) words += "\"w\"";
  EXPECT_EQ(ErrorOf("(:slave-arguments (" + words + "))"), "none");
  EXPECT_EQ(ErrorOf("(:slave-arguments (" + words + "\"w\"))"),
            "f.rsc:1: :slave-arguments must be a list of at most 4096 strings; correct it, or let "
            "the master write the file again");
  EXPECT_TRUE(
      ErrorOf(std::string(1000000, '(')).starts_with("f.rsc:1: lists are nested more than 64 "));
  EXPECT_TRUE(ErrorOf("(:x " + std::string(64, '(') + std::string(65, ')'))
                  .starts_with("f.rsc:1: lists are nested more than 64 "));
}

// A file that is cut off within a form is told, by the line where that form begins.
TEST(ResourceFileTest, EveryBeginning) {
  for (size_t size = 0; size <= kText.size(); ++size) {
    std::string_view begin = kText.substr(0, size);
    auto read = ReadResourceFile(begin, "f.rsc");
    std::string_view line = begin.substr(begin.rfind('\n') + 1);
    bool whole =
        line.starts_with(';') || std::ranges::count(line, '(') == std::ranges::count(line, ')');
    EXPECT_EQ(read.has_value(), whole) << begin;
    if (read) continue;
    auto number = std::ranges::count(begin, '\n') + 1;
    EXPECT_TRUE(read.error().message.starts_with(fmt::format("f.rsc:{}: ", number))) << begin;
  }
}

TEST(ResourceFileTest, WhatIsWrittenIsRead) {
  EXPECT_TRUE(rc::check("any file", [] {
    auto number = [] { return *rc::gen::inRange<int64_t>(0, kResourceNumberMax); };
    ResourceFile file;
    file.finished = *rc::gen::arbitrary<bool>();
    file.failed = file.finished && *rc::gen::arbitrary<bool>();
    file.timestamp = number() - 2208988800;
    file.member_id = *rc::gen::arbitrary<std::string>();
    file.update_interval = number();
    file.slaves_needed = number();
    file.executable = *rc::gen::arbitrary<std::string>();
    file.libraries = *rc::gen::arbitrary<std::vector<std::string>>();
    file.slave_arguments = *rc::gen::arbitrary<std::vector<std::string>>();
    file.access = *rc::gen::arbitrary<std::string>();
    std::string text = WriteResourceFile(file);
    auto read = ReadResourceFile(text, "f.rsc");
    RC_ASSERT(read.has_value());
    RC_ASSERT(*read == file);
    RC_ASSERT(WriteResourceFile(*read) == text);
  }));
}

TEST(ResourceFileTest, NumbersThatNoReaderTakes) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  auto low = ReadResourceFile(
      WriteResourceFile({.timestamp = kMin, .update_interval = kMin, .slaves_needed = -1}), "f");
  ASSERT_TRUE(low) << low.error().message;
  EXPECT_EQ(*low, (ResourceFile{.timestamp = -2208988800, .update_interval = 0}));
  auto high = ReadResourceFile(
      WriteResourceFile({.timestamp = kMax, .update_interval = kMax, .slaves_needed = kMax}), "f");
  ASSERT_TRUE(high) << high.error().message;
  EXPECT_EQ(*high, (ResourceFile{.timestamp = kResourceNumberMax - 2208988800,
                                 .update_interval = kResourceNumberMax,
                                 .slaves_needed = kResourceNumberMax}));
}

TEST(ResourceFileTest, WhereTheMasterIs) {
  ResourceFile file = Example();
  EXPECT_EQ(SlaveArgument(file, "--mw-master-host"), "head");
  EXPECT_EQ(SlaveArgument(file, "--MW-Master-Port"), "47416");
  EXPECT_EQ(SlaveArgument(file, "--mw-member-id"), std::nullopt);
  EXPECT_EQ(SlaveArgument(file, "47416"), std::nullopt);  // nothing behind it
  EXPECT_EQ(SlaveArgument({}, "--mw-master-host"), std::nullopt);
}

}  // namespace
}  // namespace spate::mw
