"""What a line of bash consists of: every simple command in it, with its words, and every file that it redirects to.

It knows the grammar, by tree-sitter-bash. It must never know what a command does. Where bash could read the text in
another way than the grammar does, or the text says only at run time what runs, the reading says that it is unclear.
Nothing here raises for a text, whatever it is.
"""

from __future__ import annotations

import re
from dataclasses import field
from functools import cache

import tree_sitter
import tree_sitter_bash

from perdure.kernel.pattern import pattern
from perdure.kernel.value import record, value

LONGEST = 100_000
"""Characters of a command that is read; a longer one is unclear."""
DEEPEST = 60
"""Levels of nesting that are read."""


def _words(text: str) -> list[str]:
    """A list that reads better as one line of words."""
    return text.split()


_INSIDE = frozenset(
    _words(
        "program list pipeline subshell compound_statement do_group if_statement elif_clause else_clause "
        "while_statement for_statement case_statement case_item negated_command redirected_statement "
        "command_substitution process_substitution variable_assignments string concatenation array heredoc_body"
    )
)
"""Nodes that do nothing but hold others."""
_LEAVES = frozenset(
    _words(
        "comment word number raw_string ansi_c_string variable_name string_content heredoc_content heredoc_end "
        "heredoc_start file_descriptor test_operator extglob_pattern regex special_variable_name simple_expansion"
    )
)
_REPEATED = frozenset({"for_statement", "while_statement", "function_definition"})
_NAMED = pattern(r"\$\{?(HOME|PWD)\}?")
_DELIMITER = pattern(r"""(['"]?)([A-Za-z_][A-Za-z0-9_]*)\1""")
_NUMERIC_TESTS = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R"})
_FILE_TESTS = frozenset(f"-{letter}" for letter in "abcdefghkprswxGLNOS")
"""Tests that look at a file (bash 5.2, "Bash Conditional Expressions")."""
_WHOLE = pattern(r"-?\d+")
_JOINED_LINE = pattern(r"[^ \t\n]\\\n")
_CONTROL = pattern(r"[\x00-\x08\x0b-\x1f\x7f]")
_ODD_SPACE = pattern(r"[^\S \t\n]")


@value
class Word:
    """One word of a command."""

    text: str
    """What the command gets. Where `known` is False, as it is written."""
    known: bool = True
    """Whether the text is what the command gets, but for a pattern or a leading tilde that the shell expands."""
    pattern: bool = False
    """An unquoted `*`, `?` or `[` stands in it."""
    tilde: bool = False
    """An unquoted tilde leads it, or leads what follows an equals sign."""
    home: str = ""
    """`HOME` or `PWD` where the word begins with that variable; `text` is what follows it."""


@value
class Simple:
    """A simple command."""

    words: tuple[Word, ...]
    """The name first; empty where variables are set and nothing runs."""
    assigned: tuple[tuple[str, Word], ...] = ()
    """Variables that it sets, for itself or from then on."""
    repeated: bool = False
    """It stands in a loop or a function."""


@value
class Redirect:
    """A file that the shell itself opens."""

    target: Word
    writes: bool


@value
class Script:
    """What a text does when bash runs it."""

    parts: tuple[Simple | Redirect, ...] = ()
    """In the order of the text."""
    unclear: tuple[str, ...] = ()
    """Why not everything that it does can be told; empty where it can."""


def read_script(text: str) -> Script:
    """Read a text as bash would. Raises nothing."""
    if (odd := _odd(text)) is not None:
        return Script(unclear=(odd,))
    try:
        source = text.encode()
    except UnicodeEncodeError:
        return Script(unclear=("it has a character that no file can hold",))
    root = tree_sitter.Parser(_bash()).parse(source).root_node
    reading = _Reading()
    if root.has_error:
        reading.unclear.append("it is no bash that can be read for certain")
    reading.inside(root, 0, repeated=False)
    return Script(parts=tuple(reading.parts), unclear=tuple(dict.fromkeys(reading.unclear)))


def _odd(text: str) -> str | None:
    """What makes bash and the grammar divide a text differently."""
    if len(text) > LONGEST:
        return f"it has more than {LONGEST:,} characters"
    if _CONTROL.search(text) or _ODD_SPACE.search(text):
        return "it has control characters or spaces that shells read differently"
    if _JOINED_LINE.search(text):
        return "a word goes on behind the end of a line"
    return None


