# A producer's own database, on the store that the page names.
unset TRILHA_STORE
