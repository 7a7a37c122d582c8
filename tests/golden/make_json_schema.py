"""Writes tests/golden/json_schema.json: what PyPI jsonschema says of random and of chosen schemas. Needs jsonschema 4.26.

Run: python tests/golden/make_json_schema.py > tests/golden/json_schema.json

One line a schema: [schema, valid texts, others, errors of the first of those]. Errors are "pointer keyword"; null where both
libraries mean the same but tell it at another place. Left out: `format`, an annotation there; more than one draft's
meaning of one keyword; numbers that Python takes for floats (all are read as integers or decimals).
"""
import decimal
import json
import random
import sys

import jsonschema

decimal.getcontext().prec = 400
NAMES = ["a", "b", "ab", "a/b", "\u00e9", ""]
PATTERNS = ["^a", "b$", "^(ab)*$", "a.?b", "[0-9]{2}", "^[^b]*$", "\\d", "^\\S+$", "\u00e9|x{2,}", "^(?:a|ab){1,2}$"]
# For the metaschemas, whose verdicts on some of them differ from draft to draft.
SCHEMAS = [
    "{}", "true", "3", "[]", '{"unknown":[{}]}', '{"definitions":{"foo":{"type":"integer"}}}', '{"definitions":{"foo":{"type":1}}}',
    '{"$defs":{"foo":{"type":"integer"}}}', '{"$defs":{"foo":{"type":"int"}}}', '{"type":["string","null"]}', '{"type":["string","string"]}',
    '{"type":[]}', '{"minLength":1}', '{"minLength":-1}', '{"minLength":1.0}', '{"minLength":1.5}', '{"minLength":"1"}', '{"maximum":1e400}',
    '{"exclusiveMaximum":true}', '{"exclusiveMaximum":true,"maximum":3}', '{"exclusiveMaximum":3}', '{"multipleOf":0}', '{"multipleOf":0.01}',
    '{"items":[]}', '{"items":[{}]}', '{"items":{"items":3}}', '{"items":[{"items":[3]}]}', '{"prefixItems":[]}', '{"prefixItems":[{}]}',
    '{"additionalProperties":false}', '{"additionalProperties":3}', '{"additionalItems":true}', '{"additionalItems":[]}', '{"required":[]}',
    '{"required":["a","a"]}', '{"required":["a",3]}', '{"enum":[]}', '{"enum":[1,1]}', '{"enum":3}', '{"const":[{}]}', '{"properties":{"a":true}}',
    '{"properties":{"a":{"not":[]}}}', '{"properties":[]}', '{"patternProperties":{"^a":{"allOf":[]}}}', '{"propertyNames":{"maxLength":"a"}}',
    '{"dependencies":{"a":[]}}', '{"dependencies":{"a":["b","b"]}}', '{"dependencies":{"a":{"oneOf":[{}]}}}', '{"dependentRequired":{"a":["b"]}}',
    '{"dependentRequired":{"a":{}}}', '{"dependentSchemas":{"a":[]}}', '{"if":{},"then":false,"else":3}', '{"contains":{"minItems":-0}}',
    '{"maxContains":-2}', '{"unevaluatedItems":[]}', '{"unevaluatedProperties":{"anyOf":[{"anyOf":{}}]}}', '{"title":3}', '{"description":"a"}',
    '{"default":{"type":3}}', '{"examples":{}}', '{"readOnly":"yes"}', '{"writeOnly":1}', '{"deprecated":null}', '{"$comment":[]}', '{"$id":3}',
    '{"id":3}', '{"$id":"a#b"}', '{"$anchor":"a b"}', '{"$anchor":"_a"}', '{"$anchor":"a:b"}', '{"$ref":3}', '{"$recursiveAnchor":"true"}',
    '{"$dynamicAnchor":3}', '{"$vocabulary":{"http://x/y":1}}', '{"contentSchema":{"type":{}}}', '{"contentEncoding":3}', '{"format":3}',
    '{"uniqueItems":"true"}', '{"maxProperties":3,"minProperties":-3}', '{"pattern":3}',
]


class Number(str):
    """A number as it is spelled."""


def text_of(value):
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(json.dumps(k) + ":" + text_of(v) for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(text_of, value)) + "]"
    return json.dumps(value)


