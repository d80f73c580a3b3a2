"""What happened to tables: `log`, `changes`, `diff`, `rollback`, and consumers that follow it."""
