// Instant and Duration: 64-bit nanoseconds. An Instant counts from the Unix epoch and never steps
// back within a process (os::Clock anchors the steady clock once at start).
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace spate {

struct Duration {
  int64_t ns = 0;

  static constexpr Duration Max() { return {std::numeric_limits<int64_t>::max()}; }
  static constexpr Duration Micros(int64_t v) { return {v * 1000}; }
  static constexpr Duration Millis(int64_t v) { return {v * 1000000}; }
  static constexpr Duration Seconds(int64_t v) { return {v * 1000000000}; }
  static constexpr Duration SecondsF(double v) { return {static_cast<int64_t>(v * 1e9)}; }
  constexpr int64_t micros() const { return ns / 1000; }
  constexpr int64_t millis() const { return ns / 1000000; }
  constexpr double seconds() const { return static_cast<double>(ns) * 1e-9; }

  friend constexpr auto operator<=>(Duration, Duration) = default;
  friend constexpr Duration operator+(Duration a, Duration b) { return {a.ns + b.ns}; }
  friend constexpr Duration operator-(Duration a, Duration b) { return {a.ns - b.ns}; }
  friend constexpr Duration operator*(Duration a, int64_t k) { return {a.ns * k}; }
  friend constexpr Duration operator/(Duration a, int64_t k) { return {a.ns / k}; }
};

struct Instant {
  int64_t ns = 0;

  static constexpr Instant Never() { return {std::numeric_limits<int64_t>::max()}; }
  constexpr double seconds() const { return static_cast<double>(ns) * 1e-9; }

  friend constexpr auto operator<=>(Instant, Instant) = default;
  friend constexpr Instant operator+(Instant t, Duration d) {
    return d.ns > 0 && t.ns > Never().ns - d.ns ? Never() : Instant{t.ns + d.ns};
  }
  friend constexpr Instant operator-(Instant t, Duration d) { return {t.ns - d.ns}; }
  friend constexpr Duration operator-(Instant a, Instant b) { return {a.ns - b.ns}; }
};

}  // namespace spate
