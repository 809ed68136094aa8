#include "run/old_settings.h"

#include <gtest/gtest.h>

#include "run/job_text.h"
#include "wire/client_codec.h"

namespace spate::run {
namespace {

// As runs wrote it; words are bytes, each the code point of its value.
TEST(OldSettings, AreRead) {
  JobSettings settings;
  settings.cwd = "/from/the/command/line";
  auto read =
      DecodeRowSettings(R"({"command":["echo","\u00ff{}"],"has_source":false,"record_values":2,)"
                        R"("repeat_context":true,"rows":"input","value_names":["a"]})",
                        settings);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(settings.command, (std::vector<std::string>{"echo", "\xff{}"}));
  EXPECT_EQ(settings.value_names, std::vector<std::string>{"a"});
  EXPECT_EQ(settings.record_values, 2u);
  EXPECT_EQ(settings.row_kind, RowKind::kInput);
  EXPECT_FALSE(settings.has_source);
  EXPECT_TRUE(settings.repeat_context);
  EXPECT_EQ(settings.cwd, "/from/the/command/line");
}

// Before --colsep and -X.
TEST(OldSettings, FieldsThatCameLaterAreMissing) {
  auto read =
      ReadOldSettings(R"({"command":["ls"],"has_source":true,"rows":"values","value_names":[]})");
  ASSERT_TRUE(read);
  EXPECT_EQ(read->record_values, 0u);
  EXPECT_FALSE(read->repeat_context);
}

TEST(OldSettings, DamageIsTold) {
  for (const char* text :
       {"{", "{}", "", "x", R"({"command":[1],"has_source":true,"rows":"values","value_names":[]})",
        R"({"command":[],"has_source":true,"rows":"other","value_names":[]})",
        R"({"command":[],"has_source":1,"rows":"lines","value_names":[]})"}) {
    JobSettings settings;
    EXPECT_FALSE(DecodeRowSettings(text, settings)) << text;
  }
}

// Settings that the command line has keep their present values.
TEST(RowSettings, AreWhatTheCommandLineDoesNotTell) {
  JobSettings stored;
  stored.cwd = "/then";
  stored.nice = 3;
  stored.row_kind = RowKind::kValues;
  stored.command = {"ls", "\xff"};
  stored.has_source = false;
  JobSettings settings;
  settings.cwd = "/now";
  ASSERT_TRUE(DecodeRowSettings(wire::EncodeSettings(stored), settings));
  EXPECT_EQ(settings.cwd, "/now");
  EXPECT_EQ(settings.nice, 0);
  EXPECT_EQ(settings.row_kind, RowKind::kValues);
  EXPECT_EQ(settings.command, stored.command);
  EXPECT_FALSE(settings.has_source);
}

// Command lines are longer than lists of a message may be.
TEST(RowSettings, ALongCommandIsReadAgain) {
  JobSettings stored;
  stored.cwd = "/";
  stored.command.assign(300'000, "a");
  JobSettings settings;
  ASSERT_TRUE(DecodeRowSettings(wire::EncodeSettings(stored), settings));
  EXPECT_EQ(settings.command, stored.command);
}

// A limit may be longer than times that peers tell each other.
TEST(RowSettings, ALongTimeIsReadAgain) {
  JobSettings stored;
  stored.cwd = "/";
  stored.command = {"true"};
  stored.time_limit = Duration::Seconds(int64_t{40'000} * 86'400);
  JobSettings settings;
  ASSERT_TRUE(DecodeRowSettings(wire::EncodeSettings(stored), settings));
  EXPECT_EQ(settings.command, stored.command);
}

}  // namespace
}  // namespace spate::run
