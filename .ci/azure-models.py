"""Reads what Microsoft's Python packages for Azure Resource Manager say of its interfaces, as one JSON document.

usage: azure-models.py FOLDER-OF-WHEELS-UNPACKED

The packages are generated from Azure's published specifications. Their sources are read, not run: classes with their fields, what
is required and what only Azure writes, the values of enumerations, and the requests with their paths and versions.
"""

import ast
import json
import pathlib
import re
import sys

VERSION = re.compile(r"\d{4}-\d{2}-\d{2}(-preview)?$")


def literal(node):
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None


def assigned(body):
    """Names that a class or module body gives to literals."""
    pairs = [(t.id, s.value) for s in body if isinstance(s, ast.Assign) for t in s.targets if isinstance(t, ast.Name)]
    return {name: literal(value) for name, value in pairs}


def classes(path):
    return [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.ClassDef)]


def enumerations(folder):
    return {c.name: [v for v in assigned(c.body).values() if isinstance(v, str)] for p in folder.glob("_*enums.py") for c in classes(p)}


def enumeration_of(doc, field, known):
    """`:vartype field: str or ~package.models.Name`, or a list of such."""
    said = re.search(rf":vartype {re.escape(field)}: (?:list\[)?str or\s+~[\w.]*?\.(\w+)\]?\s", doc + "\n")
    return known.get(said.group(1)) if said else None


def fields_of(node, known):
    values = assigned(node.body)
    rules, doc = values.get("_validation") or {}, ast.get_docstring(node, clean=True) or ""
    for field, of in (values.get("_attribute_map") or {}).items():
        rule = rules.get(field, {})
        path = [part.replace("\\.", ".") for part in re.split(r"(?<!\\)\.", of["key"])]
        limits = {k: rule[k] for k in ("min_length", "max_length", "minimum", "maximum", "pattern") if k in rule}
        yield {"path": path, "type": of["type"], "required": rule.get("required", False), "readOnly": rule.get("readonly", False), "values": enumeration_of(doc, field, known), **limits}


def models_in(folder):
    known = enumerations(folder)
    described = {}
    for node in classes(folder / "_models_py3.py"):
        kinds = assigned(node.body).get("_subtype_map")
        described[node.name] = {"fields": list(fields_of(node, known)), "kinds": next(iter(kinds.values())) if kinds else None}
    return described


def texts(node):
    return [n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)]


def requests_in(folder):
    for path in folder.rglob("_*operations.py"):
        if "aio" in path.parts:
            continue
        for node in ast.parse(path.read_text()).body:
            if not (isinstance(node, ast.FunctionDef) and node.name.startswith("build_")):
                continue
            said = texts(node)
            methods = [k.value.value for c in ast.walk(node) if isinstance(c, ast.Call) for k in c.keywords if k.arg == "method"]
            urls = [t for t in said if t.startswith("/")]
            versions = [t for t in said if VERSION.match(t)]
            if methods and urls and versions:
                yield {"method": methods[0], "path": urls[0], "version": versions[-1]}


root = pathlib.Path(sys.argv[1])
folders = sorted(p.parent for p in root.glob("*/azure/mgmt/**/models/_models_py3.py"))
document = {
    "models": {str(f.parent.relative_to(root).as_posix()).split("azure/mgmt/", 1)[1]: models_in(f) for f in folders},
    "requests": [one for f in folders for one in requests_in(f.parent)],
}
json.dump(document, sys.stdout)
