# The schemas and documents of trilha-schema(1): no store is needed.
mkdir schemas
cat >pedido.schema.json <<'JSON'
{"properties": {"cliente": {"properties": {"nome": {"type": "string"}}}, "email": {"format": "email"}}}
JSON
echo '{"cliente": {"nome": 7}}' >pedido.json
echo '{"$ref": "https://example.org/schemas/b.json"}' >a.json
echo '{"type": "object"}' >schemas/b.json
echo '{}' >document.json
printf '%s\n' '{"email": "ana@example.org"}' '{"email": "ana"}' >pedidos.jsonl
