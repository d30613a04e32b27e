// SPDX-License-Identifier: Apache-2.0
// weft new: a platform to begin with, with comments.
#include <fmt/format.h>

#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>

#include "platforms/cli/output.h"
#include "platforms/cli/result_files.h"
#include "platforms/commands/command.h"
#include "platforms/config/commented.h"
#include "platforms/config/text.h"
#include "platforms/jobs/graph/graph_workload.h"
#include "platforms/jobs/platform_schema.h"
#include "platforms/machine/platform.h"
#include "platforms/results/write_file.h"
#include "traces/files/data_path.h"

namespace weft::platforms {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

struct NewOptions {
  std::string file;
  std::string from;
  bool json = false;
};

/// Where an editor finds the schema: where it is installed or built, else beside the platform, for whoever writes it
/// there.
std::string schema_place() {
  constexpr const char* kSchema = "platform.schema.json";
  try {
    std::string place = "file://";
    for (const char c : fs::absolute(traces::find_data(kSchema)).lexically_normal().string()) {
      const bool is_plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || std::strchr("/-_.~", c) != nullptr;
      place += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
    return place;
  } catch (const std::runtime_error&) {
    return kSchema;
  }
}

/// Names of files beside the catalogue's platform, such as those of its traces, as whole paths.
void keep_files(ordered_json& value, const fs::path& folder) {
  if (value.is_structured()) {
    for (ordered_json& each : value) keep_files(each, folder);
  } else if (value.is_string()) {
    const fs::path beside = folder / value.get<std::string>();
    if (!value.get_ref<const std::string&>().empty() && !files_of_trace(beside).empty()) {
      value = fs::absolute(beside).lexically_normal().string();
    }
  }
}

/// Its members in their order.
ordered_json read_platform(const fs::path& file) {
  static_cast<void>(load_own_object(file.string(), "a platform"));  // says what is wrong with it
  ordered_json platform = ordered_json::parse(load_document(file.string(), "a platform in JSON"), nullptr,
                                              /*allow_exceptions=*/true, /*ignore_comments=*/true);
  platform.erase("$schema");
  keep_files(platform, file.parent_path());
  return platform;
}

std::string text_of(const NewOptions& options, ordered_json platform) {
  if (options.file != "-") platform["name"] = fs::path(options.file).stem().string();
  ordered_json whole = {{"$schema", schema_place()}};
  whole.update(platform);
  return fmt::format(
             "// {} of Weft's catalogue, to be changed. weft describe has every field, weft parts every part.\n",
             options.from) +
         commented(whole, platform_schema()) + "\n";
}

int write(const NewOptions& options) {
  const fs::path from = find_listed_platform("--from", options.from);
  const std::string text = text_of(options, read_platform(from));
  if (options.file == "-") {
    print(text);
    return kDone;
  }
  if (const int error = write_new_file(options.file, text); error != 0) {
    const std::system_error failure(error, std::generic_category(), "cannot write " + options.file);
    if (is_full(failure)) throw failure;
    throw UsageError(options.file + ": expected the name of a new file, got " +
                     (error == EEXIST   ? "one that is there, which is left as it is"
                      : error == ENOENT ? "one in a folder that is not there"
                                        : std::strerror(error)));
  }
  if (options.json) {
    print_json({{"file", options.file}, {"from", options.from}});
  } else {
    print("wrote " + options.file + "\n");
  }
  return kDone;
}

}  // namespace

Command new_command(const Arguments& parent) {
  auto options = std::make_shared<NewOptions>();
  const Arguments app = parent.add_subcommand("new", "Writes a platform with comments, to start from");
  app.add_option("FILE", options->file, "A new file; - is standard output").required().type_name("FILE");
  app.add_option("--from", options->from, "The platform of the catalogue to copy (weft platforms)")
      .required()
      .type_name("PLATFORM");
  app.add_flag("--json", options->json, "Print JSON");
  return {app, [options] { return write(*options); }};
}

}  // namespace weft::platforms
