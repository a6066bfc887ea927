#include "store/cache_policy.h"

namespace coli {

Result<std::unique_ptr<CachePolicy>> MakeCachePolicy(std::string_view name,
                                                     size_t experts_per_token) {
#define COLI_CACHE_POLICY(its_name, make) \
  if (name == its_name) {                 \
    return make;                          \
  }
#include "store/policies.def"
#undef COLI_CACHE_POLICY
  return Fail(ErrorCode::kInvalidArgument, "cache policy: expected one of {}, found \"{}\"",
              CachePolicyNames(), name);
}

std::string CachePolicyNames() {
  std::string names;
#define COLI_CACHE_POLICY(its_name, make) names += names.empty() ? its_name : ", " its_name;
#include "store/policies.def"
#undef COLI_CACHE_POLICY
  return names;
}

}  // namespace coli
