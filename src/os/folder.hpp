// Folders: what is in them, whether they are ours, and their removal. Any thread; nothing is kept.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "os/unique_fd.hpp"
#include "trireme/detail/os/function_ref.hpp"

namespace tri::os {

/// The names in a folder, in no order, without "." and ".."; none when it cannot be read.
std::vector<std::string> names_in(const std::string& folder);

/// Opens a folder of this user, for its lock and its times. A link to one is none, for another user may have put it
/// there, nor is a folder of another user: then the result is empty.
unique_fd open_own_folder(const std::string& path);

/// Makes a folder for files of ours, or removes those of an earlier run from it: those for which `is_old` is true.
/// Throws what refuse_planted() (output_file.hpp) throws, and std::filesystem::filesystem_error.
void clear_folder(const std::string& folder, function_ref<bool(const std::filesystem::path&)> is_old);

/// Removes a file, or a folder with all that is in it. Of a link only the link goes; what cannot be removed stays.
void remove_tree(const std::string& path);

}  // namespace tri::os
