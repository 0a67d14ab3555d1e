. "$SOURCE/tests/docs/before/pedidos.sh"
