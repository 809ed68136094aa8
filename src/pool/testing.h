// Common parts of the tests of all drivers. Only for tests.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "pool/driver.h"

namespace spate::pool {

inline PilotSpec PlainSpec() {
  PilotSpec spec;
  spec.tag = "spate-a-1";
  spec.output_file = "/home/ann/pool/out";
  spec.command = {"spate", "node", "start"};
  return spec;
}

// Output of a successful submit, and the id in it; empty: none, and the pilot may exist.
struct IdCase {
  std::string out, id;
};
inline void ExpectIds(const PoolDriver& driver, const std::vector<IdCase>& cases,
                      const std::string& err = "") {
  for (const IdCase& c : cases) {
    auto id = driver.ReadSubmit({Outcome::End::kExited, 0, c.out, err});
    EXPECT_EQ(id.value_or(""), c.id) << c.out;
    EXPECT_TRUE(id || id.error().perhaps_there) << c.out;
  }
}

// Complaint of a submit, and its meaning.
struct FailureCase {
  std::string err;
  SubmitFailure::Kind kind = SubmitFailure::Kind::kRefused;
  bool perhaps = false;
  Outcome::End end = Outcome::End::kExited;
  int code = 1;
};
inline void ExpectFailures(const PoolDriver& driver, const std::vector<FailureCase>& cases,
                           const std::string& out = "", const std::string& program = "") {
  for (const FailureCase& c : cases) {
    auto id = driver.ReadSubmit({c.end, c.code, out, c.err});
    ASSERT_FALSE(id);
    EXPECT_EQ(id.error().kind, c.kind) << c.err;
    EXPECT_EQ(id.error().perhaps_there, c.perhaps) << c.err;
    EXPECT_TRUE(id.error().message.starts_with(program)) << id.error().message;
  }
}

}  // namespace spate::pool
