"""Checks the viewer against its own document: what openapi.yaml allows is not refused for its form, and what it does not have is refused as it says.

    Tests/Viewer/document.py --page http://127.0.0.1:8080 --session 2026-11-20T22-40-00.000Z --sources stage,door
"""

import argparse
import json
import random
import sys
import urllib.error
import urllib.parse
import urllib.request
from re import _constants as constants
from re import _parser as parser

import yaml

# They end when the reader does.
ENDLESS = ("/api/v1/live", "/api/v1/events")
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
# Of what a document cannot say: how values belong together.
TOGETHER = (
    "'until' must be later than 'from'", "give 'from' and a later 'until'", "at most 64 days apart", "further away than any recording", "the body changes nothing",
    "'set' goes with the command set", "'set' changes nothing", "'sources' must be one name", "give 'at'", "different names", "each name of the query once")
# What must not be done to the recording that others look at.
HARMLESS = {"/api/v1/sessions/{session}": ("get", "patch"), "/api/v1/sessions/{session}/stop": ()}
PATIENCE = 60


class Maker:
    """Values that a schema allows."""

    def __init__(self, document, seed):
        self.document, self.random = document, random.Random(seed)

    def resolved(self, schema):
        while "$ref" in schema:
            target = self.document
            for part in schema["$ref"].lstrip("#/").split("/"):
                target = target[part]
            schema = {**target, **{key: value for key, value in schema.items() if key != "$ref"}}
        return schema

    def value(self, schema):
        schema, choice = self.resolved(schema), self.random
        if "enum" in schema:
            return choice.choice(schema["enum"])
        if "oneOf" in schema:
            return self.value(choice.choice(schema["oneOf"]))
        kind = schema.get("type")
        if kind == "object":
            return self.object(schema)
        if kind == "array":
            least = schema.get("minItems", 0)
            made = []
            for _ in range(choice.randint(least, min(schema.get("maxItems", 4), least + 3))):
                item = self.value(schema["items"])
                if not schema.get("uniqueItems") or item not in made:
                    made.append(item)
            return made
        if kind == "boolean":
            return choice.random() < 0.5
        if kind in ("integer", "number"):
            least, most = schema.get("minimum", 0), schema.get("maximum", 1 << 40)
            edges = [least, most, choice.randint(int(least), int(most))]
            return choice.choice(edges) if kind == "integer" else choice.choice([*edges, choice.uniform(least, most)])
        if "pattern" in schema:
            return self.text(schema["pattern"], schema.get("maxLength", 1 << 16))
        size = choice.randint(schema.get("minLength", 0), min(schema.get("maxLength", 24), 64))
        return "".join(choice.choice("abc xyz09-é") for _ in range(size))

    def object(self, schema):
        made = {}
        for name, inner in schema.get("properties", {}).items():
            if name in schema.get("required", ()) or self.random.random() < 0.5:
                made[name] = self.value(inner)
        more = schema.get("additionalProperties")
        if isinstance(more, dict) and self.random.random() < 0.5:
            made["brightness"] = self.value(more)
        return made

    def text(self, pattern, longest):
        """A text that a pattern matches."""
        for _ in range(50):
            made = "".join(self.parts(parser.parse(pattern)))
            if len(made.encode()) <= longest:
                return made
        raise RuntimeError(f"no short text for {pattern}")

    def parts(self, parsed):
        for kind, value in parsed:
            if kind is constants.LITERAL:
                yield chr(value)
            elif kind is constants.IN:
                yield self.one_of(value)
            elif kind is constants.ANY:
                yield "x"
            elif kind is constants.SUBPATTERN:
                yield from self.parts(value[3])
            elif kind is constants.BRANCH:
                yield from self.parts(self.random.choice(value[1]))
            elif kind in (constants.MAX_REPEAT, constants.MIN_REPEAT):
                least, most, inner = value
                for _ in range(self.random.choice([least, min(int(most), least + self.random.randint(0, 6))])):
                    yield from self.parts(inner)
            elif kind is not constants.AT:
                raise RuntimeError(f"{kind} in a pattern")

    def one_of(self, items):
        if items[0][0] is constants.NEGATE:
            return self.random.choice("aZ 9é")
        kind, value = self.random.choice(items)
        return chr(value) if kind is constants.LITERAL else chr(self.random.randint(*value))


