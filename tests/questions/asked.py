"""Questions that users of other systems ask, each with its rules and with a few lines of Python that answer it, too.

The Python looks at a whole stream at once and knows nothing of engines. Times are in seconds, many events have the
same time, and ``nr`` is the order in which they came.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

Event = dict[str, Any]
Answer = tuple[str, int, tuple[Any, ...]]
"""Type, time and values of a composite event; values that are times are in seconds."""


@dataclass(frozen=True)
class Asked:
    """A question: its rules, the types of its events with what values they have, and the answer by hand.

    The answer is told the events and the time at which the stream ends; ``until`` says how far timers go on.
    """

    name: str
    rules: str
    types: dict[str, dict[str, list[Any]]]
    answer: Callable[[list[Event], int], list[Answer]]
    until: str | None = None

    def stream(self, seed: int, count: int = 60, seconds: int = 200) -> list[Event]:
        """Random events in the order of their times."""
        random = Random(seed)
        found: list[Event] = []
        for nr, time in enumerate(sorted(random.randrange(seconds) for _ in range(count))):
            kind = random.choice(list(self.types))
            values = {name: random.choice(some) for name, some in self.types[kind].items()}
            found.append({"type": kind, "time": time, "nr": nr, **values})
        return found


def _place(event: Event) -> tuple[int, int]:
    return event["time"], event["nr"]


def _earlier(events: list[Event], event: Event, seconds: int, **equal: Any) -> list[Event]:
    """The events of the seconds before one, in order; that of its very time is not before it."""
    return _from_to(events, event["time"] - seconds, event["time"], **equal)


def _from_to(events: list[Event], start: int, end: int, **equal: Any) -> list[Event]:
    alike = (e for e in events if all(e.get(name) == value for name, value in equal.items()))
    return [event for event in alike if start <= event["time"] < end]


def _clock(events: list[Event], every: int, last: int) -> range:
    return range(-(-events[0]["time"] // every) * every, last + 1, every)


def _held(events: list[Event], last: int) -> list[Answer]:
    del last
    found: list[Answer] = []
    for event in events:
        before = _earlier(events, event, 10**6, dev=event["dev"])
        if event["v"] > 50 and (not before or before[-1]["v"] <= 50):
            found.append(("Rise", event["time"], (event["dev"],)))
            after = _from_to(events, event["time"] + 1, event["time"] + 30, dev=event["dev"])
            if all(other["v"] > 50 for other in after):
                found.append(("Held", event["time"] + 30, (event["dev"], event["time"])))
    return found


def _throttled(events: list[Event], last: int) -> list[Answer]:
    del last
    found: list[Answer] = []
    told: dict[str, int] = {}
    for event in events:
        if told.get(event["service"], -(10**6)) < event["time"] - 30:
            told[event["service"]] = event["time"]
            found.append(("Alert", event["time"], (event["service"], event["text"])))
    return found


def _best_customers(events: list[Event], last: int) -> list[Answer]:
    found: list[Answer] = []
    for moment in _clock(events, 20, last):
        window = _from_to(events, moment - 60, moment)
        latest = {event["customer"]: event for event in window}
        spent = {name: sum(e["amount"] for e in window if e["customer"] == name) for name in latest}
        best = sorted(latest, key=lambda name: (spent[name], _place(latest[name])))[-2:]
        found += [("Best", moment, (name, spent[name], latest[name]["time"])) for name in best]
    return found


def _rising_warnings(events: list[Event], last: int) -> list[Answer]:
    del last
    warnings: list[tuple[int, int, float]] = []
    for event in events:
        before = _earlier(events, event, 10, rack=event["rack"])
        if event["v"] >= 60 and before and before[-1]["v"] >= 60:
            warnings.append((event["time"], event["rack"], (before[-1]["v"] + event["v"]) / 2))
    found: list[Answer] = [("Warning", time, (rack, mean)) for time, rack, mean in warnings]
    for time, rack, mean in warnings:
        before_it = [each for each in warnings if each[1] == rack and time - 20 <= each[0] < time]
        if before_it and before_it[-1][2] < mean:
            found.append(("Alert", time, (rack, mean)))
    return found


def _taxis(events: list[Event], last: int) -> list[Answer]:
    del last
    found: list[Answer] = []
    missing: list[tuple[int, int]] = []
    for depart in (event for event in events if event["type"] == "Depart"):
        taxi, over = depart["taxi"], depart["time"] + 30
        heard = _from_to(events, depart["time"] + 1, over, taxi=taxi)
        if not any(event["type"] == "Arrive" or event.get("ok") for event in heard):
            missing.append((over, taxi))
            found.append(("Missing", over, (taxi,)))
    for arrive in (event for event in events if event["type"] == "Arrive"):
        over = max((time for time, taxi in missing if taxi == arrive["taxi"] and time < arrive["time"]), default=-1)
        alike = {"type": "Arrive", "taxi": arrive["taxi"]}
        if over >= 0 and not _from_to(events, over + 1, arrive["time"], **alike):
            depart = _from_to(events, over - 30, over, type="Depart", taxi=arrive["taxi"])[-1]
            found.append(("Late", arrive["time"], (arrive["taxi"], float(arrive["time"] - depart["time"]))))
    return found


def _coupons(events: list[Event], last: int) -> list[Answer]:
    del last
    found: list[Answer] = []
    gone: set[int] = set()

    def before(event: Event) -> Event | None:
        some = [e for e in events if e["type"] == "Browse" and e["user"] == event["user"] and e["nr"] not in gone]
        near = [e for e in some if _place(e) < _place(event) and e["time"] >= event["time"] - 20]
        return near[-1] if near else None

    for third in (event for event in events if event["type"] == "Browse"):
        second = before(third) if third["nr"] not in gone else None
        opening = before(second) if second is not None else None
        if second is None or opening is None:
            continue
        bought = _from_to(events, opening["time"], third["time"] + 15, type="Buy", user=third["user"])
        if not any(_place(event) > _place(opening) for event in bought):
            gone |= {opening["nr"], second["nr"], third["nr"]}
            found.append(("Coupon", third["time"] + 15, (third["user"], opening["time"])))
    return found


def _declined_cards(events: list[Event], last: int) -> list[Answer]:
    del last
    found: list[Answer] = []
    for event in (each for each in events if not each["ok"]):
        declined = _earlier(events, event, 60, ip=event["ip"], ok=False)
        cards = {other["card"] for other in declined}
        fine = _earlier(events, event, 30, ip=event["ip"], ok=True, card=event["card"])
        if len(cards) >= 2 and not fine:
            found.append(("Carding", event["time"], (event["ip"], len(cards), len(declined))))
    return found


def _better_quotes(events: list[Event], last: int) -> list[Answer]:
    del last
    found: list[Answer] = []
    for trade in (event for event in events if event["type"] == "Trade"):
        quotes = _earlier(events, trade, 30, type="Quote", symbol=trade["symbol"])
        latest = list({quote["exchange"]: quote for quote in quotes}.values())
        if latest:
            best = max(latest, key=lambda quote: (-quote["price"], _place(quote)))
            if best["price"] < trade["price"]:
                found.append(("Better", trade["time"], (trade["symbol"], best["exchange"], best["price"])))
    return found


def _outages(events: list[Event], last: int) -> list[Answer]:
    del last
    found: list[Answer] = []
    for up in (event for event in events if event["up"]):
        before = _earlier(events, up, 10**6, dev=up["dev"])
        if before and not before[-1]["up"]:
            back = max((event["time"] for event in before if event["up"]), default=-1)
            down = [event["time"] for event in before if not event["up"] and event["time"] > back]
            found += [("Outage", up["time"], (up["dev"], min(down)))] if down else []
    return found


def _compared_records(events: list[Event], last: int) -> list[Answer]:
    del last
    found: list[Answer] = []
    for event in events:
        recent = [other["v"] for other in _earlier(events, event, 10)]
        ever = [other["v"] for other in _earlier(events, event, 10**6)]
        if recent and max(recent) * 10 >= max(ever) * 9:
            found.append(("Near", event["time"], (max(recent), max(ever))))
    return found


ASKED = [
    Asked(
        "above 50 for half a minute without a break, told when the half minute is over",
        """define Rise(dev: string)
        from T(dev=$d and v > 50) as Begin and all 0.. T(dev=$d) as Earlier within 1 day from Begin and
             (count(Earlier) = 0 or last(Earlier).v <= 50)
        where dev=$d
        define Held(dev: string, since: timestamp)
        from 30 s after Rise(dev=$d) and not T(dev=$d and v <= 50) as Low between Rise and now
        where dev=$d and since=Rise.time""",
        {"T": {"dev": ["a", "b"], "v": [40, 45, 55, 60, 70]}},
        _held,
        until="end",
    ),
    Asked(
        "the first error of a service, then nothing of it for half a minute",
        """ties ordered;
        define Alert(service: string, text: string)
        from Error(service=$s) and not Alert(service=$s) within 30 s from Error
        where service=$s and text=Error.text""",
        {"Error": {"service": ["a", "b"], "text": ["x", "y", "z"]}},
        _throttled,
    ),
    Asked(
        "the two customers who spent most in the last minute, every 20 seconds",
        """define Best(customer: string, spent: int, latest: timestamp)
        from every 20 s and 2 top Buy(customer=$c) by $t per customer within 1 min from now and
             $t = Sum(Buy(customer=$c).amount within 1 min from now)
        where customer=$c and spent=$t and latest=Buy.time""",
        {"Buy": {"customer": ["a", "b", "c", "d"], "amount": [1, 2, 3, 5]}},
        _best_customers,
    ),
    Asked(
        "two hot readings within 10 s are a warning, two warnings within 20 s with a rising mean an alert",
        """define Warning(rack: int, mean: double)
        from T(rack=$r and v >= 60) as Hot and last T(rack=$r) as Former within 10 s from Hot and Former.v >= 60
        where rack=$r and mean=(Former.v + Hot.v) / 2
        define Alert(rack: int, mean: double)
        from Warning(rack=$r) and last Warning(rack=$r) as Before within 20 s from Warning and
             Before.mean < Warning.mean
        where rack=$r and mean=Warning.mean""",
        {"T": {"rack": [1, 2], "v": [50, 60, 61, 65, 70]}},
        _rising_warnings,
    ),
    Asked(
        "taxis that neither arrived nor called within half a minute, and those that arrived later than that",
        """define Missing(taxi: int)
        from 30 s after Depart(taxi=$t) and not Arrive(taxi=$t) between Depart and now and
             not Call(taxi=$t and ok) between Depart and now
        where taxi=$t
        define Late(taxi: int, seconds: double)
        from Arrive(taxi=$t) and last Missing(taxi=$t) within 1 day from Arrive and
             not Arrive(taxi=$t) as Other between Missing and Arrive and last Depart(taxi=$t) within 30 s from Missing
        where taxi=$t and seconds=(Arrive.time - Depart.time) / 1 s""",
        {
            "Depart": {"taxi": [1, 2, 3]},
            "Arrive": {"taxi": [1, 2, 3]},
            "Call": {"taxi": [1, 2, 3], "ok": [True, False]},
        },
        _taxis,
        until="end",
    ),
    Asked(
        "three visits, each within 20 s of the next, and nothing bought until 15 s after; each visit counts once",
        """ties ordered;
        define Coupon(user: string, since: timestamp)
        from 15 s after Browse(user=$u) as Third and last Browse(user=$u) as Former within 20 s from Third and
             last Browse(user=$u) as Opening within 20 s from Former and not Buy(user=$u) between Opening and now
        where user=$u and since=Opening.time
        consuming Opening, Former, Third""",
        {"Browse": {"user": ["a", "b"]}, "Buy": {"user": ["a", "b", "c"]}},
        _coupons,
        until="end",
    ),
    Asked(
        "a card is declined at an address where two other cards were, unless it was good there just before",
        """define Carding(ip: string, cards: int, declined: int)
        from Pay(ip=$i and not ok) as Now and all 2.. Pay(ip=$i and not ok) as Bad within 1 min from Now and
             $k = CountDistinct(Bad.card) and $k >= 2 and
             not Pay(ip=$i and ok and card = Now.card) as Good within 30 s from Now
        where ip=$i and cards=$k and declined=count(Bad)""",
        {"Pay": {"ip": ["a", "b"], "card": [1, 2, 3], "ok": [True, False, False]}},
        _declined_cards,
    ),
    Asked(
        "the best of the latest quotes of all exchanges, if it is better than the price of a trade",
        """define Better(symbol: string, exchange: string, price: int)
        from Trade(symbol=$s) and
             top Quote(symbol=$s) as Best by 0 - Best.price per exchange within 30 s from Trade and
             Best.price < Trade.price
        where symbol=$s and exchange=Best.exchange and price=Best.price""",
        {
            "Trade": {"symbol": ["a", "b"], "price": [10, 11, 12]},
            "Quote": {"symbol": ["a", "b"], "exchange": ["x", "y", "z"], "price": [9, 10, 11, 12]},
        },
        _better_quotes,
    ),
    Asked(
        "a device that is up again: since when was it down?",
        """define Outage(dev: string, since: timestamp)
        from S(dev=$d and up=true) as Up and last S(dev=$d) as Latest within 1 day from Up and Latest.up = false and
             $back = Last(S(dev=$d and up=true).time within 1 day from Up) and
             $since = if($back is null, First(S(dev=$d).time within 1 day from Up),
                         First(S(dev=$d and up=false and time > $back).time within 1 day from Up))
        where dev=$d and since=$since""",
        {"S": {"dev": ["a", "b"], "up": [True, False, False]}},
        _outages,
    ),
    Asked(
        "is the greatest value of the last 10 s near the greatest of all?",
        """event P(v: int)
        define Near(recent: int, ever: int)
        from P() as Now and $r = Max(P().v within 10 s from Now) and $e = Max(P().v since start) and $r * 10 >= $e * 9
        where recent=$r and ever=$e""",
        {"P": {"v": list(range(50, 100))}},
        _compared_records,
    ),
]
