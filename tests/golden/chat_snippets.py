"""Small templates, one for each thing that the engine must render as jinja2 does; chat_expressions.txt has those that
print a single expression, one a line."""

import pathlib

HERE = pathlib.Path(__file__).parent

VARIABLES = {
    "s": "Hello, World", "u": "Ünïcode ß ſ ŉ ﬁ ΑΣ ǆ", "e": "", "ws": "  \t x y\n\u3000", "n": 7, "z": 0, "neg": -3, "f": 2.5, "big": 9007199254740993,
    "t": True, "no": None, "l": [3, 1, 2], "ls": ["b", "A", "c", "a"], "d": {"b": 1, "a": [1, {"x": None}], "items": "mine", "C": "see"},
    "users": [{"name": "Zoe", "age": 30, "on": True}, {"name": "adam", "age": 25, "on": False}, {"name": "Bob", "age": 30, "on": True}],
    "lines": "one\n\ntwo\r\nthree\n", "html": "<a href='x'>\"&\"</a>", "mixed": [1, "1", 1.0, True, None, "x"], "nested": [[1, 2], [3, [4]]],
}

SNIPPETS = []


def add(*sources):
    SNIPPETS.extend(sources)


add(*("{{ " + line + " }}" for line in (HERE / "chat_expressions.txt").read_text().rstrip("\n").split("\n")))

