"""What an operation of the client is, written once for the blocking client and for the awaiting one.

A call is a generator: it yields the steps that may have to wait, gets their results, and returns its value. A step is
something of the client or of a connection to be run; in the blocking client it returns a result, in the awaiting one
something to await. `blocked` here and `awaited` in `aio/` are the two drivers, and `blocking` and `awaiting` make
methods of calls. A flow is a call that gives pieces on its way: an iterator of either kind is made of it. Neither
touches a socket, a process or a loop itself, so both can be tested with a client that is a table.

    call:    step → result → step → result → … → value
    flow:    step → result → piece → step → result → piece → … → end

What goes wrong in a step is raised at its `yield`, and so is a cancelled task or Ctrl-C: a call cleans up in `finally`,
where it may close a connection, and must not yield.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, overload

if TYPE_CHECKING:
    import inspect

P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R")
S = TypeVar("S")
Made = TypeVar("Made")


class Step:
    """Something to run; one that takes longer than until `expires_at` is an error."""

    __slots__ = ("_arguments", "_function", "expires_at")

    def __init__(self, function: Callable[..., Any], *arguments: Any, expires_at: float | None = None) -> None:
        self._function = function
        self._arguments = arguments
        self.expires_at = expires_at

    def run(self) -> Any:
        """Its result, or something to await."""
        return self._function(*self._arguments)


class Pause(Step):
    """A step in which nothing is done for so long."""

    __slots__ = ("seconds",)

    def __init__(self, seconds: float) -> None:
        super().__init__(time.sleep, seconds)
        self.seconds = seconds


class Give(Generic[T]):
    """A piece, for whoever iterates."""

    __slots__ = ("piece",)

    def __init__(self, piece: T) -> None:
        self.piece = piece


Call = Generator[Step, Any, R]
Flow = Generator[Step | Give[T], Any, None]


def do(function: Callable[..., Any], *arguments: Any, expires_at: float | None = None) -> Call[Any]:
    """The result of a step."""
    return (yield Step(function, *arguments, expires_at=expires_at))


class Pieces(Generic[T]):
    """Takes a flow's pieces one by one."""

    def __init__(self, flow: Flow[T]) -> None:
        self._flow = flow

    def next(self) -> Call[T | None]:
        """The next one; None at the end."""
        try:
            step = next(self._flow)
            while not isinstance(step, Give):
                try:
                    result = yield step
                except BaseException as error:  # noqa: BLE001 - the flow decides what it means
                    step = self._flow.throw(error)
                else:
                    step = self._flow.send(result)
        except StopIteration:
            return None
        return step.piece


# drivers


class Progress(Generic[R]):
    """How far a call is: its next step, and when there is none, its value."""

    def __init__(self, call: Call[R]) -> None:
        self._call = call
        self.step: Step | None = None
        self.value: Any = None
        self.go_on(None)

    def go_on(self, result: Any) -> None:
        """The step gave this."""
        try:
            self.step = self._call.send(result)
        except StopIteration as done:
            self.step, self.value = None, done.value

    def fail(self, error: BaseException) -> None:
        """The step raised this; the call decides what it means."""
        try:
            self.step = self._call.throw(error)
        except StopIteration as done:
            self.step, self.value = None, done.value


def blocked(call: Call[R]) -> R:
    """The value of a call; waits for each step."""
    progress = Progress(call)
    while progress.step is not None:
        try:
            result = progress.step.run()
        except BaseException as error:  # noqa: BLE001
            progress.fail(error)
        else:
            progress.go_on(result)
    value: R = progress.value
    return value


def iterated(flow: Flow[T]) -> Iterator[T]:
    """The pieces of a flow."""
    with closing(flow):
        pieces = Pieces(flow)
        while (piece := blocked(pieces.next())) is not None:
            yield piece


# methods made of calls


def blocking(call: Callable[Concatenate[S, P], Call[R]]) -> Callable[Concatenate[S, P], R]:
    """A method that returns the value of a call."""

    def method(self: S, /, *args: P.args, **options: P.kwargs) -> R:
        return blocked(call(self, *args, **options))

    return shown(method, call)


def blocking_each(call: Callable[Concatenate[S, P], Call[Flow[T]]]) -> Callable[Concatenate[S, P], Iterator[T]]:
    """A method that returns an iterator of the flow that a call gives."""

    def method(self: S, /, *args: P.args, **options: P.kwargs) -> Iterator[T]:
        return iterated(blocked(call(self, *args, **options)))

    return shown(method, call, "Iterator")


