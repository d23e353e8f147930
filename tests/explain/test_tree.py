"""The tree on the terminal."""

from rich.console import Console

from cepheus.explain import rule_parts, tree
from cepheus.language.tesla import parse
from cepheus.rules.check.check import name_rules


def shown(text: str) -> str:
    console = Console(width=120, no_color=True, highlight=False)
    with console.capture() as capture:
        for rule in name_rules(parse(text)).rules:
            console.print(tree(rule_parts(rule)))
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def test_selection_parameter_and_consumption() -> None:
    text = """
        define Fire(area: string, temp: double)
        from   Smoke(area=$a) and last Temp(area=$a and value>45) within 5 min from Smoke
        where  area=Smoke.area and temp=Temp.value
        consuming Temp
    """
    assert shown(text) == (
        "rule Fire makes Fire(area: string, temp: double)\n"
        "├── when Smoke arrives   the terminator: it decides the rule, at its time\n"
        "│   └── $a is its area\n"
        "├── take the last Temp in the 5 min before Smoke\n"
        "│   ├── value > 45\n"
        "│   ├── area = $a   where $a is Smoke.area\n"
        "│   └── consumed: once it took part in a firing, this rule does not use it again\n"
        "├── make Fire(area: string, temp: double) at the time of Smoke\n"
        "│   ├── area = Smoke.area\n"
        "│   └── temp = Temp.value\n"
        "├── parameters\n"
        "│   └── $a is bound by Smoke.area, used by Temp\n"
        "└── looks back at most 5 min from each Smoke"
    )


def test_everything_else() -> None:
    text = """
        rule Big define Alarm(n: int)
        from Oxygen(concentr=<18%) and
             2 last Temp(value < $b) as Hot within 5 min from Oxygen and
             each Jam(km=$b) within 1 h from Hot and
             not Repair() between Hot and Oxygen and
             30 < $t = Avg(Temp().value within 5 min from Oxygen)
        where n=Count(Temp() within 5 min from Oxygen)
        min probability 0.5
    """
    assert shown(text) == (
        "rule Big makes Alarm(n: int)\n"
        "├── when Oxygen arrives   the terminator: it decides the rule, at its time\n"
        "│   └── concentr <= 18\n"
        "├── take up to 2 of the last Temp (called Hot) in the 5 min before Oxygen\n"
        "│   └── value < $b   where $b is Jam.km   checked once Jam is known\n"
        "├── take each Jam in the 1 h before Hot\n"
        "│   └── $b is its km\n"
        "├── no Repair strictly between Hot and Oxygen\n"
        "├── compute $t = Avg of value over every Temp in the 5 min before Oxygen\n"
        "│   └── go on only if 30 < $t\n"
        "├── compute Count over every Temp in the 5 min before Oxygen   for n\n"
        "├── make Alarm(n: int) at the time of Oxygen, one for each choice of Hot and Jam\n"
        "│   ├── n = Count(Temp() within 5 min from Oxygen)\n"
        "│   └── only if its probability is at least 0.5\n"
        "├── parameters\n"
        "│   ├── $b is bound by Jam.km, used by Hot\n"
        "│   └── $t is bound by Avg of value over Temp, used by 30 < $t\n"
        "└── looks back at most 65 min from each Oxygen"
    )


def test_a_rule_of_one_event() -> None:
    assert shown("define Alarm() from Smoke()") == (
        "rule Alarm makes Alarm()\n"
        "├── when Smoke arrives   the terminator: it decides the rule, at its time\n"
        "├── make Alarm() at the time of Smoke\n"
        "└── looks at Smoke alone"
    )


def test_a_moment_after_an_event() -> None:
    text = """
        define Unpaid(area: string)
        from 5 min after Order(number=$n) as o and not Paid(number=$n) between o and now and
             each Call(time < now.time) within 3 min from now
        where area=o.area
    """
    assert shown(text) == (
        "rule Unpaid makes Unpaid(area: string)\n"
        "├── 5 min after Order (called o) has arrived   this moment, called now, decides the rule\n"
        "│   └── $n is its number\n"
        "├── no Paid strictly between o and now\n"
        "│   └── number = $n   where $n is o.number\n"
        "├── take each Call in the 3 min before now\n"
        "│   └── time < now.time\n"
        "├── make Unpaid(area: string) at that moment, one for each choice of Call\n"
        "│   └── area = o.area\n"
        "├── parameters\n"
        "│   └── $n is bound by o.number, used by not Paid\n"
        "└── looks back at most 5 min from each moment"
    )


def test_regular_moments() -> None:
    text = "define Count(n: int) from every 10 min from 09:05 where n=Count(Temp() within 10 min from now)"
    assert shown(text) == (
        "rule Count makes Count(n: int)\n"
        "├── every 10 min from 09:05   the terminator: each such moment, called now, decides the rule\n"
        "├── compute Count over every Temp in the 10 min before now   for n\n"
        "├── make Count(n: int) at that moment\n"
        "│   └── n = Count(Temp() within 10 min from now)\n"
        "└── looks back at most 10 min from each moment"
    )
    assert shown("define Tick() from every 1 h").endswith("looks at the moment alone")
