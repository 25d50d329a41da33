# A recipe for Spack. In a repository of recipes it is packages/trireme/package.py; docs/user/installing.md says how to use it
# from a checkout.
from spack.package import *


class Trireme(CMakePackage):
    """Parallel runtime in C++20: message-driven objects, parallel loops, and libraries that accelerate existing MPI and
    OpenMP programs inside a host."""

    license("Apache-2.0")
    maintainers()

    # `spack develop trireme@main` or a mirror gives the sources; the project has no public address yet.
    has_code = True
    version("main", branch="main", git="file:///usr/src/trireme")

    variant("tests", default=False, description="Build the tests")
    # Only the headers of each are needed to build, but two MPI libraries cannot stand in one tree of dependencies.
    variant(
        "mpi",
        default="none",
        values=("none", "openmpi", "mpich"),
        multi=False,
        description="MPI whose programs run under `trireme exec`, and which carries messages between hosts",
    )
    variant("pmix", default=True, description="Start by mpirun of Open MPI and by srun")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("gzip", type="build")
    depends_on("pkgconfig", type=("build", "run"))

    # Headers of these are part of our headers, or their libraries of our link line.
    depends_on("hwloc@2:", type=("build", "link", "run"))
    depends_on("fmt@9:", type=("build", "link", "run"))
    depends_on("cli11@2.1:2", type="build")
    depends_on("nlohmann-json@3.10:", type="build")
    # Loaded by name at run time.
    depends_on("ucx@1.11:", type=("build", "link", "run"))
    depends_on("pmix@4:", type=("build", "link", "run"), when="+pmix")
    depends_on("openmpi@4", type=("build", "link", "run"), when="mpi=openmpi")
    depends_on("mpich@4:", type=("build", "link", "run"), when="mpi=mpich")
    depends_on("googletest@1.12: +gmock", type=("build", "test"), when="+tests")

    generator("ninja")

    conflicts("%gcc@:11", msg="Trireme needs a compiler with C++20; GCC 12 is the oldest that is tried")
    conflicts("platform=darwin", msg="Trireme is for Linux: it uses futexes, memfd and /proc")
    conflicts("platform=windows", msg="Trireme is for Linux: it uses futexes, memfd and /proc")

    def cmake_args(self):
        return [
            self.define_from_variant("TRIREME_TESTS", "tests"),
            self.define_from_variant("TRIREME_WITH_PMIX", "pmix"),
            self.define("TRIREME_WITH_OPENMPI", self.spec.satisfies("mpi=openmpi")),
            self.define("TRIREME_WITH_MPICH", self.spec.satisfies("mpi=mpich")),
            self.define("CMAKE_DISABLE_FIND_PACKAGE_TBB", True),
        ]

    def setup_run_environment(self, env):
        # Libraries that are loaded by name: UCX and PMIx.
        for name in ("ucx", "pmix"):
            if name not in self.spec:
                continue
            for folder in self.spec[name].libs.directories:
                env.append_path("LD_LIBRARY_PATH", folder)
