"""A dataclass that is finished on first use is the one that the standard library makes."""

from __future__ import annotations

import copy
import dataclasses
import importlib
import inspect
import pickle
import pkgutil
import subprocess
import sys
import threading
from dataclasses import field
from typing import Any, ClassVar

import pytest

import orchctl.protocol
import orchctl.session
from orchctl.lazy_dataclass import lazily


class Plain:
    """Every kind of field."""

    kind: ClassVar[str] = "plain"

    name: str
    number: int = 3
    items: list[int] = field(default_factory=list)
    aside: str = field(default="", compare=False)

    def doubled(self) -> int:
        """A method of its own."""
        return self.number * 2


def _pair(**how: bool) -> tuple[Any, Any]:
    """The same class, made here and by the standard library."""
    return lazily(slots=True, **how)(_fresh()), dataclasses.dataclass(slots=True, **how)(_fresh())


def _fresh() -> type[Any]:
    """Fields remember what was made of them."""
    body = {name: copy.copy(value) for name, value in vars(Plain).items() if name not in ("__dict__", "__weakref__")}
    return type("Plain", (), body)


HOW = [{}, {"frozen": True}, {"frozen": True, "kw_only": True}, {"eq": False}]


@pytest.mark.parametrize("how", HOW, ids=str)
def test_it_looks_like_the_standard_library_s(how: dict[str, bool]) -> None:
    ours, theirs = _pair(**how)
    assert str(inspect.signature(ours)) == str(inspect.signature(theirs))
    assert [one.name for one in dataclasses.fields(ours)] == [one.name for one in dataclasses.fields(theirs)]
    assert ours.__match_args__ == theirs.__match_args__
    assert ours.__slots__ == theirs.__slots__
    assert (ours.kind, ours.__doc__) == (theirs.kind, theirs.__doc__)
    assert dataclasses.is_dataclass(ours)


@pytest.mark.parametrize("how", HOW, ids=str)
def test_its_values_behave_alike(how: dict[str, bool]) -> None:
    for kind in _pair(**how):
        one, same, other = (kind(name=name, aside=aside) for name, aside in (("a", ""), ("a", "b"), ("c", "")))
        assert repr(one) == "Plain(name='a', number=3, items=[], aside='')"
        assert (one == same, one == other, one == "a") == (how.get("eq", True), False, False)
        assert one.items is not same.items
        assert one.doubled() == 6
        assert dataclasses.asdict(dataclasses.replace(one, number=4)) == {
            "name": "a",
            "number": 4,
            "items": [],
            "aside": "",
        }
        assert repr(copy.deepcopy(one)) == repr(one)
        assert not hasattr(one, "__dict__")


@pytest.mark.parametrize("how", HOW, ids=str)
def test_it_refuses_alike(how: dict[str, bool]) -> None:
    for kind in _pair(**how):
        value = kind(name="a")
        for wrong in ({}, {"name": "a", "what": 1}):
            with pytest.raises(TypeError, match=r"__init__\(\) (missing 1 required|got an unexpected)"):
                kind(**wrong)
        if how.get("kw_only"):
            with pytest.raises(TypeError, match="takes 1 positional argument but 2"):
                kind("a", name="b")
        if how.get("frozen"):
            with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'name'"):
                value.name = "b"
            with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'name'"):
                del value.name
        else:
            value.name = "b"
            assert value.name == "b"


def test_another_dataclass_may_be_derived_from_it() -> None:
    for kind in _pair(frozen=True, kw_only=True):
        more = dataclasses.make_dataclass("More", [("more", int)], bases=(kind,), frozen=True, slots=True, kw_only=True)
        value: Any = more(name="a", more=1)
        assert repr(value) == "More(name='a', number=3, items=[], aside='', more=1)"
        assert value == copy.deepcopy(value) != more(name="a", more=2)
        with pytest.raises(dataclasses.FrozenInstanceError):
            value.number = 1


def test_only_frozen_ones_have_a_hash_of_their_values() -> None:
    for kind in _pair(frozen=True):
        assert hash(kind("a", 1, (), "x")) == hash(kind("a", 1, (), "y"))
    for kind in _pair():
        with pytest.raises(TypeError, match="unhashable"):
            hash(kind("a"))


def test_a_value_goes_through_pickle() -> None:
    from orchctl.session.model import Session

    session = Session(id="x", labels={"a": "b"})
    assert pickle.loads(pickle.dumps(session)) == session


def test_many_threads_may_make_the_first_value() -> None:
    for _ in range(50):
        kind = _pair(frozen=True)[0]
        begin, made = threading.Barrier(8), list[Any]()

        def make(kind: Any = kind, begin: threading.Barrier = begin, made: list[Any] = made) -> None:
            begin.wait(60)
            made.append(kind(name="a"))

        threads = [threading.Thread(target=make) for _ in range(8)]
        for one in threads:
            one.start()
        for one in threads:
            one.join(60)
        assert [repr(one) for one in made] == [repr(kind(name="a"))] * 8


def test_importing_compiles_no_dataclass() -> None:
    code = (
        "import dataclasses, sys\nmade = []\nfirst = dataclasses._process_class\n"
        "dataclasses._process_class = lambda kind, *rest: made.append(kind) or first(kind, *rest)\n"
        "import orchctl.client.blocking, orchctl.client.exec, orchctl.cli.main\nprint(made)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout == b"[]\n"


@pytest.mark.parametrize("room", [orchctl.session, orchctl.protocol], ids=lambda room: str(room.__name__))
def test_every_one_can_be_finished(room: Any) -> None:
    """What the standard library would refuse at import is found here."""
    found = 0
    for module in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
        for kind in vars(importlib.import_module(module.name)).values():
            if isinstance(kind, type) and kind.__module__ == module.name and dataclasses.is_dataclass(kind):
                assert [*inspect.signature(kind).parameters] == [one.name for one in dataclasses.fields(kind)]
                found += 1
    assert found > 30
