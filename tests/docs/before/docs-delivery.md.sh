# A store with a type and three orders in it.
. "$SOURCE/tests/docs/before/pedidos.sh"
