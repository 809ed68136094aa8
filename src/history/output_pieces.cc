#include "history/output_pieces.h"

#include <algorithm>

namespace spate::history {

using store::Stream;
using wire::Streams;

bool Wants(Streams streams, Stream stream) {
  switch (stream) {
    case Stream::kStdout:
      return streams == Streams::kBoth || streams == Streams::kStdout;
    case Stream::kStderr:
      return streams == Streams::kBoth || streams == Streams::kStderr;
    case Stream::kFiles:
      break;
  }
  return streams == Streams::kFiles;
}

OutputFacts PieceOf(const AttemptEnd& end, Stream stream, OutputFacts::What what) {
  OutputFacts piece;
  piece.what = what;
  piece.job = end.ref.job;
  piece.index = end.ref.index;
  piece.why = end.not_kept;
  piece.stream = static_cast<uint32_t>(stream);
  return piece;
}

Status PutBytes(const Asking& call, const AttemptEnd& end, Stream stream, std::string_view bytes,
                uint64_t skipped) {
  constexpr size_t kBlock = 256 << 10;
  do {
    OutputFacts piece = PieceOf(end, stream);
    piece.text = bytes.substr(0, kBlock);
    piece.count = skipped;
    TRY(call.SendAnswer(piece));
    bytes.remove_prefix(std::min(bytes.size(), kBlock));
    skipped = 0;
  } while (!bytes.empty());
  return {};
}

}  // namespace spate::history
