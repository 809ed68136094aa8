#include "pool/prologue.h"

#include <gtest/gtest.h>

namespace spate::pool {
namespace {

using Words = std::vector<std::string>;

std::string Packed(const Words& entries) {
  std::string text;
  for (const std::string& entry : entries) text += entry + std::string(1, '\0');
  return text;
}

TEST(Prologue, WhatItChangedIsFound) {
  const std::string before = Packed({"PATH=/bin", "HOME=/h", "GONE=1", "PWD=/a", "SHLVL=1"});
  os::Environment now(Words{"PATH=/opt/bin:/bin", "HOME=/h", "NEW=a\nb", "PWD=/b", "SHLVL=2",
                            "_=/usr/bin/env", "SPATE_PILOT_BEFORE=/tmp/x"});
  EXPECT_EQ(ChangedNames(before, now), (Words{"GONE", "NEW", "PATH"}));
  EXPECT_EQ(ChangedNames(Packed(now.entries()), now), Words());
  now.Set("SPATE_PILOT_CHANGED", "GONE NEW PATH");
  const Words changes = ChangedVariables(now);
  EXPECT_EQ(changes, (Words{"GONE", "NEW=a\nb", "PATH=/opt/bin:/bin"}));
  EXPECT_EQ(os::WithChanges({"PATH=/submitter", "GONE=2", "USER=ann", "A=1"}, changes),
            (Words{"USER=ann", "A=1", "NEW=a\nb", "PATH=/opt/bin:/bin"}));
}

TEST(Prologue, WithoutOneNothingChanges) {
  EXPECT_EQ(ChangedVariables(os::Environment(Words{"PATH=/bin"})), Words());
  EXPECT_EQ(os::WithChanges({"A=1", "B"}, {}), (Words{"A=1", "B"}));
}

}  // namespace
}  // namespace spate::pool
