#!/usr/bin/env bash
# Kafka to alerts without Docker: starts a broker, writes readings, runs the rules, prints what they find, ends all.
set -euo pipefail
cd "$(dirname "$0")"
bin=${CEPHEUS_BIN:-../../.venv/bin}
mkdir -p out
./broker.sh out/broker > out/broker.log 2>&1 &
broker=$!
trap 'kill $broker ${run:-} 2> /dev/null || true' EXIT
until (echo > /dev/tcp/127.0.0.1/9092) 2> /dev/null; do
  kill -0 $broker 2> /dev/null || { cat out/broker.log; exit 1; }
  sleep 1
done
"$bin/python" readings.py
"$bin/cepheus" live live.toml > out/live.log 2>&1 &
run=$!
"$bin/python" alerts.py
kill -TERM $run
wait $run || true
tail -n 1 out/live.log