def blocking_with(
    make: Callable[[Any, R], Made], call: Callable[Concatenate[S, P], Call[R]]
) -> Callable[Concatenate[S, P], Made]:
    """A method that returns what is made of the value of a call: a handle, or a stream."""

    def method(self: S, /, *args: P.args, **options: P.kwargs) -> Made:
        return make(self, blocked(call(self, *args, **options)))

    return shown(method, call, make)


def opening(make: Callable[[Any, R], Made], plan: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], Made]:
    """A method that asks nothing yet: it returns a stream of what was planned."""

    def method(self: S, /, *args: P.args, **options: P.kwargs) -> Made:
        return make(self, plan(self, *args, **options))

    return shown(method, plan, make)


class Blocking:
    """Whoever has the methods of the blocking client."""

    _method = staticmethod(blocking)
    _each = staticmethod(blocking_each)


class Awaiting:
    """Whoever has the methods of the awaiting client; `aio/` says how they are made."""

    _method: Any
    _each: Any


class operation(Generic[P, R]):  # noqa: N801 - it stands where a method stands
    """A call in a table of methods; each client that has the table makes its own method of it."""

    def __init__(self, call: Callable[Concatenate[Any, P], Call[R]]) -> None:
        self.call = call

    def made_for(self, client: type[Blocking | Awaiting]) -> Any:
        """The method."""
        return client._method(self.call)

    if TYPE_CHECKING:  # nobody gets it at run time

        @overload
        def __get__(self, client: Blocking, kind: Any = None) -> Callable[P, R]: ...
        @overload
        def __get__(self, client: Awaiting, kind: Any = None) -> Callable[P, Coroutine[Any, Any, R]]: ...
        @overload
        def __get__(self, client: None, kind: Any = None) -> Callable[Concatenate[Any, P], Any]: ...
        def __get__(self, client: Any, kind: Any = None) -> Any: ...


class iteration(Generic[P, T]):  # noqa: N801 - it stands where a method stands
    """A call that gives a flow, in a table of methods that are iterators."""

    def __init__(self, call: Callable[Concatenate[Any, P], Call[Flow[T]]]) -> None:
        self.call = call

    def made_for(self, client: type[Blocking | Awaiting]) -> Any:
        """The method."""
        return client._each(self.call)

    if TYPE_CHECKING:

        @overload
        def __get__(self, client: Blocking, kind: Any = None) -> Callable[P, Iterator[T]]: ...
        @overload
        def __get__(self, client: Awaiting, kind: Any = None) -> Callable[P, AsyncIterator[T]]: ...
        @overload
        def __get__(self, client: None, kind: Any = None) -> Callable[Concatenate[Any, P], Any]: ...
        def __get__(self, client: Any, kind: Any = None) -> Any: ...


def make_methods(table: type, client: type) -> None:
    """The methods of a table for a client, and their names for all that are made of calls."""
    for name, member in vars(table).items() if table in client.__bases__ else ():
        if isinstance(member, operation | iteration):
            setattr(client, name, member.made_for(client))
    for name, member in vars(client).items():
        if isinstance(getattr(member, "__wrapped__", None), _Shown):
            member.__name__, member.__qualname__ = name, f"{client.__qualname__}.{name}"


# methods that look like what they are made of

Function = TypeVar("Function", bound=Callable[..., Any])


def shown(method: Function, call: Callable[..., Any], made: Any = None) -> Function:
    """The method, with the words and hints of the call, and a signature that is made when somebody asks for it."""
    found: Any = method
    _, *hints = call.__annotations__.items()  # all but the caller
    found.__annotations__ = {**dict(hints), "return": _result(call.__annotations__["return"], made)}
    found.__doc__, found.__module__ = call.__doc__, call.__module__
    found.__wrapped__ = _Shown(call, found.__annotations__["return"])
    return method


def _result(value: str, made: Any) -> str:
    """What a method returns, by the annotation of its call and what is made of that."""
    if made is None or isinstance(made, str):
        return value.removeprefix("Call[").removesuffix("]").replace("Flow[", f"{made}[")
    kind = getattr(made, "__self__", None)  # a constructor's class
    return str(made.__annotations__["return"] if kind is None else kind.__name__)


class _Shown:
    """Stands between a method and its call: `inspect.signature` stops here, `inspect.getsource` goes on."""

    def __init__(self, call: Callable[..., Any], result: str) -> None:
        self.__wrapped__ = call
        self._result = result

    @property
    def __signature__(self) -> inspect.Signature:
        import inspect

        found = inspect.signature(self.__wrapped__)
        me = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        parameters = [me, *list(found.parameters.values())[1:]]
        return found.replace(parameters=parameters, return_annotation=self._result)
