from __future__ import annotations

import pytest

from cepheus.core.time import MINUTE, SECOND
from cepheus.language.etalis import parse as parse_intervals
from cepheus.language.tesla import parse
from cepheus.plan.split import ByBand, ByKey, BySlice, Split, WayName, Whole, split
from cepheus.rules.check import check

TYPES = (
    "event Smoke(area: string, km: double, n: int); event Temp(area: string, km: double, value: double);"
    "event Rain(area: string, km: double, zone: int);"
)
FIRE = (
    "define Fire(area: string, km: double) from Smoke({}) and last Temp({}) within 5 min from Smoke "
    "where area={}, km={}"
)
KEYED = FIRE.format("area=$a", "area=$a", "$a", "Smoke.km")
BANDED = FIRE.format("km=$k", "$k-10 < km < $k+10", "Smoke.area", "$k")
FREE = FIRE.format("", "", "Smoke.area", "Smoke.km")


def made(text: str, shards: int = 4, ways: set[WayName] | None = None) -> Split:
    return split(check(parse(TYPES + text)), ways=ways or set(WayName), shards=shards)


def test_a_key_is_found_from_a_parameter() -> None:
    (group,) = made(KEYED).groups
    assert group.way == ByKey({"Smoke": "area", "Temp": "area"})
    assert group.reasons == ()


def test_a_key_is_carried_along_by_composite_events() -> None:
    alarm = "; define Alarm() from Rain(area=$x) and each Fire(area=$x) within 3 min from Rain"
    (group,) = made(KEYED + alarm).groups
    assert group.way == ByKey({"Smoke": "area", "Temp": "area", "Rain": "area"})


def test_a_key_of_a_rule_that_feeds_itself() -> None:
    rising = (
        "define Up(area: string, v: double) from Temp(area=$a, value=$v) and "
        "last Up(area=$a, v<$v) within 5 min from Temp where area=$a, v=$v"
    )
    (group,) = made(rising).groups
    assert group.way == ByKey({"Temp": "area"})


def test_a_composite_event_that_drops_the_key_is_in_the_way() -> None:
    fire = FIRE.format("area=$a", "area=$a", "'somewhere'", "Smoke.km")
    alarm = "; define Alarm() from Rain(area=$x) and each Fire(area=$x) within 3 min from Rain"
    (group,) = made(fire + alarm).groups
    assert isinstance(group.way, BySlice)
    assert str(group.reasons[0]) == "not by keys: in rule 'Fire', Fire does not carry along Smoke.area"


def test_an_equality_that_is_checked_later_is_no_key() -> None:
    late = (
        "define Fire() from Smoke() and last Temp(area=$z) within 5 min from Smoke and "
        "last Rain(area=$z) within 5 min from Smoke"
    )
    (group,) = made(late).groups
    assert isinstance(group.way, BySlice)


def test_integers_and_doubles_meet_as_doubles() -> None:
    (group,) = made("define P() from Smoke(n=$n) and each Temp(km=$n) within 5 s from Smoke").groups
    assert group.way == ByKey({"Smoke": "n", "Temp": "km"}, as_doubles=True)


def test_bands_and_their_margins_add_up() -> None:
    alarm = "; define Alarm() from Rain(km=$x) and each Fire(abs(km-$x) <= 3) within 3 min from Rain"
    (group,) = made(BANDED + alarm).groups
    assert group.way == ByBand({"Smoke": "km", "Temp": "km", "Rain": "km"}, {"Smoke": 3, "Temp": 13, "Rain": 0})
    assert "is not tied by an equality to Smoke.km" in str(group.reasons[0])


def test_bands_that_feed_themselves_have_no_end() -> None:
    spreading = (
        "define Near(km: double) from Smoke(km=$k) and each Near($k-1 < km < $k+1) within 5 s from Smoke where km=$k"
    )
    (group,) = made(spreading).groups
    assert isinstance(group.way, Whole)
    assert [reason.way for reason in group.reasons] == [WayName.KEYS, WayName.BANDS, WayName.SLICES]
    assert "without end" in group.reasons[1].words


def test_slices_reach_as_far_as_windows_add_up() -> None:
    alarm = "; define Alarm() from Rain() and each Fire() within 3 min from Rain"
    (group,) = made(FREE + alarm).groups
    assert group.way == BySlice({"Smoke": 3 * MINUTE, "Temp": 8 * MINUTE, "Rain": 0})


def test_what_consumes_is_not_sliced() -> None:
    (group,) = made(FREE + " consuming Temp").groups
    assert isinstance(group.way, Whole)
    assert group.reasons[-1].words == "what it consumes depends on all events before"


def test_rules_with_the_same_keys_share_a_group_and_others_do_not() -> None:
    by_zone = "; define Wet() from Rain(zone=$z) and last Rain(zone=$z) as Before within 5 s from Rain"
    by_area = "; define Damp() from Rain(area=$a) and last Smoke(area=$a) within 5 s from Rain"
    groups = made(KEYED + by_zone + by_area).groups
    assert [[rule.name for rule in group.rules] for group in groups] == [["Fire", "Wet"], ["Damp"]]


def test_a_rule_of_one_event_is_at_home_with_any_key() -> None:
    (group,) = made(KEYED + "; define Hot() from Temp(value > 90)").groups
    assert group.way == ByKey({"Smoke": "area", "Temp": "area"})
    (alone,) = made("define Hot() from Temp(value > 90)").groups
    assert alone.way == ByKey({"Temp": "time"})