add(
    "", "plain", "a\n", "a\n\n", "a\r\nb\rc", "{{ 1 }}\n", "{{ 1 }}\n\n{{ 2 }}", "  {{ 1 }}  ", "a {{- 1 -}} b", "a  {{- 1 -}}\n\n b",
    "{%- if true -%} x {%- endif -%}", "  {% if true %}\n  x\n  {% endif %}\n  y", "a {% if true %} b {% endif %} c",
    "a\n   {% if true %}b{% endif %}   \nc", "{% if true +%}\nx{% endif %}", "  {%+ if true %}x{% endif %}", "  {%+ if true +%}\nx{% endif %}",
    "\t{% set x = 1 %}\n{{ x }}", "a\n\t {# c #}\nb", "a\n{#- c -#}\nb", "a\n{# c #}\nb", "a {# c #} b", "a {#+ c +#}\n b", "{# {{ x }} {% if %} #}z",
    "{# unclosed", "{{ unclosed", "{% unclosed", "{% if x", "{{ 1 }", "{ { 1 } }", "{", "{{", "a{", "}}", "%}", "#}", "{{ '}}' }}", "{{ '{{' }}", "{{ {'a': {'b': 1}}.a.b }}",
    "{{ {'a': 1}}}", "{{{'a': 1}}}", "{{ '%}' }}{% if '%}' %}x{% endif %}", "{% raw %}{{ x }}{% endraw %}", "a {%- raw -%} {{ x }} {%- endraw -%} b",
    "{% raw %}\nx\n{% endraw %}\ny", "  {% raw %}\n  x\n  {% endraw %}\n  y", "{%raw%}{%endraw%}", "{% raw %}{% endraw", "{% raw %}{% if %}{#{{{% endraw %}",
    "{%+ raw %}a{%+ endraw +%}\nb", "{% raw -%}\n x{% endraw %}",
    "{% if 1 %}a{% elif 2 %}b{% else %}c{% endif %}", "{% if 0 %}a{% elif 2 %}b{% else %}c{% endif %}", "{% if 0 %}a{% elif 0 %}b{% elif 0 %}z{% else %}c{% endif %}",
    "{% if 0 %}a{% endif %}", "{% if undefined_thing %}a{% else %}b{% endif %}", "{% if s and l and d %}x{% endif %}", "{% if 1: %}x{% endif %}",
    "{% if 1 %}", "{% endif %}", "{% if 1 %}{% endfor %}", "{% if %}{% endif %}", "{% else %}", "{% if 1 %}a{% else %}b{% else %}c{% endif %}", "{% nosuchtag %}", "{% %}",
    "{% if 1 %}{% set q = 1 %}{% endif %}{{ q }}", "{% if 0 %}{% set q = 1 %}{% endif %}{{ q is defined }}",
    "{% for x in l %}{{ x }},{% endfor %}", "{% for x in [] %}a{% else %}b{% endfor %}", "{% for x in l %}a{% else %}b{% endfor %}", "{% for c in 'añb' %}[{{ c }}]{% endfor %}",
    "{% for k in d %}{{ k }} {% endfor %}", "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}", "{% for k, v in d | dictsort %}{{ k }} {% endfor %}",
    "{% for a, b in nested %}{{ a }}-{{ b }} {% endfor %}", "{% for a in undefined_thing %}x{% else %}none{% endfor %}", "{% for a in 5 %}x{% endfor %}", "{% for a in none %}x{% endfor %}",
    "{% for a, b in [(1, 2, 3)] %}{% endfor %}", "{% for a, b in [1] %}{% endfor %}", "{% for (a, b) in [(1, 2)] %}{{ a + b }}{% endfor %}", "{% for a, (b, c) in [(1, (2, 3))] %}{{ a ~ b ~ c }}{% endfor %}",
    "{% for x in l if x > 1 %}{{ x }}/{{ loop.index }}/{{ loop.length }}/{{ loop.last }} {% endfor %}", "{% for x in l if x > 9 %}a{% else %}b{% endfor %}",
    "{% for x in l %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }} {% endfor %}",
    "{% for x in l %}{{ loop.previtem }}<{{ x }}>{{ loop.nextitem }} {% endfor %}", "{% for x in l %}{{ loop.previtem is defined }}{{ loop.nextitem is defined }} {% endfor %}",
    "{% for x in l %}{{ loop.cycle('a', 'b') }}{% endfor %}", "{% for x in l %}{{ loop.cycle() }}{% endfor %}", "{% for x in [1, 1, 2, 2, 1] %}{{ loop.changed(x) }} {% endfor %}",
    "{% for x in l %}{{ loop['index'] }}{{ loop.depth }}{{ loop.depth0 }}{{ loop.nope }}{% endfor %}", "{{ loop }}", "{{ loop.index }}", "{% for x in l %}{{ loop | length }}{% endfor %}",
    "{% for x in l %}{% for y in l %}{{ loop.index }}{% endfor %}{{ loop.index }} {% endfor %}", "{% for x in l %}{% set o = loop %}{% for y in [1, 2] %}{{ o.index }}{{ loop.index }} {% endfor %}{% endfor %}",
    "{% for x in l %}{% if x == 1 %}{% continue %}{% endif %}{{ x }}{% endfor %}", "{% for x in l %}{% if x == 1 %}{% break %}{% endif %}{{ x }}{% endfor %}",
    "{% for x in l %}{% break %}{% else %}none{% endfor %}", "{% for x in l %}{% for y in l %}{% if y == 1 %}{% break %}{% endif %}{{ y }}{% endfor %}|{% endfor %}", "{% break %}", "{% continue %}", "{% macro m() %}{% break %}{% endmacro %}",
    "{% set n2 = 0 %}{% for x in l %}{% set n2 = n2 + x %}{{ n2 }} {% endfor %}{{ n2 }}", "{% set ns = namespace(n=0) %}{% for x in l %}{% set ns.n = ns.n + x %}{% endfor %}{{ ns.n }}",
    "{% for x in l %}{% if loop.first %}{% set y = x %}{% endif %}{{ y is defined }}{% endfor %}", "{% for x in l %}{% endfor %}{{ x is defined }}", "{% set x = 9 %}{% for x in l %}{{ x }}{% endfor %}{{ x }}",
    "{% for x in range(3) %}{{ x }}{% endfor %}", "{% for x in range(3) | reverse %}{{ x }}{% endfor %}", "{% for x in l recursive %}{{ x }}{% endfor %}",
    "{% for x in l | map('string') %}{{ x }}{{ loop.last }}{{ loop.length }} {% endfor %}", "{% set it = l | map('string') %}{{ it | first }}{{ it | list }}{{ it | list }}", "{% set it = l | reverse %}{{ it | list }}{{ it | list }}",
    "{% for x in l, 4 %}{{ x }};{% endfor %}", "{% for x in (1, 2) %}{{ x }}{% endfor %}", "{% for x in 1, 2, %}{{ x }}{% endfor %}", "{% for x in l if x is odd %}{{ x }}{% endfor %}", "{% for x in (l if t else []) %}{{ x }}{% endfor %}",
    "{% for loop in l %}{% endfor %}", "{% for x.y in l %}{% endfor %}", "{% for 1 in l %}{% endfor %}", "{% for x l %}{% endfor %}", "{% for x in %}{% endfor %}",
    "{% for m in users if m.on %}{{ m.name }}{% if not loop.last %}, {% endif %}{% endfor %}", "{% for u1 in users %}{{ loop.index }}.{{ u1.name }}\n{% endfor %}",
    "{% set x = 1 %}{{ x }}", "{% set x, y = 1, 2 %}{{ x }}{{ y }}", "{% set x = 1, 2 %}{{ x }}", "{% set (x, y) = (1, 2) %}{{ y }}", "{% set x, y = 1 %}", "{% set x, y = [1] %}", "{% set x, = [5] %}{{ x }}",
    "{% set x %}a{{ 1 }}b{% endset %}{{ x }}|{{ x | length }}", "{% set x | upper %}abc{% endset %}{{ x }}", "{% set x | replace('a', 'b') | upper %}abc{% endset %}{{ x }}", "{% set x %}{% set y = 1 %}{% endset %}{{ y is defined }}",
    "{% set ns = namespace(a=1, b=2) %}{% set ns.a, ns.b = ns.b, ns.a %}{{ ns.a }}{{ ns.b }}", "{% set ns = namespace() %}{% set ns.x %}hi{% endset %}{{ ns.x }}", "{% set d.x = 1 %}", "{% set nope.x = 1 %}", "{% set ns = namespace() %}{% set ns._x = 1 %}",
    "{% set ns = namespace(l=[]) %}{% for x in [1, 2] %}{% set ns.l = ns.l + [x] %}{% endfor %}{{ ns.l }}", "{% set x = 'a' if no else 'b' %}{{ x }}", "{% set true = 1 %}", "{% set none = 1 %}", "{% set 1 = 1 %}", "{% set s = s.lower() %}{{ s }}", "{% set x = %}",
    "{% set a = [1] %}{% set b = a %}{{ a is sameas b }}", "{% set x = x %}{{ x is defined }}",
    "{% macro m() %}x{% endmacro %}{{ m() }}", "{% macro m(a) %}[{{ a }}]{% endmacro %}{{ m(1) }}{{ m('q') }}{{ m() }}", "{% macro m(a, b=2) %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }} {{ m(1, 3) }} {{ m(b=5, a=4) }}",
    "{% macro m(a, b=a) %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }}", "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}", "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(b=1) }}", "{% macro m(a) %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, 3, x=4) }}",
    "{% macro m() %}{{ varargs }}{% endmacro %}{{ m(x=1) }}", "{% macro m(a=1, b) %}{% endmacro %}", "{% macro m() %}{{ s }}{% endmacro %}{{ m() }}", "{% macro m() %}{{ later }}{% endmacro %}{% set later = 1 %}{{ m() }}",
    "{% macro m() %}{% set inner = 1 %}{{ inner }}{% endmacro %}{{ m() }}{{ inner is defined }}", "{% macro m(n) %}{{ n }}{% if n > 0 %}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(5) }}", "{% macro m() %}{{ m2() }}{% endmacro %}{% macro m2() %}two{% endmacro %}{{ m() }}",
    "{% macro m() %} a {% endmacro %}{{ m() | trim }}|{{ m() ~ 'x' }}|{{ m() | length }}", "{% macro m() %}{% endmacro %}{{ m.name }}{{ m is callable }}", "{% macro m(x) %}{{ x.y }}{% endmacro %}{{ m() }}",
    "{% macro m() %}<{{ caller() }}>{% endmacro %}{% call m() %}body{{ n }}{% endcall %}", "{% macro m(x) %}{{ caller(x, 2) }}{% endmacro %}{% call(a, b=0) m(1) %}{{ a }}{{ b }}{% endcall %}", "{% macro m() %}{{ caller is defined }}{% endmacro %}{{ m() }}", "{% macro m() %}x{% endmacro %}{% call m() %}b{% endcall %}",
    "{% macro m() %}{{ caller() }}{% endmacro %}{{ m() }}", "{% call 5 %}{% endcall %}", "{% for i in [1, 2] %}{% macro m() %}{{ i }}{% endmacro %}{{ m() }}{% endfor %}{{ m is defined }}", "{% for i in [1, 2] %}{% set x = i %}{% macro m() %}{{ x }}{% endmacro %}{{ m() }}{% endfor %}",
    "{% filter upper %}a{{ s }}b{% endfilter %}", "{% filter replace('a', 'b') | upper %}aaa{% endfilter %}", "{% filter trim %}\n  x \n{% endfilter %}", "{% filter nofilter %}{% endfilter %}", "{% filter indent(2) %}a\nb{% endfilter %}", "{% filter upper %}{% set q = 1 %}{% endfilter %}{{ q is defined }}",
    "{% with a = 1, b = 2 %}{{ a }}{{ b }}{% endwith %}{{ a is defined }}", "{% with %}{% set q = 1 %}{{ q }}{% endwith %}{{ q is defined }}", "{% set a = 1 %}{% with a = 2, b = a %}{{ a }}{{ b }}{% endwith %}", "{% with a, b = [1, 2] %}{{ b }}{% endwith %}",
    "{% generation %}abc{{ s }}{% endgeneration %}", "{% generation %}{% set q = 1 %}{% endgeneration %}{{ q is defined }}", "  {% generation %}\n  x\n  {% endgeneration %}\n y",
    "{% print s %}", "{% print s, n %}", "{% do l %}", "{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.next() }}{{ c.current }}{% set _ = c.reset() %}{{ c.current }}", "{% set j = joiner('; ') %}{% for x in l %}{{ j() }}{{ x }}{% endfor %}",
    "{% if 'x' is filter %}{{ s }}{% endif %}", "{{ s }}{{ raise_exception('no') }}", "{% if 0 %}{{ raise_exception('no') }}{% endif %}ok", "{{ caller() }}", "{{ self }}", "{{ varargs }}",
    "{{ d.a[1]\n .x\n }}x", "{{ s\n|upper }}", "{%- set x = [\n 1,\n 2,\n] -%}\n{{ x }}", "{% for x in l -%}\n  {{ x }}\n{%- endfor %}", "{% for x in l %}\n{{ x }}\n{% endfor %}\nend", "{% for x in l %}{{ x }}{{ \",\" if not loop.last }}{% endfor %}",
    "é{{ 'ü' }}漢字{{ '\U0001F600' }}", "{% set é = 1 %}{{ é }}", "{{ 1 }}{# a #}{{ 2 }}", "{%if 1%}x{%endif%}", "{%- for x in l -%}{{x}}{%- endfor -%}", "{{s}}", "{{ s if s else l }}", "{{ (s) }}", "{{ ((1)) + ((2)) }}", "{{ [x for x in l] }}",
    "{{ 1 if }}", "{{ if }}", "{{ not }}", "{{ 1 == }}", "{{ in l }}", "{{ lambda: 1 }}", "{{ s[1] [0] }}", "{{ s.upper ().lower() }}", "{{ -l|length }}", "{{ -2|abs }}", "{{ (-2)|abs }}", "{{ 2 + 3|string|length }}", "{{ 'a' ~ 1 + 2 }}", "{{ 1 + 2 ~ 'a' }}", "{{ not 1 == 2 }}",
    "{{ 1 if 1 else 2 if 1 else 3 }}", "{{ a.b if a is defined else 'x' }}", "{{ true if none is none else false }}", "{{ s is string and 'a' or 'b' }}", "{{ 5 is odd and 4 is even }}", "{{ 'a' if l is not none and l | length > 1 else 'b' }}", "{{ True }}{{ False }}{{ None }}{{ TRUE }}",
    "{{ messages }}", "{{ {} }}", "{{ {}.a }}", "{{ [] }}", "{{ [[]] }}", "{{ [1,2][0] }}", "{{ {'a':1}['a'] }}", "{{ 'abc'[1] }}", "{{ 1.5.real }}", "{{ 1.real }}", "{{ 'x'|default }}", "{{ ''|default('y', true) }}",
    "{% set x = {'a': 1} %}{% set y = dict(x, b=2) %}{{ y }}{{ x }}", "{% set ns = namespace(s='') %}{% for m in users %}{% set ns.s = ns.s ~ m.name[0] %}{% endfor %}{{ ns.s }}", "{% set ns = namespace() %}{% set ns.self = ns %}{{ ns.self.self is defined }}",
    "{{ range(3) | map('string') | join }}", "{{ users | map(attribute='name') | map('lower') | sort | join(',') }}", "{{ d.items() | map('first') | list }}", "{{ users | selectattr('age', 'gt', 26) | map(attribute='name') | join(',') }}", "{{ users[-1].name }}", "{{ (users | last).name }}", "{{ users | map(attribute='name') | first }}",
    "{% include 'x' %}", "{% extends 'x' %}", "{% import 'x' as y %}", "{% block x %}{% endblock %}", "{% autoescape true %}{% endautoescape %}", "{% trans %}x{% endtrans %}",
)