@record()
class _Reading:
    """What was found so far. It grows while the tree is walked, and ends with it."""

    parts: list[Simple | Redirect] = field(default_factory=list[Simple | Redirect])
    unclear: list[str] = field(default_factory=list[str])

    def inside(self, node: tree_sitter.Node, depth: int, *, repeated: bool) -> None:
        if depth > DEEPEST:
            self.unclear.append("it is nested too deeply")
            return
        for child in node.named_children:
            self.node(child, depth + 1, repeated=repeated or node.type in _REPEATED)

    def node(self, node: tree_sitter.Node, depth: int, *, repeated: bool) -> None:
        match node.type:
            case "command" | "declaration_command" | "unset_command" | "variable_assignment":
                self.simple(node, depth, repeated=repeated)
            case "file_redirect":
                self.redirect(node)
                self.inside(node, depth, repeated=repeated)
            case "heredoc_redirect":
                self.here_document(node)
                self.inside(node, depth, repeated=repeated)
            case "function_definition":
                self.unclear.append("it defines a function")
                self.inside(node, depth, repeated=True)
            case "herestring_redirect":
                self.inside(node, depth, repeated=repeated)
            case "test_command":
                self.test(node, depth, repeated=repeated)
            case "expansion":
                self.expansion(node)
                self.inside(node, depth, repeated=repeated)
            case "compound_statement" if node.children[0].type == "((":
                self.unclear.append("it computes with names, whose values may run something")
                self.inside(node, depth, repeated=repeated)
            case "string":
                if _expands(_between(node)):
                    self.unclear.append("it has a substitution that cannot be read")
                self.inside(node, depth, repeated=repeated)
            case kind if kind in _LEAVES:
                self.leaf(node)
            case kind:
                if kind not in _INSIDE:
                    self.unclear.append(_named(kind))
                self.inside(node, depth, repeated=repeated)

    def simple(self, node: tree_sitter.Node, depth: int, *, repeated: bool) -> None:
        words: list[Word] = []
        assigned: list[tuple[str, Word]] = []
        if node.type in ("declaration_command", "unset_command"):
            words.append(Word(text=_text(node.children[0])))
        for child in [node] if node.type == "variable_assignment" else node.named_children:
            match child.type:
                case "variable_assignment":
                    name, value = child.child_by_field_name("name"), child.child_by_field_name("value")
                    assigned.append((_text(name), word_of(value) if value else Word(text="")))
                case "command_name":
                    words.append(word_of(child.named_children[0]) if child.named_children else Word(text=_text(child)))
                case "file_redirect" | "herestring_redirect" | "heredoc_redirect" | "comment":
                    pass
                case _:
                    words.append(word_of(child))
        self.parts.append(Simple(words=tuple(words), assigned=tuple(assigned), repeated=repeated))
        for child in node.named_children:
            match child.type:
                case "variable_assignment" | "command_name" | "subscript":
                    self.inside(child, depth + 1, repeated=repeated)
                    if child.type == "subscript" or any(one.type == "subscript" for one in child.named_children):
                        self.unclear.append("it sets a member of an array")
                case _:
                    self.node(child, depth + 1, repeated=repeated)

    def redirect(self, node: tree_sitter.Node) -> None:
        targets = node.children_by_field_name("destination")
        operator = next((child.type for child in node.children if not child.is_named), "")
        if len(targets) != 1:
            self.unclear.append("words follow the file that it redirects to")
        for target in targets:
            word = word_of(target)
            if operator in (">&", "<&") and (word.text == "-" or word.text.rstrip("-").isdigit()):
                continue
            if target.type != "process_substitution":
                self.parts.append(Redirect(target=word, writes=operator not in ("<", "<&")))

    def here_document(self, node: tree_sitter.Node) -> None:
        start = next((_text(child) for child in node.children if child.type == "heredoc_start"), "")
        inner = next((child for child in node.children if child.type == "heredoc_body"), None)
        body = _text(inner)
        end = next((_text(child) for child in node.children if child.type == "heredoc_end"), "")
        matched = _DELIMITER.fullmatch(start)
        lines = [line.strip("\t") for line in body.splitlines()]
        if matched is None or matched[2] in lines or end.strip() != matched[2]:
            self.unclear.append("nobody can tell for certain where a here-document ends")
        elif not matched[1] and ("\\" in body or "$((" in body or "$[" in body or _expands(_between(inner))):
            self.unclear.append("a here-document has text that the shell expands")

    def test(self, node: tree_sitter.Node, depth: int, *, repeated: bool) -> None:
        """`[[ x -eq y ]]` evaluates both sides, where a subscript may run a command."""
        words = [word for word in _text(node).split() if word not in ("[", "]", "[[", "]]", "!")]
        if any(word in _NUMERIC_TESTS for word in words) and not all(
            word in _NUMERIC_TESTS or _WHOLE.fullmatch(word) for word in words
        ):
            self.unclear.append("a test evaluates what it compares")
        for child in node.named_children:
            self.tested(child, depth + 1, repeated=repeated)

    def tested(self, node: tree_sitter.Node, depth: int, *, repeated: bool) -> None:
        if node.type == "unary_expression" and _text(node.children[0]) in _FILE_TESTS:
            operand = node.children[-1]
            # The grammar takes a tilde there for an operator.
            tilde = operand.type == "unary_expression" and _text(operand).startswith("~")
            word = _unquoted(_text(operand)) if tilde else word_of(operand)
            if word.known and not word.pattern:
                self.parts.append(Redirect(target=word, writes=False))
        if node.type in ("binary_expression", "unary_expression", "parenthesized_expression") and depth <= DEEPEST:
            for child in node.named_children:
                self.tested(child, depth + 1, repeated=repeated)
        else:
            self.node(node, depth, repeated=repeated)

    def expansion(self, node: tree_sitter.Node) -> None:
        operators = [child.type for child in node.children if not child.is_named]
        if any(one not in ("${", "}", ":-", ":+", "-", "+", "#", "##", "%", "%%", ":?", "?") for one in operators):
            self.unclear.append("it changes a variable, or evaluates it, while it expands it")

    def leaf(self, node: tree_sitter.Node) -> None:
        text = _text(node)
        if node.type == "simple_expansion" and text == "$_":
            self.unclear.append("it uses `$_`")
        if node.type in ("word", "string_content") and ("$(" in _unescaped(text) or "`" in _unescaped(text)):
            self.unclear.append("it has a substitution that cannot be read")
        if node.is_missing:
            self.unclear.append("it is not complete")


