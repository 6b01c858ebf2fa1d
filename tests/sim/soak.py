#!/usr/bin/env python3
"""The simulation for hours: seeds from a hash of a counter, so that nobody has tuned to them, in every profile, with and
without the placer, in runs of 60 to 1,000 steps.

    soak.py build/pumice-sim --steps 10000000 --log soak.log

Seeds that break are written to the log, which a later call goes on from; the table at the end says what ran."""
import argparse
import collections
import hashlib
import json
import pathlib
import re
import subprocess
import sys

PROFILES = ["none", "quiet", "mild", "two", "crashes", "late", "timeouts", "outages", "extreme"]
TWO = ["two", "outages", "extreme"]  # controllers at once
LENGTHS = [60, 100, 300, 600, 1000]
CHUNK = 6000  # steps in one call


def chunks(start, salt):
    """(counter, seed, steps, profile), for ever: every third with flows and two controllers; of the others every eighth with the
    placer, as `pumice-sim` itself draws them."""
    counter = start
    while True:
        digest = hashlib.sha256(f"{salt}{counter}".encode()).digest()
        profile = ("placer/" if digest[9] % 8 == 0 else "") + PROFILES[digest[8] % len(PROFILES)]
        if counter % 3 == 0:
            profile = "flows/" + TWO[digest[8] % len(TWO)]
        yield counter, int.from_bytes(digest[:6], "big"), LENGTHS[digest[10] % len(LENGTHS)], profile
        counter += 1


def run(sim, seed, steps, profile):
    """One chunk: (steps that ran, [(seed, what broke)])."""
    end, done, broken = seed + max(1, CHUNK // steps), 0, []
    while seed < end:
        text = subprocess.run([sim, "--seed", str(seed), "--seeds", str(end - seed), "--steps", str(steps), "--profile", profile],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout.decode(errors="replace")
        total = re.search(r"^(\d+) seeds, (\d+) steps", text, re.M)
        bad = re.search(r"^seed (\d+) \(profile [^)]*\): (.*)$", text, re.M)
        done += int(total[2]) if total else 0
        if not bad and total:
            break
        seed = int(bad[1]) + 1 if bad else end
        broken.append((seed - 1, bad[2] if bad else "died: " + text[-2000:]))
    return done, broken


def table(ran):
    rows = collections.Counter()
    for (profile, length), steps in ran.items():
        rows[profile, length] += steps
    print(f"{'profile':18}" + "".join(f"{n:>12}" for n in LENGTHS) + f"{'sum':>12}")
    for profile in sorted({p for p, _ in rows}):
        numbers = [rows[profile, n] for n in LENGTHS]
        print(f"{profile:18}" + "".join(f"{n:>12,}" for n in [*numbers, sum(numbers)]))
    numbers = [sum(v for (_, n), v in rows.items() if n == length) for length in LENGTHS]
    print(f"{'sum':18}" + "".join(f"{n:>12,}" for n in [*numbers, sum(numbers)]))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("sim")
    p.add_argument("--steps", type=int, default=1_000_000, help="how many in all, those in the log included")
    p.add_argument("--log", type=pathlib.Path, default=pathlib.Path("soak.log"))
    p.add_argument("--salt", default="", help="another range of seeds")
    p.add_argument("--table", action="store_true", help="only say what the log says")
    args = p.parse_args()
    ran, counter, n_broken = collections.Counter(), 0, 0
    for line in args.log.read_text().splitlines() if args.log.exists() else []:
        row = json.loads(line)
        ran[row["profile"], row["steps"]] += row["done"]
        n_broken += len(row["broken"])
        counter = row["counter"] + 1
    with args.log.open("a") as log:
        for counter, seed, steps, profile in chunks(counter, args.salt):
            if args.table or sum(ran.values()) >= args.steps:
                break
            done, broken = run(args.sim, seed, steps, profile)
            ran[profile, steps] += done
            n_broken += len(broken)
            print(json.dumps({"counter": counter, "seed": seed, "steps": steps, "profile": profile, "done": done,
                              "broken": broken}), file=log, flush=True)
            for bad, what in broken:
                print(f"--seed {bad} --steps {steps} --profile {profile}: {what}", flush=True)
    table(ran)
    print(f"{n_broken} seeds broke")
    return 1 if n_broken else 0


if __name__ == "__main__":
    sys.exit(main())
