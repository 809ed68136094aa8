#include "format/gzip/gunzip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <array>

#include "base/check.h"

namespace spate::format {
namespace {

constexpr int kOnlyGzip = 16 + MAX_WBITS;

}  // namespace

struct Gunzip::Stream {
  z_stream z{};
  std::array<char, 64 * 1024> out;
};

bool IsGzip(std::string_view begin) { return begin.starts_with("\x1f\x8b"); }

Gunzip::Gunzip(Sink sink) : stream_(std::make_unique<Stream>()), sink_(std::move(sink)) {
  CHECK(inflateInit2(&stream_->z, kOnlyGzip) == Z_OK);
}

Gunzip::~Gunzip() { inflateEnd(&stream_->z); }

Status Gunzip::Feed(std::string_view bytes) {
  z_stream& z = stream_->z;
  // It does not write there.
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  z.avail_in = static_cast<uInt>(bytes.size());
  bool full = false;
  while (z.avail_in > 0 || full) {
    z.next_out = reinterpret_cast<Bytef*>(stream_->out.data());
    z.avail_out = static_cast<uInt>(stream_->out.size());
    inside_ = true;
    int answer = inflate(&z, Z_NO_FLUSH);
    if (answer != Z_OK && answer != Z_STREAM_END && answer != Z_BUF_ERROR) {
      return Fail(ErrorKind::kInvalid,
                  fmt::format("damaged: gzip: {}", z.msg ? z.msg : "wrong bytes"));
    }
    const size_t made = stream_->out.size() - z.avail_out;
    TRY(sink_({stream_->out.data(), made}));
    full = z.avail_out == 0;
    if (answer != Z_STREAM_END) continue;
    inside_ = false;
    any_ = true;
    full = false;
    CHECK(inflateReset(&z) == Z_OK);
  }
  return {};
}

Status Gunzip::Finish() {
  if (any_ && !inside_) return {};
  return Fail(ErrorKind::kInvalid, "damaged: gzip: its end is missing");
}

}  // namespace spate::format
