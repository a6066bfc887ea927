// Models that can be downloaded, as far as planning them needs: sizes, from their shapes. Pure.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/model_facts.h"

namespace coli {

// One form that a published model comes in.
struct PublishedContainer {
  std::string_view name;           // for people
  std::string_view expert_format;  // as they are held in memory
  // Bytes of experts on the drive for each one in memory: less than 1 where they are stored in a
  // shorter code that loses nothing.
  double stored_share = 1;
  bool readable = true;  // by this program
};
std::vector<PublishedContainer> PublishedContainers();

struct PublishedModel {
  ModelFacts facts;  // as InspectModel would tell, but for the plan and the machine
  uint64_t download_bytes = 0;
};

// `name`: a shape with a published vocabulary. Errors: kInvalidArgument for other names.
Result<PublishedModel> DescribePublished(std::string_view name,
                                         const PublishedContainer& container);

}  // namespace coli
