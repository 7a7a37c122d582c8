"""Small templates, one for each thing that the engine must render as jinja2 does."""

VARIABLES = {
    "s": "Hello, World", "u": "Ünïcode ß ſ ŉ ﬁ ΑΣ ǆ", "e": "", "ws": "  \t x y\n\u3000", "n": 7, "z": 0, "neg": -3, "f": 2.5, "big": 9007199254740993,
    "t": True, "no": None, "l": [3, 1, 2], "ls": ["b", "A", "c", "a"], "d": {"b": 1, "a": [1, {"x": None}], "items": "mine", "C": "see"},
    "users": [{"name": "Zoe", "age": 30, "on": True}, {"name": "adam", "age": 25, "on": False}, {"name": "Bob", "age": 30, "on": True}],
    "lines": "one\n\ntwo\r\nthree\n", "html": "<a href='x'>\"&\"</a>", "mixed": [1, "1", 1.0, True, None, "x"], "nested": [[1, 2], [3, [4]]],
}

SNIPPETS = []


def add(*sources):
    SNIPPETS.extend(sources)


def prints(text):
    """One expression a line."""
    add(*("{{ " + line.strip() + " }}" for line in text.strip().split("\n") if line.strip()))


prints(r"""
1
1.0
1e3
1e16
1e15
123456789.125
1.5e-7
0.0001
0.00001
1e100
-0.0
0x1F
0b101
0o17
1_000_000
1_0.2_5
2 + 3 * 4
(2 + 3) * 4
7 / 2
8 / 2
7 // 2
-7 // 2
7 // -2
7.5 // 2
-7.5 // 2
7 % 3
-7 % 3
7 % -3
7.5 % 2
-7.5 % 2
5.0 % -3
2 ** 10
2 ** -1
2 ** 3 ** 2
-2 ** 2
2.5 ** 2
4 ** 0.5
1 / 3
2 / 3
10 / 5
0.1 + 0.2
1e300 * 1e10
-1e300 * 1e10
100 * 1.1
3 - -3
- 3
+3
--3
not true
not not 1
true and false
1 and 2
0 and 2
0 or 'x'
'' or none
none or 0
true == 1
1 == 1.0
'1' == 1
none == false
1 != 2
1 < 2 < 3
1 < 3 < 2
3 > 2 >= 2
'a' < 'b'
'a' < 'B'
'abc' <= 'abcd'
[1, 2] < [1, 3]
(1, 2) == [1, 2]
[1, 2] == [1.0, 2]
{'a': 1} == {'a': 1.0}
{'a': 1} != {'b': 1}
1 in [1, 2]
'a' in 'cat'
'' in ''
'x' not in 'cat'
'a' in {'a': 1}
1 in {'a': 1}
1 in (1,)
1.0 in [1]
true in [1]
none in [none]
not 1 in [1]
'a' ~ 1 ~ none ~ 2.0 ~ true
1 ~ 2
'a' 'b' "c"
'a' + 'b' * 3
3 * 'ab'
'ab' * 0
'ab' * -1
[1] + [2]
(1,) + (2,)
[0] * 3
2 * (1, 2)
'%s and %s' % ('a', 'b')
'%s' % 'x'
'%s' % [1, 2]
'%d items' % 3
'%5d|%-5d|%05d' % (42, 42, 42)
'%.2f %5.1f %e' % (3.14159, 2.25, 12345.678)
'%x %X %o %#x' % (255, 255, 8, 255)
'%r %s' % ('a', 'a')
'%%' % ()
'%(a)s-%(b)d' % {'a': 'x', 'b': 2}
'%s' % none
'%+d % d' % (3, 3)
'%5s|%-5s|%.2s' % ('ab', 'ab', 'abcdef')
'%c' % 'x'
'%s %s' % (1,)
'%s' % (1, 2)
'%d' % 'x'
'%g %g %g' % (0.0001, 100000.0, 1e10)
'%i' % 3.9
n
f
z
neg
big
t
no
l
d
mixed
nested
users
undefined_thing
undefined_thing.attribute
undefined_thing['x']
undefined_thing + 1
undefined_thing + 'a'
'a' + undefined_thing
undefined_thing == other_undefined
undefined_thing == none
undefined_thing < 1
undefined_thing()
undefined_thing ~ 'x'
undefined_thing | length
undefined_thing | list
undefined_thing | upper
undefined_thing | trim
undefined_thing | default('x')
undefined_thing | d
undefined_thing | join(',')
undefined_thing | first
undefined_thing | last
undefined_thing | tojson
undefined_thing | int
undefined_thing | string
undefined_thing | e
-undefined_thing
not undefined_thing
undefined_thing is defined
undefined_thing is undefined
undefined_thing in [1]
1 in undefined_thing
[undefined_thing]
d.missing
d.missing.deeper
d['missing']
l[10]
l[-4]
l['x']
l.x
s.x
n.x
no.x
no['x']
n[0]
l[none]
true.x
s | nofilter
s is notest
[1, 2.0, 'a', none, true, (1,), (), [], {}, {'k': 'v'}]
(1, 2, 3)
(1,)
()
(1)
1, 2
[1, 2,]
{'a': 1, 2: 'b', none: 3, 1.5: 4, true: 5}
{'a': 1,}
{'a': 1, 'a': 2}
{(1, 2): 3}
{[1]: 2}
{1: 'a', 1.0: 'b', true: 'c'}
'it\'s'
"it's"
'say "hi"'
["it's", 'say "hi"', 'both \' and "']
['\n\t\r\\', '\x00\x7f', 'é', '\u200b', '\U0001F600', '\xa0', '\xad']
'\x41\u00e9\U0001F600\101\q\
z'
'\\n'
'a\nb'
"tab\tq\"uote"
'unterminated
'\xZZ'
'\u12'
s[0]
s[-1]
s[1:4]
s[:-7]
s[::2]
s[::-1]
s[-3:]
s[3:1]
s[10:1:-3]
s[100:]
s[-100:100]
s[::0]
u[0]
u[1:3]
u[::-1]
l[0]
l[-1]
l[true]
l[0:2]
l[::-1]
l[1:]
l[:-1]
l[5:]
(1, 2, 3)[::2]
range(10)[2:8:2] | list
range(10)[::-1] | list
range(3)
range(1, 9, 3)
range(3) | list
range(5, 0, -2) | list
range(0) | list
range(3)[1]
range(3)[-1]
range(3)[7]
range(3) | length
range(3) == range(0, 3)
range('a')
range()
range(1, 2, 0)
range(100000) | length
range(100001) | length
range(900000000)
no[1:]
d[1:]
n[1:]
l['a':]
nested[1][1][0]
d.a[1].x
d['a'][1]['x']
d.b
d.items
d['items']
d.items()
d.keys()
d.values()
d.items() | list
d.keys() | list
d.values() | list | length
d.get('b')
d.get('nope')
d.get('nope', 5)
d.get('items')
d.get(1)
d.pop('b')
d.update({})
d.clear
l.append(1)
l.sort
l.index(1)
l.index(99)
l.count(1)
(1, 2, 1).count(1)
d | length
d | list
d | first
d | last
d | items | list
d | tojson
d.__class__
s.__class__.__mro__
d['__class__']
''.__class__
s | attr('upper')
l.0
l.1.x
users.0.name
users[0].name
users[0]['name']
'yes' if t else 'no'
'yes' if no else 'no'
'yes' if no
('yes' if no) is undefined
1 if 0 else 2 if 0 else 3
'a' if 1 else 'b' ~ 'c'
(1 if true else 2) + 3
s.upper()
s.lower()
s.title()
s.capitalize()
u.upper()
u.lower()
u.title()
u.capitalize()
'ΑΣ ΑΣΑ Σ'.lower()
'they\'re bill\'s'.title()
'İ'.lower()
'ŉ ǰ ΐ'.upper()
'ᾳ ᾼ ᾷ ﬀ'.title()
s.strip()
ws.strip()
ws.lstrip()
ws.rstrip()
'xxhixx'.strip('x')
'abcba'.strip('ab')
'\n\nx\n'.lstrip('\n')
'éxé'.strip('é')
s.split()
s.split(', ')
s.split('o')
s.split('o', 1)
s.split('zzz')
s.split(None, 1)
s.split('')
' a  b c '.split()
' a  b c '.split(none, 1)
' a  b c '.split(' ')
' a  b c '.rsplit(none, 1)
'a,b,c'.rsplit(',', 1)
'a,b,c'.rsplit(',')
'a--b--c'.split('--')[-1]
''.split()
''.split(',')
'a,b'.split(sep=',')
'a b c'.split(maxsplit=1)
lines.splitlines()
lines.splitlines(true)
'a\x0bb\x0cc\x1cd\u2028e\x85f'.splitlines()
''.splitlines()
'\n'.splitlines()
s.startswith('Hell')
s.startswith(('x', 'H'))
s.startswith('e', 1)
s.endswith('World')
s.endswith('')
s.endswith(('x', 'y'))
s.startswith(1)
s.replace('o', '0')
s.replace('o', '0', 1)
s.replace('', '-')
'aaa'.replace('aa', 'b')
''.replace('', 'x')
'ab'.replace('', '-', 2)
s.find('o')
s.find('zz')
s.find('o', 5)
s.find('o', -5)
s.find('', 3)
s.rfind('o')
s.rfind('o', 0, 5)
u.find('c')
s.index('W')
s.index('zz')
s.count('l')
s.count('')
'aaaa'.count('aa')
', '.join(['a', 'b'])
''.join([])
'-'.join('abc')
', '.join([1, 2])
'-'.join({'a': 1, 'b': 2})
'{} {}'.format('a', 1)
'{1} {0}'.format('a', 'b')
'{x} {y!r}'.format(x=1, y='q')
'{0[name]} {0.name}'.format({'name': 'N'})
'{:>5}|{:<5}|{:^5}|{:*^7}'.format('a', 'b', 'c', 'd')
'{:05d}|{:,}|{:+}|{:x}|{:#x}|{:b}'.format(42, 1234567, 3, 255, 255, 5)
'{:.2f}|{:8.3f}|{:e}|{:%}|{:.0%}'.format(3.14159, 2.5, 1500.0, 0.25, 0.5)
'{{}} {}'.format(1)
'{}'.format(none)
'{}'.format(1.0)
'{}'.format([1])
'{} {}'.format(1)
'{0.__class__}'.format(1)
'{:d}'.format('x')
'{:.3}'.format('abcdef')
'{:10}|'.format(3)
'{:10}|'.format('x')
'{:<4}|{:^4}|'.format(1, 2)
'123'.isdigit()
'１２'.isdigit()
'²'.isdigit()
'12a'.isdigit()
''.isdigit()
'abc'.isalpha()
'ab1'.isalnum()
'a_'.isalnum()
' \t'.isspace()
'abc'.islower()
'aBc'.islower()
'ABC1'.isupper()
'1'.isupper()
'x'.encode()
'x'.nomethod()
'x'.swapcase()
'7'.zfill(3)
'-7'.zfill(4)
'x'.center(5) ~ '|'
'x'.center(4) ~ '|'
'xy'.center(5, '*')
'x'.ljust(3) ~ '|'
'x'.rjust(3, '.')
'a.b.c'.partition('.')
'a.b.c'.rpartition('.')
'abc'.partition('.')
'abc'.rpartition('.')
'prefix-x'.removeprefix('prefix-')
'x.py'.removesuffix('.py')
'x.py'.removesuffix('')
s | upper
s | lower
s | title
s | capitalize
'hello-world (foo) [bar] {baz} <q> it\'s' | title
'ßa' | title
s | length
s | count
u | length
s | reverse
s | first
s | last
'' | first
'' | last
s | list
s | string
n | string | length
s | trim
ws | trim
'xxhixx' | trim('x')
n | trim
none | trim
none | upper
s | replace('o', '0')
s | replace('o', '0', 1)
s | replace('', '.')
123 | replace(2, 'x')
lines | indent
lines | indent(2)
lines | indent(2, true)
lines | indent(2, false, true)
lines | indent('> ', first=true, blank=true)
'x' | indent
'' | indent(2, true)
n | indent
'foo bar baz qux' | truncate(9)
'foo bar baz qux' | truncate(9, true)
'foo bar baz qux' | truncate(11)
'foo bar baz qux' | truncate(11, false, '...', 0)
'foo bar baz qux' | truncate(3, leeway=0)
'foo bar baz qux' | truncate(2, leeway=0)
s | wordcount
'it\'s a-b c_d é1' | wordcount
html | e
html | escape
html | safe
(html | safe) + '<'
'<' + (html | e)
html | e | e
html | e ~ '<'
'%s!' | format('a')
'%s %(x)s' | format('a')
'%(x)s' | format(x=3)
l | sort
l | sort(reverse=true)
ls | sort
ls | sort(case_sensitive=true)
ls | sort(true)
users | sort(attribute='name') | map(attribute='name') | list
users | sort(attribute='age,name') | map(attribute='name') | list
users | sort(reverse=true, attribute='age') | map(attribute='name') | list
mixed | sort
d | sort
d | dictsort
d | dictsort(true)
{'b': 1, 'a': 2} | dictsort(by='value')
{'b': 1, 'a': 2} | dictsort(reverse=true)
d | dictsort(by='value')
l | first
l | last
[] | first
[] | last
[] | first is undefined
l | reverse | list
d | reverse | list
l | reverse
l | max
l | min
[] | max
ls | max
ls | min(case_sensitive=true)
users | max(attribute='age')
users | min(attribute='age') | string
l | sum
[] | sum
[1, 2.5] | sum
users | sum(attribute='age')
[[1], [2]] | sum(start=[])
['a'] | sum
l | sum(start=10)
l | join
l | join(', ')
mixed | join('|')
users | join(', ', attribute='name')
s | join('-')
d | join(',')
[none, true] | join(',')
ls | unique | list
[1, 1.0, true, 2] | unique | list
['a', 'A', 'b'] | unique | list
['a', 'A', 'b'] | unique(true) | list
users | unique(attribute='age') | map(attribute='name') | list
ls | map('upper') | list
ls | map('replace', 'a', 'x') | list
users | map(attribute='name') | join(' ')
users | map(attribute='nope') | list
users | map(attribute='nope', default='?') | list
nested | map(attribute=0) | list
nested | map(attribute='1') | list
nested | map('first') | list
ls | map
l | map('nofilter') | list
l | select | list
[0, 1, '', 'a', none] | select | list
l | select('odd') | list
l | select('gt', 1) | list
l | select('>', 1) | list
l | reject('odd') | list
[0, 1, ''] | reject | list
ls | select('equalto', 'a') | list
ls | select('in', ['a', 'b']) | list
users | selectattr('on') | map(attribute='name') | list
users | selectattr('age', 'equalto', 30) | map(attribute='name') | list
users | selectattr('age', '==', 30) | list | length
users | rejectattr('on') | map(attribute='name') | list
users | rejectattr('name', 'in', ['Bob']) | map(attribute='name') | list
users | selectattr('nope', 'defined') | list
users | selectattr('nope') | list
l | select('notest') | list
l | map('string') | select('string') | list | length
(l | map('string')) is string
(l | select) | length
l | batch(2) | list
l | batch(2, 'x') | list
l | slice(2) | list
l | slice(2, 'x') | list
range(10) | slice(3) | list
range(10) | batch(4) | map('list') | list
l | list
d | list
(1, 2) | list
n | list
none | list
5 | length
none | length
s | default('x')
e | default('x')
e | default('x', true)
none | default('x')
none | default('x', boolean=true)
d.missing | default('x')
d.missing | default
z | d(1)
z | d(1, true)
'42' | int
' 42 ' | int
'4_2' | int
'42.9' | int
'x' | int
'x' | int(7)
'ff' | int(base=16)
'0xff' | int(0, 16)
'0xff' | int
'101' | int(0, 2)
'-0b11' | int(0, 0)
'' | int
none | int
true | int
2.9 | int
-2.9 | int
'1e3' | int
[] | int(5)
'3.5' | float
' 3.5 ' | float
'x' | float
'x' | float(1.5)
'1e5' | float
'inf' | float
'nan' | float
'-.5' | float
'5.' | float
7 | float
none | float
-5 | abs
-5.5 | abs
'x' | abs
2.5 | round
3.5 | round
2.675 | round(2)
42.55 | round(1, 'floor')
42.55 | round(1, 'ceil')
42.5 | round(0, 'ceil')
42 | round
42 | round(2)
1234.5 | round(-2)
1250 | round(-2)
1e20 | round
-2.5 | round | int
1.005 | round(2)
2.5 | round(0, 'bad')
'x' | round
l | tojson
s | tojson
no | tojson
t | tojson
f | tojson
1e22 | tojson
1.0 | tojson
html | tojson
u | tojson
u | tojson(ensure_ascii=true)
'\U0001F600\x7f' | tojson(ensure_ascii=true)
'\x00\x1f\x7f\n\t\r\x08\x0c"\\/' | tojson
[] | tojson
{} | tojson
[] | tojson(indent=2)
{'a': [], 'b': {}} | tojson(indent=2)
d | tojson(indent=2)
d | tojson(indent=4)
d | tojson(indent=0)
d | tojson(indent='\t')
{'b': 1, 'a': 2} | tojson(sort_keys=true)
d | tojson(separators=(',', ':'))
d | tojson(separators=(',', ':'), indent=1)
{1: 2, true: 3, none: 4, 1.5: 5} | tojson
{(1, 2): 3} | tojson
(1, 'a') | tojson
range(3) | tojson
[undefined_thing] | tojson
'nan' | float | tojson
d | tojson | length
n is number
f is number
t is number
s is number
n is integer
t is integer
f is integer
f is float
n is float
s is string
n is string
l is sequence
s is sequence
d is sequence
n is sequence
range(3) is sequence
l is iterable
n is iterable
undefined_thing is iterable
d.items() is iterable
d.items() is sequence
l is mapping
d is mapping
t is boolean
n is boolean
t is true
n is true
false is false
z is false
no is none
n is none
no is not none
none is defined
n is odd
n is even
n is divisibleby 7
n is divisibleby(2)
n is eq 7
n is equalto(7)
n is ne 8
n is lt 8
n is le(7)
n is gt 6
n is ge 8
n is lessthan(8)
n is greaterthan 8
n is in [7]
n is not in [8]
'a' is in 'cat'
s is lower
'abc' is lower
'ABC' is upper
5 is upper
'upper' is filter
'nofilter' is filter
'odd' is test
'notest' is test
t is sameas true
n is sameas 7
1 is sameas true
no is sameas none
s is callable
range is callable
namespace is callable
s.upper is callable
html is escaped
html | e is escaped
s is string and n is number
not s is string
s is not string
n is odd or n is even
n is divisibleby 7 and t
x is defined
x is defined and x.y
x is not defined or x.y
s is string is string
namespace(a=1).a
namespace(a=1).b
namespace({'a': 2}, b=3).b
namespace(_x=1)
namespace(a=1)
dict(a=1, b='x')
dict({'a': 1}, b=2)
dict([('a', 1)])
dict(**{'q': 1})
cycler('a', 'b').next()
cycler()
joiner()()
strftime_now('%Y-%m-%d %H:%M:%S')
strftime_now('%d %b %Y, %A %B %a %j %y %I%p %%')
strftime_now('%-d/%-m')
raise_exception('stop ' ~ s)
raise_exception()
lipsum()
s s
s +
(s
s)
[1, 2
{'a' 1}
{'a': 1
1 +* 2
s.
s[
s[1:2:3:4]
s | 
s is
@
a.b.c.d
foo(1=2)
dict(a=1, 2)
range(*[1, 4]) | list
range(*[1], *[2])
'{a}'.format(**{'a': 1})
dict(a=1, **{'a': 2})
""")

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
