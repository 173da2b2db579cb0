#!/usr/bin/env python3
"""Runs a testbench of this folder on what `warpfile gen` has written.

    warpfile gen register_file_cache -o rfc
    python3 run.py rfc --simulator verilator

Needs cocotb from 1.9 on: 1.9 takes Verilator from 4.106 on, 2 from 5.036 on; both take Icarus.
"""

import argparse
import json
import os
import sys
from pathlib import Path

try:
    from cocotb_tools.runner import get_results, get_runner
except ImportError:  # cocotb 1
    from cocotb.runner import get_results, get_runner

HERE = Path(__file__).resolve().parent


def main():
    parser = argparse.ArgumentParser(description="Runs a cocotb testbench on what `warpfile gen` has written.")
    parser.add_argument("folder", type=Path, help="the folder with manifest.json")
    parser.add_argument("--simulator", default="icarus", choices=["icarus", "verilator"])
    parser.add_argument("--test", default="test_register_file_cache", help="the testbench's module")
    arguments = parser.parse_args()

    folder = arguments.folder.resolve()
    manifest = json.loads((folder / "manifest.json").read_text())
    sys.path.insert(0, str(HERE))
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(HERE), os.environ.get("PYTHONPATH")]))
    runner = get_runner(arguments.simulator)
    build = folder / f"cocotb-{arguments.simulator}"
    runner.build(
        sources=[folder / name for name in manifest["files"]],
        hdl_toplevel=manifest["circuit"],
        build_dir=build,
        timescale=("1ns", "1ps"),
    )
    results = runner.test(
        hdl_toplevel=manifest["circuit"],
        test_module=arguments.test,
        build_dir=build,
        extra_env={"MANIFEST": str(folder / "manifest.json")},
    )
    tests, failed = get_results(results)
    sys.exit(0 if tests > 0 and failed == 0 else 1)


if __name__ == "__main__":
    main()
