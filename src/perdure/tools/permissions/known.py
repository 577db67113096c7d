"""Commands that are known to change nothing, and the options that make such a command do more.

It knows words of commands, from their manuals (GNU coreutils 9, git 2.50, ripgrep 15, findutils 4.10). It must never
know rules, paths or modes. A command that is not here is asked about.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from perdure.kernel.pattern import pattern
from perdure.kernel.value import value


def _words(text: str) -> list[str]:
    """A list that reads better as one line of words."""
    return text.split()


@value
class Known:
    """One command."""

    hazards: tuple[str, ...] = ()
    """Options by which it writes, or runs something. A long one counts in its short spellings too."""
    operands: int = 1_000
    """How many operands it only reads; a further one is a file that it writes."""
    pattern: bool = False
    """Its first operand is no file, but a pattern or a program."""
    paths: bool = True
    """Whether its words may be files at all."""


_PLAIN = Known()
_NO_FILES = Known(paths=False)

READ_ONLY: Mapping[str, Known] = {
    **dict.fromkeys(
        _words(
            "cat head tail wc ls pwd which type basename dirname realpath readlink stat du df diff cmp comm cut nl tac "
            "rev fold paste join expand unexpand md5sum sha1sum sha256sum sha512sum b2sum cksum od strings cd"
        ),
        _PLAIN,
    ),
    **dict.fromkeys(_words("echo true false : seq sleep id whoami uname uptime nproc free tr"), _NO_FILES),
    "printf": Known(hazards=("-v",), paths=False),
    "test": Known(hazards=("-v", "-R")),
    "[": Known(hazards=("-v", "-R")),
    "file": Known(hazards=("-C", "--compile")),
    "uniq": Known(operands=1),
    "xxd": Known(operands=1),
    "date": Known(hazards=("-s", "--set")),
    "hostname": Known(operands=0, hazards=("-F", "-b", "--file", "--boot")),
    "sort": Known(hazards=("-o", "--output", "--compress-program", "-T", "--temporary-directory", "--files0-from")),
    "tree": Known(hazards=("-o", "-R", "--output")),
    "grep": Known(pattern=True),
    "egrep": Known(pattern=True),
    "fgrep": Known(pattern=True),
    "rg": Known(hazards=("--pre", "--hostname-bin", "-z", "--search-zip"), pattern=True),
    "jq": Known(hazards=("-f", "--from-file", "-L"), pattern=True),
    "sed": Known(hazards=("-i", "--in-place", "-f", "--file", "-e", "--expression", "-s"), pattern=True),
    "awk": Known(
        hazards=tuple(
            _words(
                "-f --file -i --include -l --load -E --exec -e -W -o --pretty-print -p --profile -d --dump-variables "
                "-D --debug"
            )
        ),
        pattern=True,
    ),
    "fd": Known(hazards=("-x", "-X", "--exec", "--exec-batch"), pattern=True),
    "find": Known(),
}
"""By name."""

FIND_HAZARDS = frozenset(
    {"-delete", "-fprint", "-fprint0", "-fprintf", "-fls", "-ok", "-okdir", "-exec", "-execdir", "-files0-from"}
)
VERSIONS = frozenset(
    _words(
        "python python3 node npm npx pnpm yarn cargo rustc go gcc g++ clang make cmake java pip pip3 uv ruff pytest "
        "git docker rg fd jq bash ruby perl php"
    )
)
GIT_PLAIN = frozenset(
    _words(
        "status log diff show rev-parse ls-files ls-tree blame shortlog describe merge-base rev-list name-rev "
        "for-each-ref cat-file grep diff-tree show-ref count-objects whatchanged check-ignore"
    )
)
GIT_GLOBAL = frozenset({"--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs"})
GIT_HAZARDS = ("--output", "--ext-diff", "--textconv", "--filters", "--exec", "--open-files-in-pager", "--parseopt")
GIT_LISTS: Mapping[str, frozenset[str]] = {
    "branch": frozenset(_words("-a -r -v -vv --all --remotes --list --show-current --verbose")),
    "tag": frozenset(_words("-l --list -n")),
    "remote": frozenset(_words("-v --verbose")),
    "stash": frozenset({"list"}),
    "worktree": frozenset({"list"}),
    "reflog": frozenset({"show"}),
    "config": frozenset(_words("-l --list --show-origin --local --global")),
}
"""Commands of git that only list, as long as these are all their words."""
SETTINGS = frozenset(_words("-e -u -x -eu -ex -eux -euo -exo -euxo -o pipefail errexit nounset xtrace +e +x +u"))
"""Words of `set` that change how a script fails, and nothing else."""
_RUNS = ("-exec", "-execdir", "-ok", "-okdir")
READS_BELOW = frozenset(_words("rg ag ack tar bsdtar zip 7z rsync scp diff"))
"""Commands that read all of a folder; `grep`, `cp` and `git` do so with an option."""
ELSEWHERE = "git obeys the configuration of the folder that the command goes to"

_SED = pattern(
    r"(\d+|\$|/[^/]*/)?(,(\d+|\$|/[^/]*/|\+\d+))?[pdq=]?|s([/|#,:])((?!\4)[^\\\n]|\\.)*\4((?!\4)[^\\\n]|\\.)*\4[gpiI\d]*"
)
_AWK = pattern(r"system|getline|[|>@]|printf?\s*>|close\s*\(|ARGV|\\x|\\0")
_JQ = pattern(r"\b(import|include)\b")


def hazard_of(words: Sequence[str]) -> str:
    """What makes a known command do more than its name says; empty where nothing does, or the command is unknown."""
    if not words:
        return ""
    name, rest = name_of(words[0]), words[1:]
    if name == "git":
        return _hazard_of_git(rest)
    known = READ_ONLY.get(name)
    if known is None:
        return ""
    if name == "find":
        return next((f"`find {word}`" for word in rest if word in FIND_HAZARDS), "")
    found = _option(rest, known.hazards)
    if found:
        return f"`{name} {found}`"
    operands = [word for word in rest if word == "-" or not word.startswith(("-", "+"))]
    if len(operands) > known.operands:
        return f"the file that `{name}` writes"
    if name == "sed" and operands and not _SED.fullmatch(operands[0]):
        return "a program of `sed` that may write or run something"
    if name == "awk" and any(_AWK.search(word) for word in rest):
        return "a program of `awk` that may write or run something"
    if name == "jq" and any(_JQ.search(word) for word in rest):
        return "a program of `jq` that reads other files"
    return ""


def is_quiet(words: Sequence[str]) -> bool:
    """Whether a command is known to change nothing, with these words."""
    if not words or hazard_of(words):
        return False
    name, rest = name_of(words[0]), words[1:]
    if len(rest) == 1 and rest[0] in ("--version", "-V") and name in VERSIONS:
        return True
    if name == "git":
        return _quiet_git(rest)
    if name == "command":
        # `command -v`: what a name means. Without the option it runs the name, which is judged by itself.
        return len(rest) > 1 and rest[0] in ("-v", "-V")
    if name == "set":
        return bool(rest) and all(word in SETTINGS for word in rest)
    return name in READ_ONLY or (name == "go" and list(rest) == ["version"])


def name_of(word: str) -> str:
    """The name of a program of the system; one that lies elsewhere keeps its path."""
    return re.sub(r"^(/usr)?/bin/(?=[^/]+$)", "", word)


def operands_to_judge(words: Sequence[str]) -> Sequence[str]:
    """The arguments that may be files. A pattern that a known command looks for is none, nor is what `echo` says."""
    name = name_of(words[0]) if words else ""
    known = READ_ONLY.get(name)
    if name in ("sudo", "doas"):
        # What they run is judged by itself.
        return ()
    if name == "find":
        return _of_find(words[1:])
    if known is None:
        return words[1:]
    if not known.paths:
        return ()
    rest = list(words[1:])
    if known.pattern and not _option(rest, ("-e", "-f", "--regexp", "--file")):
        first = next((place for place, word in enumerate(rest) if not word.startswith("-")), None)
        if first is not None and (first == 0 or not _takes_value(rest[first - 1])):
            del rest[first]
    return rest


def _of_find(rest: Sequence[str]) -> Sequence[str]:
    """The words of `find` itself, without the commands that it runs, which are judged by themselves."""
    kept: list[str] = []
    running = False
    for word in rest:
        running = running or word in _RUNS
        if not running:
            kept.append(word)
        running = running and word not in (";", "+")
    return kept


def reads_below(words: Sequence[str]) -> bool:
    """Whether a command reads everything in the folders that it names, or in the one that it works in."""
    if not words:
        return False
    name, rest = name_of(words[0]), words[1:]
    if name in ("grep", "egrep", "fgrep"):
        return bool(_option(rest, ("-r", "-R", "-d", "--recursive", "--dereference-recursive", "--directories")))
    if name == "cp":
        return bool(_option(rest, ("-r", "-R", "-a", "--recursive", "--archive")))
    if name == "git":
        return "grep" in rest or bool(_option(rest, ("--no-index",)))
    return name in READS_BELOW or (name == "find" and any(word in rest for word in _RUNS))


def searches_here(words: Sequence[str], judged: Sequence[str]) -> bool:
    """Whether a command that reads all of a folder reads the one that it works in. `judged` are its words that may be
    files; where nobody knows which word is the pattern, it is taken to."""
    name = name_of(words[0]) if words else ""
    if name == "find":
        return not judged or judged[0].startswith(("-", "(", "!"))
    if name in ("grep", "egrep", "fgrep", "rg"):
        left = [word for word in judged if not word.startswith("-")]
        return not left or len(left) == sum(not word.startswith("-") for word in words[1:])
    return name in ("ag", "ack") or (name == "git" and "grep" in words)


def _takes_value(option: str) -> bool:
    """Whether the next word could belong to an option. Then nobody knows which word the pattern is."""
    return bool(re.fullmatch(r"-[A-Za-z]*[ABCmgtTdDvFj]|--(?!no-)[a-z-]+", option))


def _hazard_of_git(rest: Sequence[str]) -> str:
    place = next((number for number, word in enumerate(rest) if not word.startswith("-")), len(rest))
    strange = next((word for word in rest[:place] if word not in GIT_GLOBAL and word != "--version"), "")
    if strange:
        return f"`git {strange.partition('=')[0]}`"
    found = _option(rest[place + 1 :], GIT_HAZARDS)
    if not found and rest[place : place + 1] == ["grep"]:
        found = next((word for word in rest[place + 1 :] if word.startswith("-O")), "")
    return f"`git {rest[place]} {found}`" if found else ""


def _quiet_git(rest: Sequence[str]) -> bool:
    words = [word for number, word in enumerate(rest) if word not in GIT_GLOBAL or number > 1]
    if not words:
        return False
    command, arguments = words[0], words[1:]
    if command in GIT_PLAIN:
        return True
    if command == "config" and arguments[:1] in (["--get"], ["--get-all"]):
        return len(arguments) == 2 and not arguments[1].startswith("-")
    if command in ("stash", "worktree", "config") and not arguments:
        return False
    return command in GIT_LISTS and all(word in GIT_LISTS[command] for word in arguments)


def _option(words: Sequence[str], hazards: Sequence[str]) -> str:
    """The first word that is one of the options: whole, shortened as getopt has it, or among other letters."""
    letters = {option[1] for option in hazards if len(option) == 2}
    long = [option for option in hazards if option.startswith("--")]
    for word in words:
        if word.startswith("--"):
            name = word.partition("=")[0]
            if len(name) > 2 and any(option.startswith(name) for option in long):
                return name
            if any(option == name for option in long):
                return name
        elif word.startswith("-") and letters & set(word[1:]):
            return word
    return ""
