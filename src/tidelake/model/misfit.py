"""An argument that is not of its kind is named, where a call failed for it.

Nothing is checked as long as calls go well: only once one of Python's own errors comes out of a
call is what was given held against what the function declares."""

from __future__ import annotations

import types
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import date
from functools import partial, wraps
from inspect import Parameter, Signature, signature, unwrap
from numbers import Integral, Real
from typing import (
    Any,
    ParamSpec,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from tidelake.errors import Invalid, TidelakeError
from tidelake.model.reflexes import ARGUMENTS, ARGUMENTS_OF, OF_READS, TABLES_FIRST

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C", bound=type)

_REFUSED = "a write takes no "
_WORDS: Mapping[object, str] = {
    bool: "True or False",
    int: "a whole number",
    float: "a number",
    str: "a text",
    date: "a date or a time",
    type(None): "None",
}


def with_misfits_named(function: Callable[P, R], whose: str = "") -> Callable[P, R]:
    """An argument that made a call fail, and is not of the kind that is declared, is Invalid. A
    call that does not fit is told how it is made; `whose` method it is."""

    @wraps(function)
    def call(*places: P.args, **names: P.kwargs) -> R:
        try:
            return function(*places, **names)
        except TidelakeError:
            raise
        except Exception as error:
            _name_argument(function, names, error)
            _tell_how(function, whose, places, names)
            told = _misfit(function, places, names)
            if told is None:
                raise
            raise told from error

    return call


def _name_argument(
    function: Callable[..., Any], names: Mapping[str, Any], error: Exception
) -> None:
    """An argument of another library is told what takes its place here."""
    if not isinstance(error, TypeError):
        return
    called = function.__name__
    said = (f"{called}() got an unexpected keyword argument", f"{called}() missing", _REFUSED)
    if not any(each in str(error) for each in said):
        return
    parameters = signature(function).parameters
    of_it = ARGUMENTS_OF.get(called, {})
    for name in names:
        told = of_it.get(name) or ARGUMENTS.get(name) or OF_READS.get(name)
        if told is not None and name not in parameters:
            raise TypeError(f"{called}() takes no {name!r} (hint: {told})") from None


def _tell_how(function: Callable[..., Any], whose: str, places: Any, names: Any) -> None:
    """A call with arguments that there are not, or without some that there must be."""
    how = signature(function)
    try:
        how.bind(*places, **names)
    except TypeError as error:
        called = f"{whose}{'.' if whose else ''}{function.__name__}"
        hint = TABLES_FIRST.get(called) if "too many positional" in str(error) else None
        hint = hint or f"{function.__name__}{_call(function, bool(whose))}"
        raise TypeError(f"{called}(): {error} (hint: {hint})") from None


def _call(function: Callable[..., Any], of_object: bool) -> str:
    """How a function is called, without the kinds of its arguments."""
    parameters: list[Parameter] = []
    for each in list(signature(function).parameters.values())[of_object:]:
        kind = _evaluated(each.annotation, function)
        if each.kind is Parameter.VAR_KEYWORD and get_args(kind):
            names = list(_hints(get_args(kind)[0]) or get_args(kind)[0].__annotations__)
            parameters += [Parameter(name, Parameter.KEYWORD_ONLY, default=None) for name in names]
        else:
            parameters.append(each.replace(annotation=Parameter.empty))
    return str(Signature(parameters))


def naming_misfits(face: C) -> C:
    """A class whose public methods do so."""
    for name in dir(face):
        found = next((each.__dict__[name] for each in face.__mro__ if name in each.__dict__), None)
        if name.startswith("_") or not isinstance(found, types.FunctionType | staticmethod):
            continue
        function = getattr(found, "__func__", found)
        if function.__module__.startswith("tidelake"):
            alone = isinstance(found, staticmethod)
            named = with_misfits_named(function, "" if alone else face.__name__)
            setattr(face, name, staticmethod(named) if alone else named)
    return face


def _misfit(function: Callable[..., Any], places: Any, names: Any) -> Invalid | None:
    try:
        given = signature(function).bind(*places, **names)
    except TypeError:
        return None  # arguments that there are not: Python says it well
    for name, value, declared in _declared(function, given.arguments):
        kinds = list(_kinds(declared, function))
        if kinds and not any(fits(value) for fits, _ in kinds):
            words = list(dict.fromkeys(word for _, word in kinds))
            return Invalid(
                f"{function.__name__}() cannot take {name}={_short(value)}",
                hint=f"{name}= takes {', '.join(words[:-1])}{' or ' * (len(words) > 1)}{words[-1]}",
            )
    return None


def _short(value: object) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"a {type(value).__name__}"


def _declared(
    function: Callable[..., Any], given: Mapping[str, Any]
) -> Iterator[tuple[str, Any, Any]]:
    for name, value in given.items():
        parameter = signature(function).parameters[name]
        if parameter.annotation is Parameter.empty:
            continue
        kind = _evaluated(parameter.annotation, function)
        if parameter.kind is Parameter.VAR_POSITIONAL:
            yield from ((name, each, kind) for each in value)
        elif parameter.kind is not Parameter.VAR_KEYWORD:
            yield name, value, kind
        elif get_args(kind) and is_typeddict(asked := get_args(kind)[0]):
            hints = _hints(asked)
            yield from ((each, value[each], hints.get(each, object)) for each in value)


def _hints(asked: Any) -> Mapping[str, Any]:
    try:
        return get_type_hints(asked)
    except NameError:
        return {}


def _evaluated(annotation: Any, function: Callable[..., Any]) -> Any:
    """A name that only type checkers import may stand for anything."""
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, unwrap(function).__globals__)
    except (NameError, TypeError):
        return object


