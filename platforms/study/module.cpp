// SPDX-License-Identifier: Apache-2.0
#include "platforms/study/module.h"

#include <dlfcn.h>

#include <filesystem>
#include <stdexcept>
#include <vector>

namespace weft::study {

void* find_in_module(const std::string& module, const char* function) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  for (const fs::path& folder : {program / "study", program / ".." / "lib" / "weft", fs::path(WEFT_MODULE_FOLDER)}) {
    const fs::path file = folder / (module + ".so");
    if (!fs::exists(file, ignored)) continue;
    // What Open MPI loads in its turn looks for names of all.
    void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) throw std::runtime_error("cannot load " + file.string() + ": " + dlerror());
    void* const found = dlsym(library, function);
    if (found == nullptr) throw std::runtime_error(file.string() + ": it is of another version of Weft");
    return found;
  }
  return nullptr;
}

}  // namespace weft::study
