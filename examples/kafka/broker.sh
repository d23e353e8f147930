#!/usr/bin/env bash
# Runs a broker at 127.0.0.1:9092 from the jars that `make kafka` fetches: broker.sh FOLDER. Ctrl-C ends it.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
jars=${CEPHEUS_KAFKA_JARS:-${XDG_CACHE_HOME:-$HOME/.cache}/cepheus/kafka}
folder=${1:?where the broker keeps its data}
mkdir -p "$folder"
{ cat "$here/server.properties"; echo "log.dirs=$(cd "$folder" && pwd)/logs"; } > "$folder/server.properties"
if [ ! -e "$folder/logs/meta.properties" ]; then
  java -cp "$jars/*" kafka.tools.StorageTool format -t "$(java -cp "$jars/*" kafka.tools.StorageTool random-uuid)" \
    -c "$folder/server.properties"
fi
exec java -Xmx512m -cp "$jars/*" kafka.Kafka "$folder/server.properties"
