// gensub2: writes a job list from a template and two lists.
#pragma once

#include "doors/parasol/programs/programs.h"

namespace spate::parasol {

Result<int> RunGensub2(std::span<const std::string> args);

inline constexpr cli::Program kGensub2 = {
    .name = "gensub2",
    .summary = "make a job list from a template and two lists",
    .usage = R"(gensub2 - make a job list from a template and two lists
usage:
   gensub2 LIST1 LIST2 TEMPLATE OUTPUT
The lines of TEMPLATE between #LOOP and #ENDLOOP are written to OUTPUT for each pair of a line of
LIST1 and a line of LIST2; the other lines are written once. Files may be stdin and stdout;
files that are read may be compressed (.gz, .Z, .bz2, .xz).
LIST2 may be
   single     there is only one list
   selfPair   LIST1 again: each pair of two of its lines once
Placeholders in these lines for the line of LIST1 (with 2 instead of 1, for that of LIST2):
   $(path1)        the whole line
   $(dir1)         its folder, without a slash at the end
   $(lastDir1)     the last part of the folder
   $(lastDirs1=N)  the last N parts of the folder
   $(file1)        the name without the folder
   $(root1)        the name without the folder and the extension
   $(ext1)         the extension, from the last dot of the name on
   $(num1)         the number of the line, from 0
options:
   -group1   all of LIST2 for the first line of LIST1, then for the second one: Aa Ab Ac Ba ...
   -group2   all of LIST1 for the first line of LIST2, then for the second one: Aa Ba Ca Ab ...
             (default: Aa Ba Ab Ca Bb Ac Cb Bc Cc, so that what comes first in both lists is first)
)",
    .run = RunGensub2};

}  // namespace spate::parasol
