#!/usr/bin/env python3
"""Runs `dynrun op` beside the newest peers that PyPI has, and those that Debian has.

    python3 tests/bench/peers.py --dynrun build/release/bin/dynrun --venv ~/peers -- matmul --suite tests/bench/suites/gemm-cnn.txt --threads 1,2

What follows `--` is given to `dynrun op`; --peers is added. From the virtual environment --venv, which --install makes and fills:

  onednn        PyPI's onednn: the newest, on the SYCL runtime (with the OpenCL CPU device that it depends on)
  onednn_gomp   PyPI's onednn-cpu-gomp: older, on GNU OpenMP, in an environment of its own below VENV/gomp
  mkl           PyPI's mkl
  pytorch, torch_onednn, onnxruntime   through tests/bench/peer_worker.py, from --python (default: VENV's own)

and from the system's loader: onednn_debian, openblas, blis. --list prints what was found and stops; --only takes a part of it.
"""

import argparse
import os
import pathlib
import subprocess
import sys

WORKER = pathlib.Path(__file__).resolve().parent / "peer_worker.py"
MODULES = {"pytorch": ["torch"], "torch_onednn": ["torch"], "onnxruntime": ["onnxruntime", "onnx"]}


def install(venv):
    for folder, packages in ((venv, ["onednn", "mkl"]), (venv / "gomp", ["--no-deps", "onednn-cpu-gomp"])):
        if not (folder / "bin" / "pip").exists():
            subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(folder / "bin" / "pip"), "install", "--quiet", "--upgrade", *packages], check=True)


def newest(folder, pattern):
    files = sorted(folder.glob(pattern), key=lambda path: [int(part) for part in path.name.split(".") if part.isdigit()])
    return files[-1] if files else None


def can_import(python, modules):
    code = "; ".join(f"import importlib.util as u; assert u.find_spec('{module}')" for module in modules)
    return subprocess.run([python, "-c", code], capture_output=True).returncode == 0


def find_peers(venv, python):
    """NAME -> what --peers takes."""
    peers = {}
    for name, path in (("onednn", newest(venv / "lib", "libdnnl.so.?")), ("onednn_gomp", newest(venv / "gomp" / "lib", "libdnnl.so.?")),
                       ("mkl", newest(venv / "lib", "libmkl_rt.so.?"))):
        if path:
            peers[name] = f"{name}={path}"
    for name, modules in MODULES.items():
        if python and can_import(python, modules):
            peers[name] = f"{name}=exec:{python} {WORKER} {name}"
    peers["onednn_debian"] = "onednn_debian=libdnnl.so.2"
    peers["openblas"] = "openblas"
    peers["blis"] = "blis"
    return peers


def environment_for(venv):
    """The loader's path for the libraries of the environment, and the OpenCL CPU device for oneDNN's SYCL runtime."""
    environment = dict(os.environ)
    folders = [str(venv / "lib")] + ([environment["LD_LIBRARY_PATH"]] if environment.get("LD_LIBRARY_PATH") else [])
    environment["LD_LIBRARY_PATH"] = os.pathsep.join(folders)
    device = venv / "lib" / "libintelocl.so"
    if device.exists():
        environment.setdefault("OCL_ICD_FILENAMES", str(device))
    return environment


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dynrun", default="dynrun", help="the program (default: from PATH)")
    parser.add_argument("--venv", type=pathlib.Path, required=True, help="virtual environment with onednn and mkl")
    parser.add_argument("--python", help="the Python with torch and onnxruntime (default: VENV/bin/python)")
    parser.add_argument("--install", action="store_true", help="make the environment, or bring it up to date (2.6 GB)")
    parser.add_argument("--only", help="some of the peers, separated by commas")
    parser.add_argument("--list", action="store_true", help="print what was found, and stop")
    parser.add_argument("arguments", nargs="*", help="of dynrun op")
    options = parser.parse_args()
    venv = options.venv.expanduser().resolve()
    if options.install:
        install(venv)
    peers = find_peers(venv, options.python or (str(venv / "bin" / "python") if (venv / "bin" / "python").exists() else None))
    if options.only:
        unknown = set(options.only.split(",")) - set(peers)
        if unknown:
            raise SystemExit(f"not found: {', '.join(sorted(unknown))}; there are {', '.join(peers)}")
        peers = {name: peers[name] for name in options.only.split(",")}
    if options.list:
        print("\n".join(peers.values()))
        return 0
    command = [options.dynrun, "op", *options.arguments, "--peers", ",".join(peers.values())]
    return subprocess.run(command, env=environment_for(venv)).returncode


if __name__ == "__main__":
    sys.exit(main())
