// The algorithms of this program, by name: what spate/mw.h has noted before main() began, or in it.
//
// Thread: any.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <spate/mw.h>

#include "base/result.h"

namespace spate::mw {

class Algorithms {
 public:
  static Algorithms& Get();

  void Add(std::string_view name, std::string types, detail::byte_function function);
  // Two of one name that differ.
  Status Check() const;
  // Null: there is none.
  const detail::byte_function* Find(std::string_view name) const;
  // One word for each, for the other side: "mw:square(i32)->i32".
  std::vector<std::string> Words() const;

 private:
  struct Algorithm {
    std::string types;
    detail::byte_function function;
  };
  std::map<std::string, Algorithm, std::less<>> all_;
  std::string clash_;
};

// A side's words, and its name in a message: "the slave's program".
struct Build {
  const std::vector<std::string>& words;
  std::string_view name;
};
// An algorithm of `wanted` that `other` lacks, or has with other types. Empty: none.
std::string WhyOtherBuild(const Build& wanted, const Build& other);

}  // namespace spate::mw
