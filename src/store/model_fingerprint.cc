#include <xxhash.h>

#include <memory>

#include "base/check.h"
#include "store/usage.h"

namespace coli {
namespace {

// Every piece is preceded by its length, so that no two lists of pieces run together to the same.
class Hash {
 public:
  Hash() { XXH3_64bits_reset(state_.get()); }

  void Number(uint64_t number) { XXH3_64bits_update(state_.get(), &number, sizeof number); }
  void Text(std::string_view text) {
    Number(text.size());
    XXH3_64bits_update(state_.get(), text.data(), text.size());
  }
  int64_t value() const { return static_cast<int64_t>(XXH3_64bits_digest(state_.get())); }

 private:
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> state_{XXH3_createState()};
};

}  // namespace

int64_t ModelFingerprint(const Container& container) {
  Hash hash;
  for (const auto& file : container.files()) {  // in the order of names
    hash.Text(std::filesystem::path(file->file().path()).filename().string());
    hash.Number(file->file().size());
    hash.Number(file->header().entries().size());
    for (const auto& entry : file->header().entries()) {  // in the order of bytes
      hash.Text(entry.name);
      hash.Text(Name(entry.dtype));
      hash.Number(entry.shape.size());
      for (const uint64_t dimension : entry.shape) {
        hash.Number(dimension);
      }
      hash.Number(entry.begin);
    }
  }
  return hash.value();
}

}  // namespace coli
