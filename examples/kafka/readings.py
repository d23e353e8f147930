"""Writes readings of sensors to the topic ``readings``: ``python readings.py [COUNT]``, a second apart, up to now."""

import json
import random
import sys
import time

from confluent_kafka import Producer


def main(count: int) -> None:
    """Write so many readings and, a while later, one more, which tells that no earlier one will come."""
    chance = random.Random(7)
    producer = Producer({"bootstrap.servers": "127.0.0.1:9092"})
    start = time.time_ns() // 1_000_000 - 1000 * count
    for number in range(count):
        area = f"A{chance.randrange(5)}"
        reading = {"type": "Temp", "time": start + 1000 * number, "area": area, "value": round(chance.gauss(30, 9), 1)}
        if chance.random() < 0.02:
            reading = {"type": "Smoke", "time": start + 1000 * number, "area": area}
        producer.produce("readings", json.dumps(reading), area)
    for partition in (0, 1):
        last = {"type": "Temp", "time": start + 1000 * count + 120_000, "area": "none", "value": 0.0}
        producer.produce("readings", json.dumps(last), partition=partition)
    producer.flush()
    print(f"{count} readings written")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
