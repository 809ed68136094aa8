// spate-sim: the whole of Spate in virtual time, with faults. See sim/world.h.
#include <cstdio>
#include <string>
#include <vector>

#include "sim/simulate.h"

int main(int argc, char** argv) {
  return spate::sim::Simulate({argv + 1, argv + argc}, [](std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
  });
}
