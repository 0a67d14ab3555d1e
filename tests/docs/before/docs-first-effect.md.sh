# The reader stands in the folder of Trilha.
cd "$SOURCE"