def exact(text):
    number = decimal.Decimal(text)
    return int(number) if number == number.to_integral_value() else number


def parsed(text):
    return json.loads(text, parse_float=exact)


class Maker:
    def __init__(self, seed):
        self.rng = random.Random(seed)

    def pick(self, *choices):
        return self.rng.choice(choices)

    def number(self):
        return Number(self.pick("0", "1", "2", "3", "-1", "1.0", "0.5", "2.50", "1e1", "-0", "10", "0.1", "12345678901234567890", "3e-1"))

    def string(self):
        return self.pick("", "a", "b", "ab", "abab", "a b", "\u00e9", "xx", "42", "a\U0001f600", "bbbbb")

    def instance(self, depth=2):
        kind = self.rng.randrange(7 if depth else 4)
        if kind == 0:
            return self.pick(None, True, False)
        if kind in (1, 2):
            return self.number()
        if kind == 3:
            return self.string()
        if kind in (4, 5):
            names = self.rng.sample(NAMES, self.rng.randrange(4))
            return {name: self.instance(depth - 1) for name in names}
        return [self.instance(depth - 1) for _ in range(self.rng.randrange(4))]

    def schemas(self, depth):
        return [self.schema(depth - 1) for _ in range(self.rng.randrange(1, 4))]

    def named(self, depth, names):
        return {name: self.schema(depth - 1) for name in self.rng.sample(names, self.rng.randrange(1, 4))}

    def names(self):
        return self.rng.sample(NAMES, self.rng.randrange(1, 3))

    def schema(self, depth=3):
        if depth == 0 or self.rng.random() < 0.1:
            return self.pick(True, {}, {"type": self.types()}, {"$ref": "#/$defs/d"}, {"const": self.instance(1)}, False)
        keywords = self.rng.sample(sorted(self.KEYWORDS), self.rng.randrange(1, 4))
        result = {}
        for keyword in keywords:
            made = self.KEYWORDS[keyword](self, depth)
            result.update(made if isinstance(made, dict) and keyword.startswith("+") else {keyword: made})
        return result

    def types(self):
        one = lambda: self.pick("null", "boolean", "integer", "number", "string", "array", "object")
        return one() if self.rng.random() < 0.7 else sorted({one(), one()})

    def count(self):
        return self.rng.randrange(4)

    KEYWORDS = {
        "type": lambda m, d: m.types(),
        "enum": lambda m, d: [m.instance(1) for _ in range(m.rng.randrange(1, 5))],
        "const": lambda m, d: m.instance(1),
        "minimum": lambda m, d: m.number(),
        "maximum": lambda m, d: m.number(),
        "exclusiveMinimum": lambda m, d: m.number(),
        "exclusiveMaximum": lambda m, d: m.number(),
        "multipleOf": lambda m, d: Number(m.pick("1", "2", "0.1", "0.25", "3", "1.5", "10")),
        "minLength": lambda m, d: m.count(),
        "maxLength": lambda m, d: m.count(),
        "pattern": lambda m, d: m.pick(*PATTERNS),
        "minItems": lambda m, d: m.count(),
        "maxItems": lambda m, d: m.count(),
        "uniqueItems": lambda m, d: True,
        "items": lambda m, d: m.schema(d - 1),
        "prefixItems": lambda m, d: m.schemas(d),
        "+contains": lambda m, d: m.pick({"contains": m.schema(d - 1)}, {"contains": m.schema(d - 1), "minContains": m.count()},
                                         {"contains": m.schema(d - 1), "maxContains": m.count()}),
        "minProperties": lambda m, d: m.count(),
        "maxProperties": lambda m, d: m.count(),
        "required": lambda m, d: m.names(),
        "properties": lambda m, d: m.named(d, NAMES),
        "patternProperties": lambda m, d: m.named(d, PATTERNS),
        "additionalProperties": lambda m, d: m.schema(d - 1),
        "propertyNames": lambda m, d: m.schema(d - 1),
        "dependentRequired": lambda m, d: {name: m.names() for name in m.names()},
        "dependentSchemas": lambda m, d: m.named(d, NAMES),
        "allOf": lambda m, d: m.schemas(d),
        "anyOf": lambda m, d: m.schemas(d),
        "oneOf": lambda m, d: m.schemas(d),
        "not": lambda m, d: m.schema(d - 1),
        "+if": lambda m, d: {"if": m.schema(d - 1), "then": m.schema(d - 1), "else": m.schema(d - 1)},
        "unevaluatedItems": lambda m, d: m.schema(d - 1),
        "unevaluatedProperties": lambda m, d: m.schema(d - 1),
        "$ref": lambda m, d: "#/$defs/d",
    }


