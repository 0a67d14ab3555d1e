-- The sample events of the specification (000, section 7.3), as they stand there, for PostgreSQL.
--
-- FOR THROW-AWAY DATABASES ONLY. Written by hand they do not pass through Trilha: nothing is validated against the
-- registry and nothing is redacted, so the log then holds the citizen's words, exact coordinates and id in clear text,
-- and being append-only it keeps them. `trilha demo` publishes the same three events the proper way.
--
--   psql "$URL" -f sql/dev/seed.sql        (as the owner of core, after `trilha init`)

INSERT INTO core.event_log (event_id, tipo, versao_schema, timestamp, origem, correlacao_id, payload)
VALUES
  (
    'a1b2c3d4-e5f6-7890-abcd-ef1234567890',
    'demanda.recebida',
    '1.0.0',
    '2026-06-15T10:30:00Z',
    'D-1a',
    'a1b2c3d4-e5f6-7890-abcd-ef1234567890',
    '{"demanda_id": "a1b2c3d4-e5f6-7890-abcd-ef1234567890", "texto_bruto": "Falta d''água na Rua das Flores", "localizacao_bruta": {"lat": -23.5505, "lng": -46.6333}, "cidadao_id": "u1", "canal": "app"}'
  ),
  (
    'b2c3d4e5-f6a7-8901-bcde-f12345678901',
    'demanda.normalizada',
    '1.0.0',
    '2026-06-15T10:30:05Z',
    'D-1b',
    'a1b2c3d4-e5f6-7890-abcd-ef1234567890',
    '{"demanda_id": "a1b2c3d4-e5f6-7890-abcd-ef1234567890", "titulo": "Falta de água na Rua das Flores", "descricao_limpa": "Falta dágua na Rua das Flores", "confianca_normalizacao": 0.95}'
  ),
  (
    'c3d4e5f6-a7b8-9012-cdef-123456789012',
    'demanda.categorizada',
    '1.0.0',
    '2026-06-15T10:30:10Z',
    'D-3',
    'a1b2c3d4-e5f6-7890-abcd-ef1234567890',
    '{"demanda_id": "a1b2c3d4-e5f6-7890-abcd-ef1234567890", "categoria_id": "1.1", "nivel_precedencia": 1, "score_horizontal": 95, "confianca_categorizacao": 0.88, "metodo": "automatico"}'
  );
