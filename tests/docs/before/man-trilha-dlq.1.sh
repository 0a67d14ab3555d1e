# Seven dead letters of D-4, the last of them given up; the colony's own process runs, with a handler that works by now.
. "$SOURCE/tests/docs/before/man.sh"
{
  for n in 1 2 3 4 5 6; do cat requests.ndjson; done >six.ndjson
  trilha publish --ndjson six.ndjson
  trilha consume --colony D-4 --type demanda.recebida --from start --once --each --exec false
  for n in 1 2 3 4; do trilha dlq reprocess --colony D-4 --id 7 --each --exec false && exit 1; done
  sed -i '/os.kill/d; /time.sleep/d' handler.py
  trilha consume --colony D-4 --type demanda.recebida --exec ./handler &
  until trilha consumers list | grep -E 'live|catching'; do sleep 0.1; done
} >/dev/null 2>&1
