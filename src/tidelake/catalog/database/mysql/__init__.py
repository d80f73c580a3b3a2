"""Catalogs in a MySQL or MariaDB database."""

from tidelake.catalog.database.backend import Backend
from tidelake.catalog.database.mysql.connections import MySQLDatabase
from tidelake.catalog.database.mysql.dialect import MySQLDialect
from tidelake.catalog.database.mysql.failures import failure_of
from tidelake.catalog.database.mysql.options import check_option

MYSQL = Backend(
    kind="mysql",
    schemes=("mysql", "mysql+pymysql", "mariadb"),
    ducklake_words=("mysql",),
    example="mysql://user@host/db",
    is_embedded=False,
    dialect=MySQLDialect(),
    connect=MySQLDatabase,
    failure_of=failure_of,
    drivers=("sqlalchemy", "pymysql"),
    check_option=check_option,
)
