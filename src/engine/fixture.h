// A reference fixture: token sequences and the logits that a reference implementation computed for
// them (docs/validate.md).
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "store/safetensors.h"

namespace coli {

// One f32 matrix of reference.safetensors.
struct ReferenceMatrix {
  uint32_t rows = 0;
  uint32_t cols = 0;
  std::vector<float> values;
  const float* row(size_t r) const { return values.data() + r * cols; }
};

struct FixtureCase {
  std::string name;
  std::vector<TokenId> ids;     // prompt and continuation
  uint32_t prompt_length = 0;   // at least 1
  bool greedy = false;          // ids after the prompt are the reference's greedy continuation
  uint32_t first_position = 0;  // rope position of the first token
  std::string logits;           // tensor names
  std::optional<std::string> mtp_logits;
  std::optional<uint32_t> first_inconclusive;  // this row and later ones are not judged

  // Rows that are judged, of `rows` rows.
  uint32_t judged(uint32_t rows) const {
    return first_inconclusive ? std::min(*first_inconclusive, rows) : rows;
  }
};

// What reference.json says.
struct Reference {
  std::vector<FixtureCase> cases;  // at least one
  double tolerance = 0;            // of an error over the range of the logits
  std::optional<float> latent_norm_eps;
};
// Errors name `source`, field and value. Ids are not compared with a vocabulary here, nor tensors
// with their cases.
Result<Reference> ParseReference(std::string_view text, std::string_view source);

class Fixture {
 public:
  // Reads DIR/reference.json and the header of DIR/reference.safetensors. Errors as ParseReference.
  static Result<Fixture> Open(const std::filesystem::path& directory);

  const std::vector<FixtureCase>& cases() const { return reference_.cases; }
  std::string path() const { return (directory_ / "reference.json").string(); }
  double tolerance() const { return reference_.tolerance; }
  std::optional<float> latent_norm_eps() const { return reference_.latent_norm_eps; }

  bool Has(const std::string& tensor) const { return tensors_.contains(tensor); }
  // The f32 tensor `name` of shape [rows, cols], finite.
  Result<ReferenceMatrix> Read(const std::string& name, uint32_t rows, uint32_t cols) const;

 private:
  std::filesystem::path directory_;
  Reference reference_;
  std::unique_ptr<SafetensorsFile> file_;
  std::map<std::string, StoredTensor> tensors_;
};

}  // namespace coli
