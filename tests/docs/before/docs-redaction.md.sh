# The type of the first example, the page's own YAML, and a payload of it.
trilha init >/dev/null
sed -n '/^```yaml$/,/^```$/p' "$SOURCE/docs/redaction.md" | sed '/^```/d' >type.yaml
trilha registry apply type.yaml >/dev/null
echo '{"demanda_id":"a1b2c3d4-e5f6-7890-abcd-ef1234567890","texto_bruto":"Falta d'"'"'água","cidadao_id":"c-1"}' >payload.json
