// Text that a user names: a file, or standard input by the name "-".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cli/interrupt.h"
#include "sys/file.h"

namespace coli {

// Bytes in the order of the file, read as they are asked for. One thread at a time.
class TextInput {
 public:
  // Errors: as File for anything that is no regular file; kInvalidArgument for one whose size the
  // system does not tell. Such, and a pipe, are read as standard input.
  static Result<TextInput> Open(const std::string& name);

  // The next `bytes` bytes; fewer only at the end. A signal that `signals` watches ends a wait for
  // standard input: kCancelled. Errors: kIo, naming the input.
  Result<std::string> Read(size_t bytes, SignalWatch* signals = nullptr);

  std::string name() const;                    // for errors
  std::optional<uint64_t> size() const;        // bytes of a file
  uint64_t offset() const { return offset_; }  // bytes read so far

 private:
  explicit TextInput(std::optional<File> file) : file_(std::move(file)) {}

  std::optional<File> file_;  // nothing: standard input
  uint64_t offset_ = 0;
};

// All of it. Errors: as above; kInvalidArgument when it is larger than `max_bytes`.
Result<std::string> ReadWholeInput(const std::string& name, size_t max_bytes);

// A long text in pieces that can be encoded one by one. A piece ends behind a line break before
// something that is no white space: there a pre-tokenizer that takes a run of line breaks as one
// piece, such as GLM's, cuts as well, so that the tokens are those of the whole text. Only where
// `piece_bytes` hold no such place it ends behind any character.
class TextPieces {
 public:
  explicit TextPieces(TextInput input, size_t piece_bytes = size_t{256} << 10)
      : input_(std::move(input)), piece_bytes_(piece_bytes) {}

  // The next piece, valid UTF-8; empty at the end. Errors: as Read; kInvalidArgument for text that
  // is not UTF-8, naming the byte and its offset in the whole.
  Result<std::string> Next(SignalWatch* signals = nullptr);
  const TextInput& input() const { return input_; }

 private:
  TextInput input_;
  size_t piece_bytes_;
  std::string rest_;    // read, and not yet given out
  bool ended_ = false;  // the input has nothing more
};

}  // namespace coli
