. "$SOURCE/tests/docs/before/man.sh"
printf 'serve:\n  api: {allow: [127.0.0.1]}\n' >trilha.yaml