class Checker:
    def __init__(self, page, session, sources, seed, text=None):
        self.page = page
        self.document = yaml.safe_load(text or self.ask("GET", "/api/v1/openapi.yaml")[2])
        self.maker = Maker(self.document, seed)
        # Names that are there, as well as any that could be.
        self.names = {"session": session, "source": sources[0]}
        self.requests, self.flaws = 0, []

    def ask(self, method, path, body=None):
        headers = {"Content-Type": "application/json"} if body is not None else {}
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self.page + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return answer.status, answer.headers, answer.read(1 << 20).decode(errors="replace")
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read(4096).decode(errors="replace")

    def path(self, template, parameters):
        for one in parameters:
            if one["in"] == "path":
                known = self.names.get(one["name"])
                value = known if known and self.maker.random.random() < 0.7 else str(self.maker.value(one["schema"]))
                template = template.replace("{%s}" % one["name"], urllib.parse.quote(value, safe=""))
        return template

    def allowed(self, template, methods, count):
        """Requests that the document allows."""
        for method in HARMLESS.get(template, [key for key in methods if key != "parameters"]):
            operation = methods[method]
            parameters = [self.maker.resolved(one) for one in methods.get("parameters", []) + operation.get("parameters", [])]
            for _ in range(count if parameters or "requestBody" in operation else 1):
                query = {}
                for one in parameters:
                    if one["in"] == "query" and (one.get("required") or self.maker.random.random() < 0.5):
                        query[one["name"]] = self.maker.value(one["schema"])
                path = self.path(template, parameters) + (f"?{urllib.parse.urlencode(query)}" if query else "")
                body = None
                if "requestBody" in operation:
                    schema = self.maker.resolved(operation["requestBody"]["content"]["application/json"]["schema"])
                    body = self.maker.value(schema)
                status, _, text = self.ask(method.upper(), path, body)
                self.requests += 1
                said = f"{method.upper()} {path} {json.dumps(body) if body is not None else ''}: {status} {text.strip()[:160]}"
                if str(status) not in operation["responses"]:
                    self.flaws.append(f"not in the document: {said}")
                elif status in (400, 413, 414, 415) and not any(words in text for words in TOGETHER):
                    self.flaws.append(f"refused, and the document allows it: {said}")

    def others(self, template, methods):
        """Methods that an address does not have."""
        known = {key.upper() for key in methods if key != "parameters"}
        if "GET" in known:
            known.add("HEAD")
        parameters = [self.maker.resolved(one) for one in methods.get("parameters", [])]
        path = self.path(template, parameters)
        for method in METHODS:
            if method in known:
                continue
            status, headers, text = self.ask(method, path)
            self.requests += 1
            allowed = {one.strip() for one in headers.get("Allow", "").split(",")}
            if status != 405 or allowed != known:
                self.flaws.append(f"{method} {path}: {status}, Allow: {headers.get('Allow')}; the document has {sorted(known)}: {text.strip()[:100]}")

    def check(self, count):
        for template, methods in self.document["paths"].items():
            if template not in ENDLESS:
                self.allowed(template, methods, count)
            self.others(template, methods)
        return self.flaws


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--page", required=True)
    arguments.add_argument("--session", required=True)
    arguments.add_argument("--sources", required=True)
    arguments.add_argument("--count", type=int, default=25, help="requests of each method (25)")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--document", type=argparse.FileType(), help="instead of the one that the viewer has")
    options = arguments.parse_args()
    checker = Checker(options.page, options.session, options.sources.split(","), options.seed, options.document and options.document.read())
    for flaw in checker.check(options.count):
        print(flaw)
    print(f"{checker.requests} requests, {len(checker.flaws)} flaws, seed {options.seed}")
    return 1 if checker.flaws else 0


if __name__ == "__main__":
    sys.exit(main())
