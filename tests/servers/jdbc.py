"""Arrow's JDBC driver of Flight SQL, in a Java of its own that Python talks to."""

import subprocess
from pathlib import Path
from typing import Any

import pyspark
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

VERSION = "18.3.0"


class JdbcDriver:
    """Fetches the driver from Maven Central into a folder, and starts Java with it."""

    def __init__(self, folder: Path) -> None:
        jars = Path(pyspark.__file__).parent / "jars"
        (ivy,), (py4j,) = jars.glob("ivy-*.jar"), jars.glob("py4j-*.jar")
        subprocess.run(
            [
                *("java", "-cp", str(ivy), "org.apache.ivy.Main", "-notransitive"),
                *("-cache", str(folder / "cache"), "-types", "jar"),
                *("-dependency", "org.apache.arrow", "flight-sql-jdbc-driver", VERSION),
                *("-retrieve", f"{folder}/[artifact]-[type].[ext]"),
            ],
            check=True,
            capture_output=True,
            timeout=300,
        )
        driver = next(path for path in folder.glob("*.jar") if "sources" not in path.name)
        port, token = launch_gateway(
            jarpath=str(py4j),
            classpath=str(driver),
            javaopts=["--add-opens=java.base/java.nio=ALL-UNNAMED"],
            die_on_exit=True,
            enable_auth=True,
        )
        self._gateway = JavaGateway(
            gateway_parameters=GatewayParameters(port=port, auth_token=token, auto_convert=True)
        )

    def connect(self, url: str) -> Any:
        """A `java.sql.Connection`."""
        jvm = self._gateway.jvm
        jvm.java.lang.Class.forName("org.apache.arrow.driver.jdbc.ArrowFlightJdbcDriver")
        return jvm.java.sql.DriverManager.getConnection(url)

    def stop(self) -> None:
        self._gateway.shutdown()


def rows(result: Any) -> list[list[str | None]]:
    """What a `ResultSet` has, as text; it is closed then."""
    count, found = result.getMetaData().getColumnCount(), []
    while result.next():
        found.append([result.getString(n + 1) for n in range(count)])
    result.close()
    return found
