"""The GPU code of a build, as cuobjdump and readelf list it, against what it was asked for."""

import collections
import pathlib
import re
import subprocess
import sys
import sysconfig

LIBRARY = "kernels/libwarpfold_kernels_cuda.so"
# Bytes of kernels in the file, SASS and PTX: of one architecture, of all that are distributed.
BUDGET_BYTES = {1: 20_000_000, 5: 90_000_000}
# What a kernel may declare without asking for more at its launch.
SHARED_BYTES_MAX = 48 << 10
RESERVED_BYTES = 1 << 10
RUNTIME = re.compile(r"libcudart\.so")
DRIVER = re.compile(r"libcuda\.so|libnvidia-ml\.so")


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def asked_for(build):
    """The compute capabilities of its machine code and of its PTX, two lists of ints, and how many
    modules it has of each: one of each source."""
    cache = (build / "CMakeCache.txt").read_text()

    def of(name):
        found = re.search(rf"^{name}:INTERNAL=(.*)$", cache, re.MULTILINE)
        if found is None:
            sys.exit(f"code: {build} is no build with CUDA: its cache has no {name}")
        return [int(number) for number in found[1].split(";") if number]

    (modules,) = of("WARPFOLD_CUDA_SOURCES")
    return of("WARPFOLD_CUDA_CODE"), of("WARPFOLD_CUDA_PTX"), modules


def listed(cuobjdump, library, option):
    """How many modules `library` has of each compute capability."""
    names = re.findall(
        r"\.sm_(\d+)\.(?:cubin|ptx)$", output_of(cuobjdump, option, library), re.MULTILINE
    )
    return dict(sorted(collections.Counter(map(int, names)).items()))


def declared_shared_bytes(cuobjdump, library):
    """Of each kernel, by its mangled name, the most that it declares for any GPU."""
    declared = {}
    architecture = name = None
    for line in output_of(cuobjdump, "-res-usage", library).splitlines():
        if found := re.match(r"arch = sm_(\d+)", line):
            architecture = int(found[1])
        elif found := re.match(r" Function (\w+):", line):
            name = found[1]
        elif found := re.search(r"SHARED:(\d+)", line):
            shared = int(found[1])
            # From 8.0 on CUDA takes 1 KiB of a block's for itself, which the limits leave out.
            if architecture >= 80 and shared >= RESERVED_BYTES:
                shared -= RESERVED_BYTES
            declared[name] = max(declared.get(name, 0), shared)
    return declared


def launch_plan_constant(name):
    header = pathlib.Path(__file__).parents[3] / "kernels/cuda/launch_plan.h"
    return eval(re.search(rf"constexpr int {name} = ([0-9 <]+);", header.read_text())[1])


def section_bytes(library, name):
    for line in output_of("readelf", "--sections", "--wide", library).splitlines():
        fields = line.replace("[ ", "[").split()
        if len(fields) > 5 and fields[1] == name:
            return int(fields[5], 16)
    return 0


def needed(path):
    return re.findall(r"\(NEEDED\).*\[(.*)\]", output_of("readelf", "--dynamic", "--wide", path))


def programs(build):
    """Every program and shared library that the build has made."""
    for path in sorted(build.rglob("*")):
        if (
            path.is_symlink()
            or not path.is_file()
            or "CMakeFiles" in path.parts
            or "tests-venv" in path.parts
        ):
            continue
        with path.open("rb") as file:
            head = file.read(18)
        if head[:4] == b"\x7fELF" and head[16] in (2, 3):  # ET_EXEC, ET_DYN
            yield path


def defines(path, symbol):
    """Whether `path` has a definition of its own of `symbol`, whatever its version."""
    for line in output_of("readelf", "--symbols", "--wide", path).splitlines():
        fields = line.split()  # number: value size type binding visibility section name
        if len(fields) >= 8 and fields[6] != "UND" and fields[7].split("@")[0] == symbol:
            return True
    return False


def runtime_faults(build):
    """Programs with a CUDA runtime of their own, and those that need a driver to start."""
    for path in programs(build):
        libraries = needed(path)
        if any(DRIVER.match(library) for library in libraries):
            yield f"{path} is linked against the driver: it does not start where there is none"
        if defines(path, "cudaLaunchKernelExC"):
            yield f"{path} holds a CUDA runtime of its own"
        if len([library for library in libraries if RUNTIME.match(library)]) > 1:
            yield f"{path} needs two CUDA runtimes"


def code_faults(asked, modules, found, kind):
    wanted = dict.fromkeys(asked, modules)
    if found != wanted:
        yield f"{kind}: asked for {wanted} (compute capability: modules), found {found}"


def main():
    build = pathlib.Path(sys.argv[1])
    library = build / LIBRARY
    cuobjdump = pathlib.Path(sysconfig.get_paths()["purelib"], "nvidia/cu13/bin/cuobjdump")
    cuobjdump.chmod(0o755)
    code, ptx, modules = asked_for(build)
    machine_code = listed(cuobjdump, "--list-elf", library)
    intermediate = listed(cuobjdump, "--list-ptx", library)
    faults = [
        *code_faults(code, modules, machine_code, "machine code"),
        *code_faults(ptx, modules, intermediate, "PTX"),
    ]

    size = section_bytes(library, ".nv_fatbin")
    architectures = max(len(code), 1)
    print(f"code: machine code {machine_code}, PTX {intermediate} (compute capability: modules)")
    budget = BUDGET_BYTES.get(architectures)
    print(f"code: {size:,} bytes of kernels in {library.name}, budget {budget or 'none'}")
    if budget is not None and size > budget:
        faults.append(f"{size} bytes of kernels, more than {budget}")

    declared = declared_shared_bytes(cuobjdump, library)
    tree_max = launch_plan_constant("kTreeDeclaredSharedBytesMax")
    pipelined = {name: size for name, size in declared.items() if "PipelinedColumnLeaves" in name}
    if code:
        print(
            f"code: {len(declared)} kernels declare at most {max(declared.values(), default=0)} "
            "bytes of shared memory, those of pipelined columns "
            f"{max(pipelined.values(), default=0)}; "
            f"the launch plan counts on {tree_max}"
        )
        if not pipelined:
            faults.append("no kernel of pipelined columns found: has it another name?")
    faults += [
        f"{name} declares {size} bytes of shared memory, more than {limit}"
        for names, limit in ((declared, SHARED_BYTES_MAX), (pipelined, tree_max))
        for name, size in names.items()
        if size > limit
    ]
    faults += runtime_faults(build)
    for fault in faults:
        print(f"code: {fault}", file=sys.stderr)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
