# The producer's own database is the store of every command.
export TRILHA_STORE="${TRILHA_STORE:-sqlite:app.db}"
