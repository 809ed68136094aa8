// Names of types, from the name that the compiler gives a function of them.
#pragma once

#include <string>
#include <string_view>

namespace spate {

// "wire::ListNodes": with its namespaces, but ours.
template <typename T>
constexpr std::string_view TypeName() {
  std::string_view text = __PRETTY_FUNCTION__;
  text.remove_prefix(text.find("T = ") + 4);
  text = text.substr(0, text.find_first_of(";]"));
  constexpr std::string_view kOurs = "spate::";
  return text.starts_with(kOurs) ? text.substr(kOurs.size()) : text;
}

// "list nodes".
template <typename T>
std::string TypeWords() {
  const std::string_view name = TypeName<T>();
  std::string words;
  for (char c : name.substr(name.rfind(':') + 1)) {
    const bool begins = c >= 'A' && c <= 'Z';
    if (begins && !words.empty()) words += ' ';
    words += begins ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return words;
}

}  // namespace spate
