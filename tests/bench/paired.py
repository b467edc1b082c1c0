#!/usr/bin/env python3
"""Wall time, processor time and peak memory of btfloom and pahole on one vmlinux, in turns.

    ./dev bench [--runs N] [VMLINUX]

Whole processes, ours and the peer's one after the other, N times; medians and the ratio peer / ours, as a Markdown table
(docs/performance.md keeps the last one). Machines are noisy: only ratios of one call can be compared. Never fails on time.
"""
import argparse
import glob
import os
import platform
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.path.join(ROOT, "build", "release", "bin")


def measure(command):
    """(wall seconds, processor seconds, peak MiB) of one run."""
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"failed: {' '.join(command)}")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def find_vmlinux(folder):
    packed = [f for f in glob.glob(os.path.join(ROOT, "../shared/corpus/vmlinux-*.zst")) if not f.endswith(".btf.zst")]
    if not packed:
        sys.exit("no vmlinux: give the path of one")
    target = os.path.join(folder, "vmlinux")
    subprocess.run(["zstd", "-dqf", packed[0], "-o", target], check=True)
    return target


def floor(vmlinux, threads):
    text = subprocess.run([os.path.join(BIN, "decode_floor"), vmlinux, str(threads)], check=True,
                          capture_output=True, text=True).stdout
    wall, processor = re.search(r"([\d.]+) s wall ([\d.]+) s", text).groups()
    return float(wall), float(processor)


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        model = re.search(r"model name\s*: (.*)", info.read())
    version = subprocess.run(["pahole", "--version"], capture_output=True, text=True, check=True)
    return (f"{os.cpu_count()} processors ({model.group(1) if model else platform.machine()}), "
            f"Linux {platform.release()}, pahole {version.stdout.strip()}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("vmlinux", nargs="?")
    arguments = parser.parse_args()
    print(machine(), "\n")
    print("| | pahole | btfloom | pahole / btfloom |\n| --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        vmlinux = arguments.vmlinux or find_vmlinux(folder)
        output = os.path.join(folder, "out.btf")
        for jobs in (1, 2):
            ours = [os.path.join(BIN, "btfloom-pahole"), f"-j{jobs}", "--btf_features=default",
                    "--lang_exclude=rust", f"--btf_encode_detached={output}", vmlinux]
            peer = ["pahole", "-J", f"-j{jobs}", "--btf_gen_floats", "--lang_exclude=rust",
                    f"--btf_encode_detached={output}", vmlinux]
            measure(ours)  # both files' pages are in memory from here on
            runs = [(measure(peer), measure(ours)) for _ in range(arguments.runs)]
            for k, (name, unit) in enumerate((("wall", "s"), ("processor", "s"), ("peak memory", "MiB"))):
                theirs = statistics.median(run[0][k] for run in runs)
                own = statistics.median(run[1][k] for run in runs)
                ratio = statistics.median(run[0][k] / run[1][k] for run in runs)
                print(f"| {name}, -j{jobs} | {theirs:.2f} {unit} | {own:.2f} {unit} | {ratio:.1f} |")
        for threads in (1, 2):
            walls, processors = zip(*(floor(vmlinux, threads) for _ in range(arguments.runs)))
            print(f"| floor: our cursor alone, {threads} thread(s) | | {statistics.median(walls):.2f} s wall, "
                  f"{statistics.median(processors):.2f} s processor | |")


if __name__ == "__main__":
    main()
