// A list of words as a JSON array of strings, and back, byte for byte.
//
// A byte that is not part of valid UTF-8 becomes the escape of a lone surrogate, \udc80 to \udcff,
// as Python does it (PEP 383), so that any argv survives and the text stays JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace spate::store {

// `cut`: there were more words. The array then ends with null.
std::string ToJson(const std::vector<std::string>& words, bool cut = false);
// nullopt: not such an array.
std::optional<std::vector<std::string>> WordsFromJson(std::string_view json);
inline bool IsCut(std::string_view json) { return json.ends_with("null]"); }

}  // namespace spate::store
