#include "run/job_text.h"

#include <gtest/gtest.h>

#include "wire/client_codec.h"

namespace spate::run {
namespace {

TEST(RowSettings, DamageIsTold) {
  for (const char* text : {"", "x", "{}"}) {
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
  stored.bash = true;
  JobSettings settings;
  settings.cwd = "/now";
  ASSERT_TRUE(DecodeRowSettings(wire::EncodeSettings(stored), settings));
  EXPECT_EQ(settings.cwd, "/now");
  EXPECT_EQ(settings.nice, 0);
  EXPECT_EQ(settings.row_kind, RowKind::kValues);
  EXPECT_EQ(settings.command, stored.command);
  EXPECT_FALSE(settings.has_source);
  EXPECT_TRUE(settings.bash);
  stored.bash = false;  // a job of before, or of a machine without bash
  ASSERT_TRUE(DecodeRowSettings(wire::EncodeSettings(stored), settings));
  EXPECT_FALSE(settings.bash);
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
