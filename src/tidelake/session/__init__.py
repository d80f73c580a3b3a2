"""Where the rooms meet: Lake, Table, Scan and the SQL front end."""
