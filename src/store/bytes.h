// ByteWriter and ByteReader: the journal's few ways to write a value as bytes.
//
//   varint   unsigned, 7 bits a byte, low bits first, the top bit set on all but the last byte
//   zigzag   signed, as the varint of (v << 1) ^ (v >> 63)
//   fixed64  8 bytes, low byte first
//   text     varint length, then the bytes
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace spate::store {

class ByteWriter {
 public:
  explicit ByteWriter(std::string& out) : out_(out) {}

  void Byte(uint8_t v) { out_.push_back(static_cast<char>(v)); }
  void Varint(uint64_t v) {
    while (v >= 0x80) {
      Byte(static_cast<uint8_t>(v | 0x80));
      v >>= 7;
    }
    Byte(static_cast<uint8_t>(v));
  }
  void Zigzag(int64_t v) {
    Varint((static_cast<uint64_t>(v) << 1) ^ static_cast<uint64_t>(v >> 63));
  }
  void Fixed64(uint64_t v) {
    for (int i = 0; i < 8; ++i) Byte(static_cast<uint8_t>(v >> (8 * i)));
  }
  void Text(std::string_view v) {
    Varint(v.size());
    out_.append(v);
  }

 private:
  std::string& out_;
};

// Survives any bytes: after a read that does not fit, ok() is false and all further reads give 0.
class ByteReader {
 public:
  explicit ByteReader(std::string_view in) : in_(in) {}

  bool ok() const { return ok_; }
  size_t left() const { return in_.size(); }
  void Fail() {
    ok_ = false;
    in_ = {};
  }

  uint8_t Byte() {
    if (in_.empty()) {
      Fail();
      return 0;
    }
    auto v = static_cast<uint8_t>(in_.front());
    in_.remove_prefix(1);
    return v;
  }
  uint64_t Varint() {
    uint64_t v = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      uint8_t b = Byte();
      if (shift == 63 && b > 1) break;
      v |= static_cast<uint64_t>(b & 0x7f) << shift;
      if (b < 0x80) return ok_ ? v : 0;
    }
    Fail();
    return 0;
  }
  int64_t Zigzag() {
    uint64_t v = Varint();
    return static_cast<int64_t>(v >> 1) ^ -static_cast<int64_t>(v & 1);
  }
  uint64_t Fixed64() {
    uint64_t v = 0;
    for (int i = 0; i < 8; ++i) v |= static_cast<uint64_t>(Byte()) << (8 * i);
    return ok_ ? v : 0;
  }
  std::string_view Text() {
    uint64_t size = Varint();
    if (size > in_.size()) {
      Fail();
      return {};
    }
    std::string_view v = in_.substr(0, size);
    in_.remove_prefix(size);
    return v;
  }

 private:
  std::string_view in_;
  bool ok_ = true;
};

}  // namespace spate::store