_Kind = tuple[Callable[[Any], bool], str]


def _kinds(declared: Any, function: Callable[..., Any]) -> Iterator[_Kind]:
    """Tests of a value, one for each kind that it may be of, with what that is called. None if
    that cannot be told: then anything may be right."""
    members = get_args(declared) if _is_union(declared) else (declared,)
    found = [_kind(_evaluated(each, function)) for each in members]
    if None not in found:
        yield from (each for each in found if each is not None)


def _is_union(declared: Any) -> bool:
    return get_origin(declared) in (Union, types.UnionType)


def _kind(declared: Any) -> _Kind | None:
    if declared is None or declared is type(None):
        return (lambda value: value is None), "None"
    if declared in (int, float):
        number = Integral if declared is int else Real
        return (lambda value: isinstance(value, number)), _WORDS[declared]
    origin = get_origin(declared)
    if origin is None:
        return _plain(declared)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return (lambda value: isinstance(value, Mapping)), "a dict"
    if isinstance(origin, type) and issubclass(origin, Iterable) and origin is not tuple:
        return _many(get_args(declared), origin)
    return None


def _plain(declared: Any) -> _Kind | None:
    if is_typeddict(declared):
        return (lambda value: isinstance(value, Mapping)), "a dict"
    if not isinstance(declared, type) or declared is object or _is_protocol(declared):
        return None
    word = _WORDS.get(declared, f"a {declared.__name__}")
    return partial(_is_of, declared), word


def _is_protocol(declared: type) -> bool:
    return bool(getattr(declared, "_is_protocol", False))


def _is_of(declared: type, value: object) -> bool:
    """Frames are no flags, and bytes are no text; numpy's flags are."""
    return isinstance(value, declared) or (declared is bool and type(value).__name__ == "bool_")


def _many(inner: tuple[Any, ...], origin: type) -> _Kind | None:
    """Several of a kind. A stream is not looked into."""
    if len(inner) != 1 or (each := _kind(inner[0])) is None:
        return (lambda value: isinstance(value, origin)), "a list"
    fits, word = each

    def all_fit(value: Any) -> bool:
        if not isinstance(value, origin):
            return False
        return not isinstance(value, Collection) or all(map(fits, value))

    return all_fit, f"a list of {word.removeprefix('a ')}s"
