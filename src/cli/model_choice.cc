#include "cli/model_choice.h"

#include <array>
#include <system_error>

namespace coli {
namespace {

// From the folder of the executable: a build below build/<preset>/, then an installation below
// <prefix>/bin/.
constexpr std::array<const char*, 2> kBuiltInPlaces = {"../../models/nano",
                                                       "../share/colibri/models/nano"};

Status CheckModelDirectory(const std::filesystem::path& directory) {
  std::error_code error;
  if (!std::filesystem::exists(directory, error)) {
    return Fail(ErrorCode::kNotFound,
                "{}: no such directory; expected the folder of a model, with its config.json",
                directory.string());
  }
  if (!std::filesystem::is_directory(directory, error)) {
    return Fail(ErrorCode::kNotFound,
                "{}: not a directory; expected the folder of a model, with its config.json",
                directory.string());
  }
  // A link that leads nowhere is there: reading it says why it cannot be.
  const auto config = std::filesystem::symlink_status(directory / "config.json", error);
  if (!std::filesystem::exists(config)) {
    return Fail(ErrorCode::kNotFound,
                "{}: not the folder of a model: there is no config.json in it", directory.string());
  }
  return Ok();
}

}  // namespace

Result<ModelChoice> ChooseModel(const std::optional<std::string>& named,
                                const std::filesystem::path& executable) {
  if (named) {
    COLI_RETURN_IF_ERROR(CheckModelDirectory(*named));
    return ModelChoice{*named, false};
  }
  for (const char* place : kBuiltInPlaces) {
    const std::filesystem::path directory = (executable.parent_path() / place).lexically_normal();
    if (CheckModelDirectory(directory)) {
      return ModelChoice{directory, true};
    }
  }
  return Fail(ErrorCode::kNotFound,
              "the built-in model is not beside this program; name a model with --model DIR");
}

std::filesystem::path ThisExecutable() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error);
}

}  // namespace coli
