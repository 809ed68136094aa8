// Templates of gensub2: the lines between #LOOP and #ENDLOOP, once for each pair of items of two
// lists (docs/formats/gensub.md).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace spate::parasol {

// Source of the text of a template's $(...).
enum class GensubPart : uint8_t { kPath, kDir, kLastDir, kLastDirs, kRoot, kExt, kFile, kNum };

class GensubTemplate {
 public:
  // The views lie in the template's text. A piece without a part stands for itself.
  struct Piece {
    std::string_view text;
    bool is_variable = false;
    bool is_second = false;  // of the second list
    GensubPart part = GensubPart::kPath;
    uint32_t count = 0;  // of kLastDirs
  };

  // `text` must outlive the template; `name` is for messages only.
  static Result<GensubTemplate> Parse(std::string_view text, std::string_view name);

  // Lines before #LOOP and after #ENDLOOP, each with its newline.
  const std::string& head() const { return head_; }
  const std::string& tail() const { return tail_; }
  std::span<const Piece> body() const { return body_; }

 private:
  std::string head_, tail_;
  std::vector<Piece> body_;
};

enum class GensubOrder : uint8_t {
  kDiagonal,  // Aa Ba Ab Ca Bb Ac Cb Bc Cc
  kGroup1,    // Aa Ab Ac Ba ...
  kGroup2,    // Aa Ba Ca Ab ...
  kSelfPair,  // Ab Ac Bc: the first list with itself, each pair once, no item with itself
};

// The lines of a list without the white space around them. Blank ones and those with a # count.
std::vector<std::string_view> GensubItems(std::string_view text);

// Gives the whole result to `sink` in pieces of about 64 KB; stops at its first error. Both lists
// have items; with kSelfPair `second` is not looked at.
Status WriteGensub(const GensubTemplate& made_of, std::span<const std::string_view> first,
                   std::span<const std::string_view> second, GensubOrder order,
                   const std::function<Status(std::string_view)>& sink);

}  // namespace spate::parasol
