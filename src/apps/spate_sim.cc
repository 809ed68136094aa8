// spate-sim: the whole of Spate in virtual time, with faults. See sim/world.h.
#include <string>
#include <vector>

#include "sim/simulate.h"

int main(int argc, char** argv) {
  return spate::sim::Simulate(std::vector<std::string>(argv + 1, argv + argc));
}
