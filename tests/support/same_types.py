#!/usr/bin/env python3
"""Compares split BTFs as sets of types, whatever their numbers: same_types.py BASE.txt OURS.txt REFERENCE.txt [OURS REFERENCE ...]

Each file is what `bpftool btf dump file` prints (of a split BTF: its own types). A type is its record with every
number replaced by the type that it stands for; types that are equal in that sense get one number, by partition
refinement from their names on, until nothing changes. Our answer must hold nothing that the base has, nothing twice, and the
same set as the reference; what the reference repeats of the base or of itself is counted once. Exit code 1 if not.
"""
import re
import sys

NUMBER = re.compile(r"\b(?:type_id|index_type_id|ret_type_id)=(\d+)")


def read(path):
    """id -> (text without numbers, referenced ids)"""
    records = {}
    number = 0
    with open(path, encoding="utf-8") as lines:
        text = []
        for line in lines:
            if line.startswith("["):
                if text:
                    records[number] = "\n".join(text)
                number = int(line[1:line.index("]")])
                text = [line[line.index("]") + 1:].strip()]
            else:
                text.append(line.strip())
        if text:
            records[number] = "\n".join(text)
    return {i: (NUMBER.sub("#", t), tuple(int(n) for n in NUMBER.findall(t))) for i, t in records.items()}


def refine(records):
    """id -> class, so that two ids have one class if and only if the types are equal."""
    start = {}
    classes = {i: start.setdefault(("text", t), len(start)) for i, (t, _) in records.items()}
    count = len(set(classes.values()))
    while True:
        seen = {}
        following = {}
        for i, (_, targets) in records.items():
            key = (classes[i], tuple(classes.get(x, -1) for x in targets))
            following[i] = seen.setdefault(key, len(seen))
        classes = following
        if len(seen) == count:
            return classes
        count = len(seen)


def main():
    base = read(sys.argv[1])
    failed = False
    for ours_path, reference_path in zip(sys.argv[2::2], sys.argv[3::2]):
        # One universe, so that equal types of the base, of ours and of the reference meet in one class.
        universe = {("base", i): (t, tuple(("base", x) for x in r if x)) for i, (t, r) in base.items()}
        for side, path in (("ours", ours_path), ("reference", reference_path)):
            for i, (t, r) in read(path).items():
                universe[side, i] = (t, tuple(("base" if x in base else side, x) for x in r if x))
        classes = refine(universe)
        of = lambda side: [c for (s, _), c in classes.items() if s == side]
        of_base, ours, reference = set(of("base")), of("ours"), of("reference")
        is_shared = lambda key: not universe[key][0].startswith(("VAR", "DATASEC"))
        repeated = [k for k, c in classes.items() if k[0] == "ours" and is_shared(k) and (c in of_base or ours.count(c) > 1)]
        missing = [k for k, c in classes.items() if k[0] == "reference" and c not in of_base and c not in set(ours)]
        extra = [k for k, c in classes.items() if k[0] == "ours" and c not in set(reference)]
        twice = len(reference) - len(set(reference) - of_base)
        print(f"{ours_path}: {len(ours)} types, reference {len(reference)} of which {twice} repeated")
        for title, keys in (("repeated", repeated), ("missing", missing), ("not in the reference", extra)):
            for key in keys[:20]:
                print(f"  {title}: [{key[1]}] {universe[key][0].splitlines()[0]}")
            failed = failed or bool(keys)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
