"""Writes python/tenuto/client.py from docs/reference/openapi.json; with --check only says whether it is current."""

from __future__ import annotations

import json
import keyword
import sys
import textwrap
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs/reference/openapi.json"
CLIENT = ROOT / "python/tenuto/client.py"
HEAD = '''"""A client of the controller's interface, typed. Generated from docs/reference/openapi.json by generate_client.py."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Literal, Mapping, Optional, TypedDict, Union

from .connection import Connection, ServiceError, local_arguments, quoted
'''
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}


def type_of(schema: dict[str, Any]) -> str:
    """The Python type of a schema."""
    if "$ref" in schema:
        return schema["$ref"].rsplit("/", 1)[1]
    if "enum" in schema:
        return "Literal[" + ", ".join(json.dumps(value) for value in schema["enum"]) + "]"
    kind = schema.get("type")
    if isinstance(kind, list):
        others = [type_of({**schema, "type": one}) for one in kind if one != "null"]
        inner = others[0] if len(others) == 1 else f"Union[{', '.join(others)}]"
        return f"Optional[{inner}]" if "null" in kind else inner
    for choice in ("oneOf", "anyOf"):
        if choice in schema:
            options = [one for one in schema[choice] if one.get("type") != "null"]
            inner = ", ".join(type_of(one) for one in options)
            inner = inner if len(options) == 1 else f"Union[{inner}]"
            return f"Optional[{inner}]" if len(options) < len(schema[choice]) else inner
    if kind == "array":
        return f"List[{type_of(schema.get('items', {}))}]"
    if kind == "object":
        return "Dict[str, Any]"
    return PLAIN.get(kind, "Any")


def comment(text: str, indent: str) -> list[str]:
    lines = textwrap.wrap(" ".join(text.split()), 110)
    return [f"{indent}#: {line}" for line in lines]


def described(text: str, indent: str) -> list[str]:
    return textwrap.wrap(f'"""{" ".join(text.split())}"""', 110, initial_indent=indent, subsequent_indent=indent)


def typed_dict(name: str, schema: dict[str, Any]) -> list[str]:
    """An object: what may be missing is in a class of its own, as Python 3.9 has it."""
    properties = schema.get("properties", {})
    needed = {key: value for key, value in properties.items() if key in schema.get("required", [])}
    others = {key: value for key, value in properties.items() if key not in needed}
    head = schema.get("description", name)
    lines: list[str] = []
    base = "TypedDict"
    if others:
        base = f"_{name}Needed"
        lines += one_dict(base, "TypedDict", f"What is always there of a {name}.", needed, True) + ["", ""]
        return lines + one_dict(name, base, head, others, False)
    return one_dict(name, base, head, needed, True)


def one_dict(name: str, base: str, head: str, fields: dict[str, Any], is_total: bool) -> list[str]:
    odd = [key for key in fields if keyword.iskeyword(key) or not key.isidentifier()]
    if odd and base == "TypedDict":
        inside = [f"        {json.dumps(key)}: {json.dumps(type_of(value))}," for key, value in fields.items()]
        return [*comment(head, ""), f"{name} = TypedDict(", f'    "{name}",', "    {", *inside, "    },", ")"]
    assert not odd, f"{name}: fields {odd} cannot be left out and be no name of Python"
    total = "" if is_total else ", total=False"
    lines = [f"class {name}({base}{total}):", *described(head, "    "), ""]
    for key, value in fields.items():
        lines += [*comment(value.get("description", ""), "    "), f"    {key}: {type_of(value)}"]
    return lines


def schema_lines(name: str, schema: dict[str, Any]) -> list[str]:
    if "oneOf" not in schema:
        return typed_dict(name, schema)
    lines, names = [], []
    for one in schema["oneOf"]:
        tag = one["properties"]["action"]["enum"][0]
        names.append(tag.capitalize() + name)
        lines += typed_dict(names[-1], one) + ["", ""]
    return [*lines, *comment(schema.get("description", name), ""), f"{name} = Union[{', '.join(names)}]"]


def ordered(schemas: dict[str, Any]) -> list[str]:
    """Names so that unions come after what they are made of; annotations are not evaluated."""
    return sorted(schemas, key=lambda name: ("oneOf" in schemas[name], name))


def answer_of(operation: dict[str, Any]) -> tuple[str, str]:
    """How an answer is read, and its type."""
    good = next(value for code, value in operation["responses"].items() if code.startswith("2"))
    media, content = next(iter(good["content"].items()))
    if media == "text/event-stream":
        return "_events", f"Iterator[{type_of(content['schema'])}]"
    if media == "application/json":
        return "_json", type_of(content["schema"])
    return "_read", "str"


def method(path: str, verb: str, operation: dict[str, Any]) -> list[str]:
    """One operation as a method: what is in the path and the body first, the rest by name."""
    first, named, query, headers = ["self"], [], [], []
    place = path
    for it in operation.get("parameters", []):
        name = it["name"].lower().replace("-", "_")
        kind = type_of(it["schema"])
        if it["in"] == "path":
            first.append(f"{name}: {kind}")
            place = place.replace("{" + it["name"] + "}", "{quoted(" + name + ")}")
            continue
        kind = kind if kind.startswith("Optional") else f"Optional[{kind}]"
        named.append(f"{name}: {kind} = None")
        (query if it["in"] == "query" else headers).append(f'"{it["name"]}": {name}')
    body = "None"
    if "requestBody" in operation:
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        kind = type_of(schema)
        first.append(f"body: {'Mapping[str, Any]' if kind == 'Any' else kind}")
        body = "body"
    reader, result = answer_of(operation)
    star = ["*", *named] if named else []
    text = f'f"{place}"' if "{" in place else f'"{place}"'
    arguments = f'"{verb.upper()}", {text}, {{{", ".join(query)}}}, {{{", ".join(headers)}}}, {body}'
    summary = operation.get("summary") or operation["operationId"]
    return [
        f"    def {operation['operationId']}({', '.join([*first, *star])}) -> {result}:",
        *described(summary, "        "),
        f"        return self.{reader}({arguments})",
        "",
    ]


def client(document: dict[str, Any]) -> str:
    schemas = document["components"]["schemas"]
    lines = [HEAD]
    for name in ordered(schemas):
        lines += ["", *schema_lines(name, schemas[name]), ""]
    lines += [
        "",
        "class Client(Connection):",
        '    """The controller of a network: ``Client("http://127.0.0.1:7733", token)``. Raises ServiceError where it says no."""',
        "",
        "    @classmethod",
        '    def of_state(cls, state: str) -> "Client":',
        '        """The controller of this machine that has its state in this folder."""',
        "        return cls(**local_arguments(state))",
        "",
    ]
    for path, verbs in document["paths"].items():
        for verb, operation in verbs.items():
            lines += method(path, verb, operation)
    exported = ["Client", "ServiceError", *ordered(schemas)]
    lines += ["", "__all__ = [", *[f'    "{name}",' for name in exported], "]"]
    return "\n".join(lines).rstrip() + "\n"


def main() -> int:
    text = client(json.loads(DOCUMENT.read_text()))
    if "--check" not in sys.argv[1:]:
        CLIENT.write_text(text)
        return 0
    if CLIENT.exists() and CLIENT.read_text() == text:
        return 0
    print("python/tenuto/client.py is not what docs/reference/openapi.json says: run python3 python/generate_client.py")
    return 1


if __name__ == "__main__":
    sys.exit(main())
