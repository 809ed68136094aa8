// Ten tasks, each answered with a greeting: the smallest program that is master and slave.
#include <spate/mw.h>

#include <iostream>
#include <string>

namespace mw = spate::mw;

const auto hello =
    mw::algorithm<"hello">([](const std::string& name) { return "Hello World: " + name; });

int master(mw::master& m) {
  for (int i = 0; i < 10; ++i) m.submit(hello, "Task " + std::to_string(i));
  for (int left = 10; left > 0;) {
    m.wait();
    for (const mw::result& r : m.take_results()) {
      std::cout << "Got result from slave: " << r.get(hello) << '\n';
      --left;
    }
  }
  return 0;
}

int main(int argc, char** argv) { return mw::run(argc, argv, master); }
