// Bytes that gzip has made smaller, as a stream (RFC 1952).
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "base/result.h"

namespace spate::format {

// True if a file that begins with these bytes is a gzip file.
bool IsGzip(std::string_view begin);

class Gunzip {
 public:
  using Sink = std::function<Status(std::string_view)>;

  // `sink` gets what comes out, in pieces of at most 64 KB; its first error ends all.
  explicit Gunzip(Sink sink);
  ~Gunzip();

  // The next bytes, cut anywhere. kInvalid: damaged. Several files of gzip's one behind the other
  // are one.
  Status Feed(std::string_view bytes);
  // kInvalid: bytes are missing.
  Status Finish();

 private:
  struct Stream;
  std::unique_ptr<Stream> stream_;
  Sink sink_;
  bool inside_ = false;  // of a file that has begun and not ended
  bool any_ = false;     // one has ended
};

}  // namespace spate::format
