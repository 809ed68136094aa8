// Prng: a small deterministic generator (splitmix64). The same seed gives the same numbers on
// every machine. Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators".
#pragma once

#include <cstdint>

namespace spate {

class Prng {
 public:
  explicit constexpr Prng(uint64_t seed) : state_(seed) {}

  constexpr uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  // Uniform in [0, bound), bound > 0; the bias is below 2^-32 for bounds below 2^32.
  constexpr uint64_t Below(uint64_t bound) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<uint64_t>((static_cast<Wide>(Next()) * bound) >> 64);
  }
  // True in about `percent` of 100 calls.
  constexpr bool Chance(unsigned percent) { return Below(100) < percent; }

 private:
  uint64_t state_;
};

}  // namespace spate
