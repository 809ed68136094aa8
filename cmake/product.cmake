# Writes OUT, which defines ProductVersion() (src/base/product.h), if it is another one than before:
#   cmake -DSOURCE=folder -DRELEASE=number -DOUT=file -P product.cmake
set(product "${RELEASE}")
# Sources without a history of their own may lie in somebody else's repository.
execute_process(COMMAND git -C "${SOURCE}" rev-parse --show-prefix
  OUTPUT_VARIABLE inside OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed ERROR_QUIET)
execute_process(COMMAND git -C "${SOURCE}" rev-parse --short=12 HEAD
  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE no_commit ERROR_QUIET)
if(NOT failed AND NOT no_commit AND inside STREQUAL "")
  string(APPEND product "+${commit}")
  execute_process(COMMAND git -C "${SOURCE}" status --porcelain -- CMakeLists.txt VERSION cmake include src
    OUTPUT_VARIABLE changes RESULT_VARIABLE failed ERROR_QUIET)
  if(failed OR changes)
    string(APPEND product "-changed")
  endif()
endif()
file(CONFIGURE OUTPUT "${OUT}" @ONLY CONTENT [=[
#include "base/product.h"

namespace spate {
std::string ProductVersion() { return "@product@"; }
}  // namespace spate
]=])
