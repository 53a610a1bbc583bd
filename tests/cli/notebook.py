#!/usr/bin/env python3
"""notebook.py NOTEBOOK [--update]: run its cells in order, and compare what each shows with the output that is stored, or store it."""
import ast
import json
import os
import sys


def show(source, names):
    """What the last expression of SOURCE shows, as text; None if there is none."""
    tree = ast.parse(source)
    last = ast.Expression(tree.body.pop().value) if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    value = eval(compile(last, "cell", "eval"), names) if last else None
    return None if value is None else repr(value)


def main(path, update=None):
    with open(path) as f:
        notebook = json.load(f)
    os.chdir(os.path.dirname(path) or ".")
    names, wrong, shown = {"__name__": "__main__"}, 0, 0
    for number, cell in enumerate((c for c in notebook["cells"] if c["cell_type"] == "code"), 1):
        text = show("".join(cell["source"]), names)
        stored = ["".join(o["data"]["text/plain"]) for o in cell["outputs"]]
        shown += text is not None
        if update:
            cell["execution_count"] = number
            cell["outputs"] = [{"output_type": "execute_result", "execution_count": number, "metadata": {},
                                "data": {"text/plain": text.splitlines(True)}}] if text is not None else []
        elif [s.split() for s in stored] != ([text.split()] if text is not None else []):  # versions of pandas align as they like
            wrong += 1
            print(f"cell {number}:\n{text}\nis not what is stored:\n{''.join(stored)}", file=sys.stderr)
    if update:
        with open(os.path.basename(path), "w") as f:
            json.dump(notebook, f, indent=1, ensure_ascii=False)
            f.write("\n")
    print(f"{shown} answers")
    sys.exit(wrong > 0)


main(*sys.argv[1:])
