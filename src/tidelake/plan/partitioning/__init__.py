"""How a table's rows are put into partitions: what is declared, and what follows for files."""
