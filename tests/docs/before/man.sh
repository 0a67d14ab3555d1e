# What the manual pages take for granted: a store with types and some events, and the files that their examples name.
# Handlers end their consumer once they have what they wait for, since a reader would press Ctrl-C.
{
  mkdir types schemas
  cat >types/pedido.criado.yaml <<'YAML'
tipo: pedido.criado
versao: "1.0.0"
descricao: An order was placed
schema:
  type: object
  required: [pedido]
  additionalProperties: false
  properties:
    pedido: { type: string, x-redacao: manter }
    cliente: { type: string, x-redacao: remover }
YAML
  trilha init --dev
  export TRILHA_KEYRING=file:trilha.keyring

  echo '{"pedido":"P-1"}' >pedido.json
  cat >payload.json <<'JSON'
{"demanda_id":"a1b2c3d4-e5f6-7890-abcd-ef1234567890","texto_bruto":"Buraco na rua","localizacao_bruta":{"lat":-23.55,"lng":-46.63},
 "cidadao_id":"c-1","canal":"app"}
JSON
  jq -c '{tipo: "demanda.recebida", origem: "D-1a", payload: .}' payload.json >requests.ndjson

  cat >handler.py <<'PYTHON'
import json, os, signal, sys, time
for line in sys.stdin:
    os.kill(os.getppid(), signal.SIGTERM)
    time.sleep(1)  # it is stopping by then, and asks for no other
    print("ok", json.loads(line)["sequence_number"], flush=True)
PYTHON
  printf '#!/bin/sh\ncat >/dev/null\nkill -TERM $PPID\nsleep 1\n' >handle
  printf '#!/bin/sh\nwhile read -r event; do echo "ok $(printf %%s "$event" | jq -r .sequence_number)"; done\n' >handler
  printf '#!/bin/sh\nread -r event\nexec <&-\ntrilha publish --type demanda.recebida --origin D-1a payload.json\n' >my-consumer
  chmod +x handle handler my-consumer
} >/dev/null
