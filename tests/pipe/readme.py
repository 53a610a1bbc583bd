#!/usr/bin/env python3
"""The commands in code blocks of a page, one after the other, as a reader would type them.

    readme.py PAGE SECTION            print those of a section
    readme.py PAGE --check [SECTION]  run the others here: each ends with 0, or with what STATUS has, and what the page shows below one
                                      is all that it prints, or its first lines before "..."; what the page shows nothing of
                                      leaves something behind all the same
    readme.py PAGE --update [SECTION] the same, and write what they print into the page
"""

import re
import subprocess
import sys

STATUS = {"trace-diff --gate ": 1}  # a command that begins so stops the build


def commands(lines):
    """(section, command, lines of its output) of each, and the line that it stands in."""
    found, section, block = [], "", False
    for number, line in enumerate(lines):
        if line.startswith("```"):
            block = not block
        elif line.startswith("#") and not block:
            section = line.lstrip("# ")
        elif block and line.startswith("$ "):
            found.append((section, re.sub(r"\s+# .*", "", line[2:]), [], number))
        elif block and found:
            found[-1][2].append(line)
    return found


def check(command, shown):
    """What is wrong with a command, or None; and what it printed."""
    wanted = next((code for begin, code in STATUS.items() if command.startswith(begin)), 0)
    done = subprocess.run(["sh", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    printed = done.stdout.decode().splitlines()
    if done.returncode != wanted:
        return f"exit status {done.returncode}, not {wanted}: " + " / ".join(printed[-3:]), printed
    if shown and shown[-1] == "...":
        printed[len(shown) - 1:] = ["..."]
    if shown and shown != printed:
        return "prints something else:\n" + "\n".join(printed), printed
    for path in re.findall(r"(?:> |-o |--roofline )(\S+)", command):
        with open(path, "rb") as f:
            if not f.read(1):
                return f"leaves {path} empty", printed
    if not printed and not re.search(r"> |-o |--save|--against", command):
        return "prints nothing", printed
    return None, printed


def main():
    page, words = sys.argv[1], sys.argv[2:]
    with open(page, encoding="utf-8") as f:
        lines = f.read().splitlines()
    found = commands(lines)
    if words[0] not in ("--check", "--update"):
        print("\n".join(c for section, c, _, _ in found if section == words[0]))
        return 0
    bad, changed = 0, []
    for section, command, shown, number in found:
        if section in words[1:] and not command.startswith("trace"):
            print(f"elsewhere: {command}")
            continue
        wrong, printed = check(command, shown)
        if shown and printed != shown:
            changed.append((number + 1, len(shown), printed))
        bad += wrong is not None
        print(f"{page}:{number + 1}: {command}: {wrong or 'as shown'}")
    if words[0] == "--update":
        for at, count, printed in reversed(changed):
            lines[at:at + count] = printed
        with open(page, "w", encoding="utf-8") as f:
            f.write("\n".join(lines) + "\n")
    return 1 if bad or not found else 0


if __name__ == "__main__":
    sys.exit(main())