def chosen():
    """(schema, texts) by hand: other drafts, spellings, references."""
    four, six, seven = (f"http://json-schema.org/draft-0{n}/schema#" for n in (4, 6, 7))
    nineteen, new = (f"https://json-schema.org/draft/{n}/schema" for n in ("2019-09", "2020-12"))
    number = Number
    yield {"$schema": four, "minimum": 3, "exclusiveMinimum": True}, ["3", "3.0", "3.0000000000000000001", "4", '"x"']
    yield {"$schema": four, "maximum": 3, "exclusiveMaximum": False}, ["3", "3.1"]
    yield {"$schema": four, "id": "http://x/y", "definitions": {"p": {"id": "#p", "minimum": 0}}, "items": {"$ref": "#p"}}, ["[1]", "[-1]"]
    yield {"$schema": seven, "items": [{"type": "integer"}, {"type": "string"}], "additionalItems": {"type": "null"}}, [
        "[]", "[1]", "[1,2]", '[1,"a",null,null]', '[1,"a",0]']
    yield {"$schema": seven, "additionalItems": False, "items": {}}, ["[1]"]
    yield {"$schema": seven, "dependencies": {"a": ["b"], "b": {"properties": {"c": {"type": "integer"}}}}}, [
        '{"a":1}', '{"a":1,"b":2}', '{"b":2,"c":"3"}', '{"b":2,"c":3}', '{"c":"3"}']
    yield {"$schema": seven, "contains": {"const": 1}}, ["[]", "[1]", "[1.0,2]", "[true]", "{}"]
    yield {"multipleOf": number("0.0001")}, ["0.0075", "0.00751", "1e-4", "123456789012345678901234567890.12345", "1e30"]
    yield {"multipleOf": number("1e-8")}, ["12391239123", "1e-9", "0"]
    yield {"maximum": number("18446744073709551615")}, ["18446744073709551615", "18446744073709551616", "18446744073709551615.1"]
    yield {"const": {"a": [1, {"b": number("2.0")}]}}, ['{"a":[1.0,{"b":2}]}', '{"a":[true,{"b":2}]}', '{"a":[1,{"b":2,"c":0}]}']
    yield {"enum": [0, False, None, "", [], {}]}, ["0", "-0.0", "false", "true", "null", '""', "[]", "{}", "[0]", '"0"']
    yield {"uniqueItems": True}, ["[1,true]", "[0,false]", "[1,1.0]", '[{"a":1,"b":2},{"b":2.0,"a":1}]', '[[1],[true]]', '["1",1]', "[[],{}]"]
    yield {"type": "integer"}, ["1", "1.0", "1e2", "1.5e1", "1.5", "1e-1", "10e-1", "-0"]
    yield {"minLength": 2, "maxLength": 2}, ['"\\ud83d\\ude00"', '"\U0001f600\U0001f600"', '"e\u0301"', '"\u00e9"', '"ab"']
    yield {"properties": {"a": False}, "patternProperties": {"": {"maximum": 3}}}, ['{"a":1}', '{"b":3}', '{"b":4}', "{}"]
    yield {"propertyNames": {"maxLength": 2}}, ['{"ab":1,"c":2}', '{"abc":1}', "{}", "[]"]
    tree = {"$id": "http://x/tree", "$defs": {"node": {"$anchor": "node", "properties": {"kids": {"items": {"$ref": "#node"}}, "v": {"type": "number"}},
                                                       "required": ["v"], "unevaluatedProperties": False}}, "$ref": "tree#node"}
    yield tree, ['{"v":1,"kids":[{"v":2,"kids":[]},{"v":3}]}', '{"v":1,"kids":[{"v":2,"kids":[{}]}]}', '{"v":1,"x":2}', "3"]
    yield {"$ref": "#/$defs/a~1b~0c%25", "$defs": {"a/b~c%": {"type": "integer"}}}, ["1", '"1"']
    yield {"$defs": {"x": {"$id": "http://x/y/", "$defs": {"z": {"$id": "z", "const": 1}}, "$ref": "z"}}, "items": {"$ref": "http://x/y/"}}, ["[1]", "[2]"]
    yield {"$schema": new, "allOf": [{"prefixItems": [True]}, {"contains": {"const": 3}}], "unevaluatedItems": {"type": "string"}}, [
        "[1,3]", '[1,"a",3]', "[1,2,3]", '[1,"a"]']
    yield {"if": {"properties": {"a": {"const": 1}}, "required": ["a"]}, "then": {"properties": {"b": True}}, "unevaluatedProperties": False}, [
        '{"a":1,"b":2}', '{"a":2}', '{"a":1,"c":2}', "{}"]
    yield {"anyOf": [{"properties": {"a": {"type": "string"}}, "required": ["a"]}, {"properties": {"b": {"type": "string"}}, "required": ["b"]}],
           "unevaluatedProperties": False}, ['{"a":"x"}', '{"a":"x","b":"y"}', '{"a":"x","b":1}', '{"b":"y","a":1}']
    yield {"not": {"not": {"properties": {"a": True}}}, "unevaluatedProperties": False}, ['{"a":1}', "{}"]
    yield {"oneOf": [{"multipleOf": 2}, {"multipleOf": 3}]}, ["2", "3", "6", "5", "true"]
    yield {"minContains": 2, "contains": {"type": "integer"}, "maxContains": 2}, ["[1]", "[1,2]", "[1,2.0,3]", '[1,2,"x"]', "[]"]
    yield {"minContains": 0, "contains": False}, ["[]", "[1]"]
    yield {"minContains": 2}, ["[]"]
    for draft in (four, six, seven, nineteen, new):
        yield {"$schema": draft, "$ref": draft}, SCHEMAS
    yield {"required": ["__proto__", "toString"]}, ["{}", '{"__proto__":1,"toString":2}']
    yield {"dependentSchemas": {"a": {"minProperties": 2}}}, ['{"a":1}', '{"a":1,"b":1}', "{}"]


