# What docs/delivery.md and docs/registry.md take for granted: a store, two types in a folder, and three orders.
{
  mkdir types
  cp "$SOURCE"/examples/types/demanda.recebida-*.json types
  cat >types/pedido.criado.yaml <<'YAML'
tipo: pedido.criado
versao: 1.0.0
schema:
  type: object
  required: [pedido]
  properties:
    pedido: {type: string, x-redacao: manter}
    total: {type: number, x-redacao: manter}
YAML
  trilha init
  trilha registry apply types/pedido.criado.yaml
  for n in 1 2 3; do echo "{\"pedido\":\"P-$n\",\"total\":$n}" | trilha publish --type pedido.criado --origin loja; done
} >/dev/null
