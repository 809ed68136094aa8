// A function goes along with its data: here as a formula in Polish notation, which the slave reads
// and applies ("+ * x x 1" of x is x squared and one more).
#include <spate/mw.h>

#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace mw = spate::mw;

double value_of(std::istream& formula, double x) {
  std::string word;
  if (!(formula >> word)) throw std::runtime_error("the formula ends too early");
  if (word == "x") return x;
  if (word == "+" || word == "*") {
    const double a = value_of(formula, x), b = value_of(formula, x);
    return word == "+" ? a + b : a * b;
  }
  return std::stod(word);
}

const auto apply_all =
    mw::algorithm<"apply-all">([](const std::string& formula, std::vector<double> data) {
      for (double& each : data) {
        std::istringstream text(formula);
        each = value_of(text, each);
      }
      return data;
    });

int master(mw::master& m) {
  for (int i = 0; i < 10; ++i) {
    m.submit(apply_all, "+ * x x " + std::to_string(i), std::vector<double>{1, 2, 3});
  }
  while (m.pending() > 0) {
    m.wait();
    for (const mw::result& r : m.take_results()) {
      std::cout << "task " << r.task.value << ':';
      for (double each : r.get(apply_all)) std::cout << ' ' << each;
      std::cout << '\n';
    }
  }
  return 0;
}

int main(int argc, char** argv) { return mw::run(argc, argv, master); }