def test_what_stays_whole_is_spread_over_as_many_shards_as_there_are() -> None:
    rules = ";".join(
        f"define P{n}() from Smoke() and last Temp(value>{n}) within {n + 1} s from Smoke consuming Temp"
        for n in range(5)
    )
    assert [len(group.rules) for group in made(rules, shards=2).groups] == [3, 2]
    assert len(made(rules, shards=8).groups) == 5


@pytest.mark.parametrize("allowed", [{WayName.SLICES, WayName.WHOLE}, {WayName.WHOLE}])
def test_a_host_may_allow_fewer_ways(allowed: set[WayName]) -> None:
    (group,) = made(KEYED, ways=allowed).groups
    assert isinstance(group.way, BySlice if WayName.SLICES in allowed else Whole)
    if isinstance(group.way, BySlice):
        assert group.way.reaches["Temp"] == 300 * SECOND


def test_only_what_rules_read_is_asked_for() -> None:
    assert [str(one) for one in made(KEYED).inputs] == [
        "Smoke(area: string, km: double)",
        "Temp(area: string)",
    ]


STAYS = "event enter(who: string, room: int). event leave(who: string, room: int). event badge(who: string).\n"


def over_intervals(text: str, ways: set[WayName] | None = None) -> Split:
    return split(check(parse_intervals(STAYS + text)), ways=ways or set(WayName), shards=4)


def test_a_shared_variable_is_a_key_under_every_policy() -> None:
    for policy in ("unrestricted", "recent, once, renewing", "chronological, longer"):
        rules = f"""
            policy {policy}.
            stay(W, R) <- enter(W, R) SEQ leave(W, R).
            strange(W) <- NOT(badge(W)).[enter(W, _), leave(W, _)] WHERE COUNT(badge(W) WITHIN 1 h) < 3.
            twice(W) <- stay(W, _) SEQ stay(W, _).
        """
        (group,) = over_intervals(rules).groups
        assert group.way == ByKey({"enter": "who", "leave": "who", "badge": "who"})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("p(W) <- enter(W, _) SEQ leave(_, _).", "'leave' does not share W"),
        ("p(W) <- NOT(badge(_)).[enter(W, _), leave(W, _)].", "'badge' does not share W"),
        ("p(W) <- enter(W, _) WHERE COUNT(badge(_) WITHIN 1 h) > 1.", "'badge' does not share W"),
        ("p(R) <- enter(W, R) SEQ leave(W, _).", "p does not carry along W, and equal events of different W are one"),
        ("p(W) <- enter(W, _). p(X) <- leave(_, R) WHERE X is 1.", "p does not carry along R"),
        ("p(W) <- enter(W, _) SEQ 5.", "a point in time goes with every value"),
        ("p() <- enter(_, _).", "no variable is shared by its events"),
    ],
)
def test_why_interval_rules_have_no_key(text: str, reason: str) -> None:
    groups = over_intervals("unit s. " + text, {WayName.KEYS, WayName.WHOLE}).groups
    found = [str(reason) for group in groups for reason in group.reasons]
    assert any(reason in words for words in found), found


def test_rules_agree_on_the_key_of_what_one_makes() -> None:
    (group,) = over_intervals("p(W, R) <- enter(W, R) SEQ leave(W, R). q(R) <- p(_, R) SEQ enter(_, R).").groups
    assert group.way == ByKey({"enter": "room", "leave": "room"})


def test_rules_that_make_the_same_events_stay_together() -> None:
    (group,) = over_intervals("p(W) <- enter(W, _). p(W) <- leave(W, _).").groups
    assert group.way == ByKey({"enter": "who", "leave": "who"})
    (group,) = over_intervals("p(W) <- enter(W, _). p(R) <- badge(R).").groups
    assert isinstance(group.way, ByKey)


def test_windows_make_slices_and_policies_do_not() -> None:
    windowed = "p(R) <- (enter(_, R) SEQ leave(_, _)).5 s. q <- (p(_) AND badge(_)).2 s."
    (group,) = over_intervals(windowed).groups
    assert group.way == BySlice({"enter": 7 * SECOND, "leave": 7 * SECOND, "badge": 2 * SECOND})
    counted = "p(R) <- (enter(_, R) FINISHES leave(_, _)) WHERE COUNT(badge(_) WITHIN 3 s) > 1."
    (group,) = over_intervals(counted).groups
    assert group.way == BySlice({"enter": 3 * SECOND, "leave": 3 * SECOND, "badge": 3 * SECOND})
    (group,) = over_intervals("policy recent. " + windowed).groups
    assert isinstance(group.way, Whole)
    assert "what its policy chooses depends on all events before" in str(group.reasons[-1])
    (group,) = over_intervals("p(R) <- enter(_, R) SEQ leave(_, _).").groups
    assert "no window says how far back it looks" in str(group.reasons[-1])


def test_both_families_go_by_one_key() -> None:
    rules = parse_intervals(STAYS + "stay(W) <- enter(W, _) SEQ leave(W, _).") + parse(
        "define Odd(who: string) from badge(who=$w) and not stay(arg1=$w) within 1 h from badge where who=$w"
    )
    (group,) = split(check(rules), shards=4).groups
    assert group.way == ByKey({"enter": "who", "leave": "who", "badge": "who"})
    assert [rule.name for rule in group.rules] == ["Odd", "stay"]


def test_uncertain_attributes_are_no_keys() -> None:
    uncertain = frozenset({("Temp", "area"), ("Temp", "km")})
    checked = check(parse(TYPES + KEYED + ";" + BANDED.replace("Fire", "Blaze")))
    made_of = split(checked, shards=4, uncertain=uncertain)
    assert [type(group.way).__name__ for group in made_of.groups] == ["BySlice"]