@cache
def _bash() -> tree_sitter.Language:
    return tree_sitter.Language(tree_sitter_bash.language())


def word_of(node: tree_sitter.Node) -> Word:
    """A word as its command gets it, as far as that can be told."""
    source = _text(node)
    match node.type:
        case "raw_string":
            return Word(text=source[1:-1])
        case "number":
            return Word(text=source)
        case "word":
            return _unquoted(source)
        case "ansi_c_string":
            return Word(text=source[2:-1] if "\\" not in source else source, known="\\" not in source)
        case "string":
            return _double_quoted(node, source)
        case "simple_expansion" | "expansion" if (matched := _NAMED.fullmatch(source)) is not None:
            return Word(text="", home=matched[1])
        case "concatenation":
            return _joined(node, source)
        case _:
            return Word(text=source, known=False)


def _double_quoted(node: tree_sitter.Node, source: str) -> Word:
    if any(child.type != "string_content" for child in node.named_children):
        inner = node.named_children[0]
        matched = _NAMED.fullmatch(_text(inner))
        rest = source[1 + len(_text(inner)) : -1]
        if matched is not None and source[1:].startswith(_text(inner)) and not re.search(r"[$`\\]", rest):
            return Word(text=rest, home=matched[1])
        return Word(text=source, known=False)
    return Word(text=re.sub(r'\\(["\\$`\n])', r"\1", source[1:-1]))


def _joined(node: tree_sitter.Node, source: str) -> Word:
    if source == "{}":
        return Word(text="{}")
    parts = [word_of(child) for child in node.children]
    braces = any(child.type == "word" and re.search(r"(?<!\\)[{}]", _text(child)) for child in node.children)
    if braces and ("," in source or ".." in source):
        return Word(text=source, known=False)
    if any(not part.known or (part.home and number) for number, part in enumerate(parts)):
        return Word(text=source, known=False)
    # A gap that the tree has no node for would be lost.
    if sum(len(_text(child)) for child in node.children) != len(source):
        return Word(text=source, known=False)
    return Word(
        text="".join(part.text for part in parts),
        pattern=any(part.pattern for part in parts),
        tilde=parts[0].tilde or ("=~" in source),
        home=parts[0].home,
    )


def _unquoted(source: str) -> Word:
    if re.search(r"(?<!\\)\{.*(,|\.\.)", source):
        return Word(text=source, known=False)
    text = _unescaped(source, keep=True)
    bare = _unescaped(source)
    return Word(
        text=text,
        pattern=any(sign in bare for sign in "*?["),
        tilde=bare.startswith("~") or "=~" in bare or ":~" in bare,
    )


def _between(node: tree_sitter.Node | None) -> str:
    """What of a quoted text the tree takes for text or leaves out: the grammar loses a substitution behind blanks."""
    if node is None or node.text is None:
        return ""
    text, start = bytearray(node.text), node.start_byte
    for child in node.named_children:
        if child.type not in ("heredoc_content", "string_content"):
            text[child.start_byte - start : child.end_byte - start] = bytes(child.end_byte - child.start_byte)
    return text.decode(errors="replace")


def _expands(text: str) -> bool:
    bare = _unescaped(text)
    return "`" in bare or "$(" in bare or "${" in bare


def _unescaped(source: str, *, keep: bool = False) -> str:
    """Without backslashes; what stood behind them is kept, or left out."""
    return re.sub(r"\\(.)", r"\1" if keep else "", source, flags=re.DOTALL)


def _text(node: tree_sitter.Node | None) -> str:
    return node.text.decode() if node is not None and node.text is not None else ""


def _named(kind: str) -> str:
    return "it cannot be read to the end" if kind == "ERROR" else f"it has a part that is not judged ({kind})"
