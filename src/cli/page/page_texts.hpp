#pragma once
// The files of this folder that a page is made of, compiled in.

namespace dyn::cli {

extern const char* const page_skeleton;
extern const char* const page_style;
extern const char* const page_scripts;  ///< one file after the other

}  // namespace dyn::cli
