"""Conan recipe of libdyn: conan create packaging/conan. docs/packages.md says how far it was tried."""

import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load
from conan.tools.system.package_manager import Apt


class Dyn(ConanFile):
    name = "dyn"
    license = "Apache-2.0"
    description = "Runtime for neural networks whose shapes are known only at run time"
    topics = ("neural-networks", "onnx", "llvm", "inference")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False]}
    default_options = {"shared": True}

    @property
    def _root(self):
        return os.path.join(self.recipe_folder, "..", "..")

    def set_version(self):
        text = load(self, os.path.join(self._root, "CMakeLists.txt"))
        self.version = re.search(r"project\(dyn VERSION ([0-9.]+)", text)[1]

    def export_sources(self):
        for folder in ("cmake", "graph", "include", "packaging", "scripts", "src", "targets"):
            copy(self, f"{folder}/*", src=self._root, dst=self.export_sources_folder)
        for file in ("CMakeLists.txt", "LICENSE", "README.md"):
            copy(self, file, src=self._root, dst=self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def validate(self):
        if self.settings.os != "Linux" or self.settings.arch != "x86_64":
            raise ConanInvalidConfiguration("dyn runs on Linux on x86-64")
        check_min_cppstd(self, 20)

    def system_requirements(self):
        # LLVM 19, oneTBB and the others come from the system: a package of LLVM for Conan has no version 19.
        Apt(self).install([
            "llvm-19-dev", "libzstd-dev", "zlib1g-dev", "libxml2-dev", "libtbb-dev", "libfmt-dev",
            "nlohmann-json3-dev", "libprotozero-dev",
        ])

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["BUILD_SHARED_LIBS"] = bool(self.options.shared)
        for what in ("TESTS", "TOOLS", "EXAMPLES"):
            toolchain.cache_variables[f"DYN_{what}"] = False
        toolchain.cache_variables["CMAKE_INSTALL_LIBDIR"] = "lib"
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", src=self.source_folder, dst=os.path.join(self.package_folder, "licenses"))
        CMake(self).install()

    def package_info(self):
        # The package has its own configuration of CMake, which knows what a static library needs.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = ["lib/cmake/dyn"]
        self.cpp_info.set_property("pkg_config_name", "none")
        self.cpp_info.libs = ["dyn"]
        if not self.options.shared:
            self.cpp_info.system_libs = ["fmt", "tbb", "LLVM-19", "pthread"]