def pointer(path):
    return "".join("/" + str(token).replace("~", "~0").replace("/", "~1") for token in path)


def errors_of(validator, value):
    if validator.schema.get("$ref", "") == validator.schema.get("$schema"):  # the metaschemas are arranged otherwise
        return None
    errors = list(validator.iter_errors(value))
    for error in errors:
        told_elsewhere = error.validator is None or error.validator.startswith("unevaluated") or "propertyNames" in error.absolute_schema_path
        draft4 = "id" in validator.META_SCHEMA
        if draft4 or told_elsewhere or (error.validator in ("additionalProperties", "additionalItems", "items", "dependencies")):
            return None
    return sorted({f"{pointer(e.absolute_path)} {e.validator}" for e in errors})


def line(schema, texts):
    as_read = parsed(text_of(schema))
    validator = jsonschema.validators.validator_for(as_read, default=jsonschema.Draft202012Validator)(as_read)
    valid = [t for t in texts if validator.is_valid(parsed(t))]
    others = [t for t in texts if t not in valid]
    errors = errors_of(validator, parsed(others[0])) if others else None
    texts = lambda some: "[" + ",".join(some) + "]"
    return f"[{text_of(schema)},{texts(valid)},{texts(others)},{json.dumps(errors)}]", bool(valid), bool(others)


def main():
    lines = [line(schema, texts)[0] for schema, texts in chosen()]
    seed = 0
    while len(lines) < 800:
        seed += 1
        maker = Maker(seed)
        schema = maker.schema()
        if not isinstance(schema, dict) or "$ref" in schema:
            continue
        schema["$defs"] = {"d": maker.pick({"type": maker.types()}, {"maximum": 2, "maxLength": 1, "items": {"$ref": "#/$defs/d"}},
                                           {"additionalProperties": {"$ref": "#/$defs/d"}, "type": ["object", "integer"]})}
        made, some_valid, some_invalid = line(schema, sorted({text_of(maker.instance()) for _ in range(10)}))
        if some_valid and some_invalid and len(made) < 800:
            lines.append(made)
    sys.stdout.write("[\n" + ",\n".join(lines) + "\n]\n")


if __name__ == "__main__":
    main()
