// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <optional>

/// Files that this process has opened to read (InputFile), so that nothing that it writes takes the place of one.
namespace weft::traces {

void note_read(dev_t device, ino_t inode, const std::filesystem::path& file);
/// From now on the file is as if it had not been read: who reads it may replace it.
void forget_read(const std::filesystem::path& file);
/// By which name the file was opened, if it was, whatever it is called here.
[[nodiscard]] std::optional<std::filesystem::path> read_as(const std::filesystem::path& file);

}  // namespace weft::traces
