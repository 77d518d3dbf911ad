"""Dataclasses to plain values and back: whole, or refused."""

from __future__ import annotations

import enum
import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchctl.errors import PeerBroke
from orchctl.plain import from_plain, to_plain

PROPERTY = settings(deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow])


class Colour(enum.StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    x: int
    y: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    name: str
    centre: Point
    colour: Colour = Colour.RED
    filled: bool = False
    label: str | None = None
    corners: tuple[Point, ...] = ()
    notes: dict[str, int] = field(default_factory=dict)


GOOD: dict[str, Any] = {
    "name": "square",
    "centre": {"x": 1, "y": 2.5},
    "colour": "blue",
    "filled": True,
    "label": None,
    "corners": [{"x": 0}, {"x": 3, "y": 4.0}],
    "notes": {"weight": 7},
}

finite = st.floats(allow_nan=False, allow_infinity=False)
points = st.builds(Point, x=st.integers(), y=finite)
shapes = st.builds(
    Shape,
    name=st.text(),
    centre=points,
    colour=st.sampled_from(Colour),
    filled=st.booleans(),
    label=st.none() | st.text(),
    corners=st.lists(points, max_size=3).map(tuple),
    notes=st.dictionaries(st.text(max_size=3), st.integers(), max_size=3),
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 63), 1 << 63) | finite | st.text(max_size=5) | st.just("red"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["x", "y", "z"]), inner, max_size=3),
    max_leaves=6,
)


@PROPERTY
@given(shapes)
def test_a_value_comes_back_from_json_as_it_was(shape: Shape) -> None:
    assert from_plain(Shape, json.loads(json.dumps(to_plain(shape)))) == shape


@PROPERTY
@given(shapes, st.dictionaries(st.text().filter(lambda name: name not in GOOD), json_values, max_size=3))
def test_fields_from_the_future_are_ignored(shape: Shape, news: dict[str, Any]) -> None:
    plain = to_plain(shape)
    plain["centre"] |= {"z": news}
    assert from_plain(Shape, news | plain) == shape


@PROPERTY
@given(st.fixed_dictionaries({}, optional={name: json_values | st.just(value) for name, value in GOOD.items()}))
def test_any_json_gives_a_value_of_the_right_types_or_is_refused(data: dict[str, Any]) -> None:
    try:
        shape = from_plain(Shape, data)
    except PeerBroke:
        return
    plain = to_plain(shape)
    assert from_plain(Shape, plain) == shape
    for name, value in data.items():
        assert name in {"centre", "corners"} or plain[name] == value


@PROPERTY
@given(json_values.filter(lambda value: not isinstance(value, dict)))
def test_what_is_not_an_object_is_refused(data: Any) -> None:
    with pytest.raises(PeerBroke, match="Shape is not an object"):
        from_plain(Shape, data)
    with pytest.raises(PeerBroke, match="Point is not an object"):
        from_plain(Shape, GOOD | {"centre": data})


@pytest.mark.parametrize("name", ["name", "centre"])
def test_a_missing_field_is_refused_and_named(name: str) -> None:
    with pytest.raises(PeerBroke, match=rf"Shape\.{name} is missing"):
        from_plain(Shape, {key: value for key, value in GOOD.items() if key != name})


def test_a_field_with_a_default_may_be_missing() -> None:
    assert from_plain(Shape, {"name": "dot", "centre": {"x": 1}}) == Shape(name="dot", centre=Point(x=1))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("name", 1),
        ("name", None),
        ("name", ["square"]),
        ("centre", None),
        ("centre", {"x": "1"}),
        ("centre", {"x": 1.0}),
        ("centre", {"x": True}),
        ("centre", {"x": 1, "y": "2"}),
        ("centre", {"x": 1, "y": False}),
        ("colour", "green"),
        ("colour", ["red"]),
        ("colour", None),
        ("filled", 1),
        ("filled", "true"),
        ("label", 1),
        ("corners", {"x": 1}),
        ("corners", "xy"),
        ("corners", [{"x": 1}, 2]),
        ("notes", [1]),
        ("notes", {"weight": "7"}),
        ("notes", None),
    ],
)
def test_a_wrong_type_is_refused(name: str, value: Any) -> None:
    with pytest.raises(PeerBroke) as caught:
        from_plain(Shape, GOOD | {name: value})
    assert caught.value.code == "bad-message"


def test_a_refusal_names_the_field() -> None:
    with pytest.raises(PeerBroke, match=r"Shape\.colour is not one of red, blue"):
        from_plain(Shape, GOOD | {"colour": "green"})
    with pytest.raises(PeerBroke, match=r"Point\.x has the wrong type"):
        from_plain(Shape, GOOD | {"corners": [{"x": "1"}]})


def test_a_whole_number_will_do_where_a_fraction_may_stand() -> None:
    y = from_plain(Point, {"x": 1, "y": 2}).y
    assert (y, type(y)) == (2.0, float)


def test_a_whole_number_too_large_for_a_fraction_is_refused() -> None:
    with pytest.raises(PeerBroke):
        from_plain(Point, {"x": 1, "y": 10**400})


def test_plain_values_hold_nothing_that_json_does_not_know() -> None:
    shape = Shape(name="dot", centre=Point(x=1), colour=Colour.BLUE, corners=(Point(x=2),), notes={"a": 1})
    assert to_plain([shape]) == [
        {
            "name": "dot",
            "centre": {"x": 1, "y": 0.0},
            "colour": "blue",
            "filled": False,
            "label": None,
            "corners": [{"x": 2, "y": 0.0}],
            "notes": {"a": 1},
        }
    ]
    assert type(to_plain(shape)["colour"]) is str
