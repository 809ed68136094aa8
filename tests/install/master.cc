// A program of a user of libspate_mw.a. Its master computes in itself, sees an exception that the
// library throws, and can throw one through the library.
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string_view>

#include "spate/mw.h"

namespace mw = spate::mw;

namespace {

const auto square = mw::algorithm<"square">([](int x) { return x * x; });

int AsMaster(mw::master& master, int argc, char** argv) {
  if (argc > 1 && argv[1] == std::string_view("throw")) throw std::runtime_error("of the user");
  try {
    master.submit_bytes("nobody", {}, {});
  } catch (const mw::error&) {
    std::puts("mw::error");
  }
  try {
    master.submit_bytes("nobody", {}, {});
  } catch (const std::exception&) {
    std::puts("std::exception");
  }
  std::printf("%d\n", square(12));
  return 7;
}

}  // namespace

int main(int argc, char** argv) {
  std::printf("%s\n", mw::version().c_str());
  return mw::run(argc, argv, AsMaster);
}
