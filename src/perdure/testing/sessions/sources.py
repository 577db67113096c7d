"""Source files of an invented project: Python, TypeScript, Go, SQL, settings and manuals.

It knows how such files look. It must never know a session: it writes what a file holds before anybody edited it.
"""

from __future__ import annotations

from collections.abc import Callable
from string import Template
from typing import TypeAlias

from perdure.testing.sessions.dice import Dice
from perdure.testing.sessions.vocabulary import LIBRARIES, QUALITIES, UNITS, VERBS, WORDS, Domain

Names: TypeAlias = dict[str, str]


def python_module(dice: Dice, domain: Domain, entity: str, fields: tuple[str, ...]) -> list[str]:
    """A module of the service."""
    names = _names(dice, domain, entity, fields)
    lines = _fill(_PYTHON_HEAD, names)
    for field in fields:
        lines.append(f"    {field}: {'int' if field.endswith(_NUMERIC) else 'str'}")
    for _ in range(dice.between(6, 20)):
        lines += ["", "", *_fill(dice.pick(_PYTHON_FUNCTIONS), names | _turn(dice, fields))]
    return lines


def python_test(dice: Dice, domain: Domain, entity: str, fields: tuple[str, ...]) -> list[str]:
    """The tests of a module."""
    names = _names(dice, domain, entity, fields)
    lines = _fill(_TEST_HEAD, names)
    for _ in range(dice.between(8, 22)):
        lines += ["", "", *_fill(dice.pick(_TESTS), names | _turn(dice, fields))]
    return lines


def typescript_module(dice: Dice, domain: Domain, entity: str, fields: tuple[str, ...]) -> list[str]:
    """A component of the web client."""
    names = _names(dice, domain, entity, fields)
    lines = _fill(_TYPESCRIPT_HEAD, names)
    lines += [f"  {_camel(field)}: {'number' if field.endswith(_NUMERIC) else 'string'};" for field in fields]
    lines.append("}")
    for _ in range(dice.between(4, 12)):
        lines += ["", *_fill(dice.pick(_TYPESCRIPT_FUNCTIONS), names | _turn(dice, fields))]
    return lines


def go_file(dice: Dice, domain: Domain, entity: str, fields: tuple[str, ...]) -> list[str]:
    """A handler of the gateway."""
    names = _names(dice, domain, entity, fields)
    lines = _fill(_GO_HEAD, names)
    lines += [f'\t{_pascal(field)} string `json:"{field}"`' for field in fields]
    lines.append("}")
    for _ in range(dice.between(5, 12)):
        lines += ["", *_fill(dice.pick(_GO_FUNCTIONS), names | _turn(dice, fields))]
    return lines


def sql_migration(dice: Dice, domain: Domain, entity: str, fields: tuple[str, ...]) -> list[str]:
    """A migration of the database."""
    names = _names(dice, domain, entity, fields)
    lines = [
        f"-- {domain.project}: {plural(entity)}",
        "BEGIN;",
        "",
        f"CREATE TABLE {entity} (",
        "    id uuid PRIMARY KEY,",
    ]
    for field in fields:
        lines.append(f"    {field} {'bigint' if field.endswith(_NUMERIC) else 'text'} NOT NULL,")
    lines += ["    updated_at timestamptz NOT NULL DEFAULT now()", ");"]
    for _ in range(dice.between(2, 5)):
        lines += ["", *_fill(dice.pick(_SQL_PARTS), names | _turn(dice, fields))]
    return [*lines, "", "COMMIT;"]


def settings_file(dice: Dice, domain: Domain, entity: str, fields: tuple[str, ...]) -> list[str]:
    """A file of settings in YAML."""
    lines = [f"# settings of {domain.package}.{entity}", f"{entity}:"]
    for field in fields:
        lines.append(f"  {field}: {dice.between(1, 4000)}")
    lines.append("  limits:")
    for word in dice.some(WORDS, dice.between(5, 12)):
        unit, low, high = dice.pick(UNITS)
        lines.append(f"    {word}_{unit.lower()}: {dice.between(low, high)}")
    lines.append("  upstream:")
    for library in dice.some(LIBRARIES, 3):
        lines.append(f"    - name: {library}")
        lines.append(f"      url: http://{library}.internal:{dice.between(4000, 9900)}/v{dice.between(1, 4)}")
    return lines


