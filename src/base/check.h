// CHECK: a programmer error ends the process, in release builds too.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace spate {

[[noreturn]] inline void CheckFailed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "spate: internal error at %s:%d: %s\n", file, line, condition);
  std::abort();
}

}  // namespace spate

// Split conjunctions into several CHECKs, so that the message tells which one failed.
#define CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::spate::CheckFailed(#condition, __FILE__, __LINE__))
