#include "access/proof.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace spate::access {
namespace {

Bytes32 Filled(uint8_t byte) {
  Bytes32 bytes;
  bytes.fill(byte);
  return bytes;
}

const ProofInput kInput{Filled(1), Filled(2), 0x0102030405060708, Role::kClient};

TEST(Proof, IsTheHmacThatOthersCompute) {
  // python3: hmac.new(bytes([9]*32), b"spate access 1\0" + bytes([1]*32) + bytes([2]*32) +
  //          (0x0102030405060708).to_bytes(8, "little") + bytes([2]), "sha256").hexdigest()
  EXPECT_EQ(ToHex(MakeProof(Filled(9), kInput)),
            "baed6b685d9637ad4a9c21fbf86a4db6765a470167954eacff4b68e48adc1c36");
}

TEST(Proof, HoldsForItsInputAlone) {
  Bytes32 proof = MakeProof(Filled(9), kInput);
  EXPECT_TRUE(ProofHolds(Filled(9), kInput, proof));
  EXPECT_FALSE(ProofHolds(Filled(8), kInput, proof));
  auto holds_for = [&](auto change) {
    ProofInput other = kInput;
    change(other);
    return ProofHolds(Filled(9), other, proof);
  };
  EXPECT_FALSE(holds_for([](ProofInput& i) { i.connection_key[31] ^= 1; }));
  EXPECT_FALSE(holds_for([](ProofInput& i) { i.nonce[0] ^= 1; }));
  EXPECT_FALSE(holds_for([](ProofInput& i) { i.serial += uint64_t{1} << 63; }));
  EXPECT_FALSE(holds_for([](ProofInput& i) { i.role = Role::kAdmin; }));
  EXPECT_TRUE(rc::check([&] {
    Bytes32 wrong = proof;
    wrong[*rc::gen::inRange<size_t>(0, 32)] ^= *rc::gen::inRange<uint8_t>(1, 255);
    RC_ASSERT(!ProofHolds(Filled(9), kInput, wrong));
  }));
}

TEST(Proof, RandomBytesDiffer) { EXPECT_NE(MakeRandom().value(), MakeRandom().value()); }

}  // namespace
}  // namespace spate::access
