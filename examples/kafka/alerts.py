"""Prints the fires in the topic ``fires``, each once: ``python alerts.py [TOPIC]``; ends when none comes for 5 s."""

import sys

from confluent_kafka import Consumer


def main(topic: str) -> None:
    """Print the messages; whoever may be told of one twice leaves out keys that it knows."""
    consumer = Consumer(
        {"bootstrap.servers": "127.0.0.1:9092", "group.id": "alerts", "auto.offset.reset": "earliest"},
    )
    consumer.subscribe([topic])
    known = set()
    while (message := consumer.poll(5.0)) is not None or not known:
        if message is not None and message.error() is None and message.key() not in known:
            known.add(message.key())
            print(message.value().decode())
    consumer.close()
    print(f"{len(known)} fires", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "fires")
