// How many tasks pass in a second: `ping --mw-master --mw-resource-file F [PINGS]`. It keeps 10,000
// of them pending and asks for 1,000 slaves, so that each is busy whatever comes.
#include <spate/mw.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace mw = spate::mw;

enum class answer : std::uint8_t { ping_ok };

const auto ping = mw::algorithm<"ping">([] { return answer::ping_ok; });

int master(mw::master& m, int argc, char** argv) {
  const long all = argc > 1 ? std::atol(argv[1]) : 1000;
  m.set_target(10'000);
  m.allocate(mw::group::unordered, 1000);
  long sent = 0, back = 0;
  std::chrono::steady_clock::time_point began;
  while (back < all) {
    for (std::size_t room = m.room(); room > 0 && sent < all; --room, ++sent) m.submit(ping);
    m.wait();
    for (const mw::result& r : m.take_results()) {
      if (r.get(ping) != answer::ping_ok) return 1;
      if (back++ == 0) began = std::chrono::steady_clock::now();
    }
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  std::printf("%ld pings, %.0f tasks/s\n", back, static_cast<double>(back) / took.count());
  return 0;
}

int main(int argc, char** argv) { return mw::run(argc, argv, master); }
