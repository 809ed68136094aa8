// The program's version.
#pragma once

#include <string>

namespace spate {

// The release and the commit that it was built from, as "0.1.0+3f2a9c41d07e", with "-changed" where
// the sources were no longer those of the commit; "0.1.0" alone: that was not known. Peers tell it
// each other, and people compare it; nothing is decided by it. Made by cmake/product.cmake;
// programs link spate::version.
std::string ProductVersion();

}  // namespace spate