def manual(dice: Dice, domain: Domain, entity: str, fields: tuple[str, ...]) -> list[str]:
    """A page of the manual, in Chinese."""
    lines = [f"# {domain.project} 运维手册：{entity}", "", f"{domain.project} 负责{domain.about_chinese}。", ""]
    for field in fields:
        lines += [f"## 字段 `{field}`", "", dice.pick(_MANUAL).replace("$field", field).replace("$entity", entity), ""]
    return lines


WRITERS: dict[str, Callable[[Dice, Domain, str, tuple[str, ...]], list[str]]] = {
    "module": python_module,
    "test": python_test,
    "component": typescript_module,
    "handler": go_file,
    "migration": sql_migration,
    "settings": settings_file,
    "manual": manual,
}

_NUMERIC = ("_m", "_cents", "_kg", "_pct", "_count", "_c", "_wh", "_kw", "tonnage", "_minutes", "_km", "_mm", "_hours")


def _names(dice: Dice, domain: Domain, entity: str, fields: tuple[str, ...]) -> Names:
    unit, low, high = dice.pick(UNITS)
    return {
        "package": domain.package,
        "entity": entity,
        "entities": plural(entity),
        "Entity": _pascal(entity),
        "library": dice.pick(LIBRARIES),
        "key": fields[0],
        "Key": _pascal(fields[0]),
        "constant": f"{entity.upper()}_{dice.pick(WORDS).upper()}_{unit}",
        "number": str(dice.between(low, high)),
    }


def _turn(dice: Dice, fields: tuple[str, ...]) -> Names:
    field, quality, verb, word = dice.pick(fields), dice.pick(QUALITIES), dice.pick(VERBS), dice.pick(WORDS)
    return {
        "field": field,
        "Field": _pascal(field),
        "camel": _camel(field),
        "quality": quality,
        "Quality": quality.capitalize(),
        "verb": verb,
        "Verb": verb.capitalize(),
        "word": word,
        "Word": word.capitalize(),
        "small": str(dice.between(2, 40)),
        "large": str(dice.between(100, 9000)),
        "code": f"E{dice.between(1000, 9999)}",
    }


def plural(name: str) -> str:
    """More than one of these."""
    if name.endswith("y") and name[-2] not in "aeiou":
        return name[:-1] + "ies"
    return name + ("es" if name.endswith(("ch", "s", "x")) else "s")


