#!/usr/bin/env python3
"""Renders chat templates and template snippets with jinja2 and writes what it prints to tests/golden/chat_*.json.

Needs jinja2 3.1.6. The environment is the one that Hugging Face's transformers builds for chat templates.
Usage: make_chat_goldens.py [MODEL.gguf ...]   (a model's own template is read with the gguf package)
"""
import datetime
import json
import pathlib
import re
import sys

import jinja2
import jinja2.ext
from jinja2.sandbox import ImmutableSandboxedEnvironment

from chat_snippets import SNIPPETS, VARIABLES
from chat_templates import CONVERSATIONS, TEMPLATES, TOOLS

HERE = pathlib.Path(__file__).parent
NOW = datetime.datetime(2024, 7, 6, 9, 5, 3)


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_run"), [], [], body).set_lineno(line)

    def _run(self, caller):
        return caller()


class Namespace(jinja2.utils.Namespace):
    def __init__(*args, **kwargs):
        self, args = args[0], args[1:]
        attributes = dict(*args, **kwargs)
        if any(name.startswith("_") for name in attributes):
            raise jinja2.exceptions.SecurityError("underscore")
        jinja2.utils.Namespace.__init__(self, attributes)

    def __setitem__(self, name, value):
        if name.startswith("_"):
            raise jinja2.exceptions.SecurityError(name)
        jinja2.utils.Namespace.__setitem__(self, name, value)


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def environment():
    env = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = NOW.strftime
    env.globals["namespace"] = Namespace
    return env


def render(env, source, **variables):
    """The text, or the kind of failure: a compile error, the template's own refusal, or any other run-time error."""
    try:
        template = env.from_string(source)
    except Exception as error:
        return {"error": "compile", "why": f"{type(error).__name__}: {error}"}
    try:
        text = template.render(**variables)
        # Python's names of internal objects, with addresses, are no result that anyone wants.
        if re.search(r"<(bound|built-in|function at|class|generator|Macro|LoopContext|\w+[ \w]* object at)", text):
            return {"error": "unprintable", "why": text}
        return {"text": text}
    except jinja2.exceptions.TemplateError as error:
        kind = "refused" if type(error) is jinja2.exceptions.TemplateError else "render"
        return {"error": kind, "why": str(error)}
    except Exception as error:
        return {"error": "render", "why": f"{type(error).__name__}: {error}"}


def message_view(message):
    """A message as the template sees it: tool calls in OpenAI's form with parsed arguments, empty fields left out."""
    view = {"role": message["role"], "content": message.get("content", "")}
    if message.get("name"):
        view["name"] = message["name"]
    if message.get("tool_calls"):
        view["tool_calls"] = [
            {"type": "function", **({"id": call["id"]} if call.get("id") else {}),
             "function": {"name": call["name"], "arguments": json.loads(call["arguments"])}}
            for call in message["tool_calls"]]
    if message.get("tool_call_id"):
        view["tool_call_id"] = message["tool_call_id"]
    view.update(message.get("extra", {}))
    return view


def main():
    env = environment()
    snippets = [{"source": s, **render(env, s, messages=[], tools=None, documents=None, add_generation_prompt=True, **VARIABLES)} for s in SNIPPETS]
    (HERE / "chat_snippets.json").write_text(json.dumps(
        {"variables": VARIABLES, "snippets": snippets}, ensure_ascii=False, indent=0) + "\n")

    templates = dict(TEMPLATES)
    for path in sys.argv[1:]:
        import gguf
        field = gguf.GGUFReader(path).fields.get("tokenizer.chat_template")
        if field is not None:
            templates["file:" + pathlib.Path(path).name] = field.contents()
    cases = []
    for name, source in templates.items():
        for conversation in CONVERSATIONS:
            for generate in (False, True):
                result = render(env, source, messages=[message_view(m) for m in conversation["messages"]],
                                tools=TOOLS if conversation.get("tools") else None, documents=None,
                                add_generation_prompt=generate, bos_token="<s>", eos_token="</s>",
                                **conversation.get("variables", {}))
                cases.append({"template": name, "conversation": conversation["name"], "generate": generate, **result})
    (HERE / "chat_templates.json").write_text(json.dumps(
        {"templates": templates, "tools": TOOLS, "conversations": CONVERSATIONS, "cases": cases},
        ensure_ascii=False, indent=0) + "\n")
    kinds = {}
    for result in snippets + cases:
        kinds[result.get("error", "text")] = kinds.get(result.get("error", "text"), 0) + 1
    print(len(snippets), "snippets,", len(cases), "renderings:", kinds)


if __name__ == "__main__":
    main()
