# Three events behind the cursor of D-4: as many as the consumers of this page take until they are stopped.
. "$SOURCE/tests/docs/before/man.sh"
{
  trilha consume --colony D-4 --type demanda.recebida --once --exec ./handler
  for n in 1 2 3; do trilha publish --type demanda.recebida --origin D-1a payload.json; done
} >/dev/null
