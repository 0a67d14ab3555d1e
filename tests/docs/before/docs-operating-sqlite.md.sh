# A store that is in use; the page is about this one, whatever the environment names.
unset TRILHA_STORE
trilha init --dev >/dev/null 2>&1