def _pascal(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def _camel(name: str) -> str:
    pascal = _pascal(name)
    return pascal[0].lower() + pascal[1:]


def _fill(template: Template, names: Names) -> list[str]:
    return template.substitute(names).strip("\n").split("\n")


_PYTHON_HEAD = Template('''
"""Everything about one $entity: how it is kept, checked and told to others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from $package.db import Connection, fetch_all, fetch_one
from $package.errors import Conflict, NotFound, Refused
from $library import Clock, Tracer

tracer = Tracer("$package.$entity")

$constant = $number


@dataclass(frozen=True)
class $Entity:
    id: str
''')

_PYTHON_FUNCTIONS = tuple(
    map(
        Template,
        (
            '''
def ${verb}_${quality}_${entities}(db: Connection, clock: Clock, limit: int = $small) -> list[$Entity]:
    """${Verb} every $quality $entity, oldest first."""
    cutoff = clock.now() - timedelta(seconds=$constant)
    rows = fetch_all(
        db,
        "SELECT * FROM $entity WHERE $field IS NOT NULL AND updated_at < %s ORDER BY updated_at LIMIT %s",
        (cutoff, limit),
    )
    found = [$Entity(**row) for row in rows]
    with tracer.span("$verb", count=len(found)):
        for item in found:
            if item.$field == "$quality":
                raise Conflict("$code", f"$entity {item.id} is $quality already")
    return found
''',
            """
def ${verb}_by_${field}(db: Connection, $field: str, *, strict: bool = True) -> $Entity:
    row = fetch_one(db, "SELECT * FROM $entity WHERE $field = %s", ($field,))
    if row is None:
        if strict:
            raise NotFound("$code", f"no $entity with $field {$field!r}")
        return _empty_${entity}($field)
    $word = $Entity(**row)
    # The $word of an older release may lack the field; see the migration.
    if not $word.$key:
        $word = replace($word, $key="unknown")
    return $word
""",
            '''
def ${word}_${field}(items: list[$Entity]) -> dict[str, int]:
    """Count the ${entities} of each $field within the $word."""
    totals: dict[str, int] = {}
    for item in items:
        bucket = str(item.$field)[:$small]
        totals[bucket] = totals.get(bucket, 0) + 1
    if len(totals) > $large:
        raise Refused("$code", "too many buckets for one $word")
    return dict(sorted(totals.items()))
''',
            '''
class ${Quality}${Entity}Policy:
    """Decides whether a $quality $entity may be changed."""

    def __init__(self, $word: int = $small) -> None:
        self.$word = $word
        self._seen: set[str] = set()

    def allows(self, item: $Entity, now: datetime) -> bool:
        if item.id in self._seen:
            return False
        self._seen.add(item.id)
        age = (now - datetime.fromisoformat(item.$key)).total_seconds()
        return age < $constant * self.$word

    def ${verb}(self, item: $Entity) -> $Entity:
        if len(self._seen) > $large:
            raise Refused("$code", "the $word is full")
        return replace(item, $field="$quality")
''',
            """
def _${word}_key(item: $Entity, salt: str = "$code") -> str:
    parts = (salt, item.id, str(item.$field))
    return ":".join(part.strip().lower() for part in parts if part)
""",
        ),
    )
)

_TEST_HEAD = Template('''
"""Tests of $package.$entity."""

import pytest

from $package.errors import Conflict, NotFound
from $package.$entity import $constant, $Entity
from tests.factories import make_$entity, stopped_clock
''')

_TESTS = tuple(
    map(
        Template,
        (
            """
def test_a_${quality}_${entity}_keeps_its_${field}(db):
    item = make_$entity(db, $field="$large")

    item = db.reload(item)

    assert item.$field == "$large"
""",
            """
@pytest.mark.parametrize("$word", [0, 1, $small, $large])
def test_${verb}_respects_the_${word}_of_${field}(db, $word):
    clock = stopped_clock(seconds=$constant + $word)
    items = [make_$entity(db, $field=str(n)) for n in range($small)]

    with pytest.raises(Conflict, match="$code"):
        db.$verb(items, clock, limit=$word)
""",
            """
def test_${quality}_${entities}_are_not_found_by_${field}(db):
    make_$entity(db, $field="$quality")

    with pytest.raises(NotFound) as caught:
        db.find("$entity", $field="$word")
    assert caught.value.code == "$code"
""",
        ),
    )
)

_TYPESCRIPT_HEAD = Template("""
import { useEffect, useMemo, useState } from "react";
import { request, type Page } from "../api/client";
import { formatNumber } from "../format";

export const ${constant} = $number;

export interface $Entity {
  id: string;
""")

_TYPESCRIPT_FUNCTIONS = tuple(
    map(
        Template,
        (
            """
export function use${Quality}${Entity}s(limit = $small) {
  const [items, setItems] = useState<$Entity[]>([]);
  const [error, setError] = useState<string | null>(null);
  useEffect(() => {
    const controller = new AbortController();
    request<Page<$Entity>>("/api/$entity?state=$quality&limit=" + limit, { signal: controller.signal })
      .then((page) => setItems(page.items))
      .catch((reason) => setError(reason.code ?? "$code"));
    return () => controller.abort();
  }, [limit]);
  return { items, error };
}
""",
            """
export function ${Word}${Field}Cell({ item }: { item: $Entity }) {
  const label = useMemo(() => {
    if (item.$camel === undefined) return "n/a";
    return formatNumber(Number(item.$camel) / $large);
  }, [item.$camel]);
  return (
    <td className="cell cell--$quality" data-code="$code">
      <span title={item.id}>{label}</span>
    </td>
  );
}
""",
            """
export async function ${verb}${Entity}(id: string, $word: number): Promise<$Entity> {
  if ($word > $constant) {
    throw new RangeError("$code: $word is above the limit of $large");
  }
  const answer = await request<$Entity>("/api/$entity/" + id + "/$verb", {
    method: "POST",
    body: { $camel: $word, state: "$quality" },
  });
  return { ...answer, $camel: answer.$camel };
}
""",
        ),
    )
)

_GO_HEAD = Template("""
package $entity

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"internal.example/$package/gateway/$library"
)

const ${Entity}${Key}Max = $number

var Err${Entity}Missing = errors.New("$entity: no such $entity")

type $Entity struct {
	ID string `json:"id"`
""")

_GO_FUNCTIONS = tuple(
    map(
        Template,
        (
            """
// ${Verb}${Quality} answers POST /$entity/{id}/$verb.
func (h *Handler) ${Verb}${Quality}(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), $small*time.Second)
	defer cancel()
	item, err := h.store.Find(ctx, r.PathValue("id"))
	if errors.Is(err, Err${Entity}Missing) {
		h.refuse(w, http.StatusNotFound, "$code")
		return
	}
	if err != nil {
		h.log.Error("$verb failed", "$word", $large, "err", err)
		h.refuse(w, http.StatusBadGateway, "$code")
		return
	}
	if item.$Field == "$quality" {
		h.refuse(w, http.StatusConflict, "$code")
		return
	}
	_ = json.NewEncoder(w).Encode(item)
}
""",
            """
func ${word}${Field}(items []$Entity) map[string]int {
	totals := make(map[string]int, len(items))
	for _, item := range items {
		totals[item.$Field]++
		if len(totals) > ${Entity}${Key}Max {
			break
		}
	}
	return totals
}
""",
            """
func (s *Store) ${Verb}(ctx context.Context, id string, $word int) error {
	const query = `UPDATE $entity SET $field = $$2 WHERE id = $$1 AND $key <> '$quality'`
	tag, err := s.pool.Exec(ctx, query, id, $word)
	if err != nil {
		return $library.Wrap(err, "$code")
	}
	if tag.RowsAffected() == 0 {
		return Err${Entity}Missing
	}
	return nil
}
""",
        ),
    )
)

_SQL_PARTS = tuple(
    map(
        Template,
        (
            "CREATE INDEX ${entity}_${field}_${quality}_idx\n    ON $entity ($field, updated_at)\n    WHERE $key "
            "<> '$quality';",
            "ALTER TABLE $entity\n    ADD CONSTRAINT ${entity}_${word}_check CHECK ($field IS NULL OR "
            "length($key) < $large);",
            """CREATE VIEW ${quality}_${entity} AS
SELECT $entity.id, $entity.$field, count(*) OVER (PARTITION BY $key) AS $word
FROM $entity
WHERE updated_at > now() - interval '$small days';""",
            "-- $code: fill $field from the $word of the old table\nUPDATE $entity SET $field = '$large' WHERE "
            "$field = '';",
        ),
    )
)

_MANUAL = (
    "`$field` 由网关写入，每次 $entity 变更后在五分钟内同步。如果数值与账本不一致，先停止导入任务，再检查日志。",
    "修改 `$field` 之前必须备份数据库。该字段参与计费，错误的值会导致对账失败，需要人工冲正。",
    "当 `$field` 为空时，$entity 服务会退回到默认值，并在监控面板上记录一次告警。",
    "夜间批处理会重新计算 `$field`。若任务超时，请查看 worker 的堆积数量，不要直接重启数据库。",
)
