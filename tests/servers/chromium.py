"""Chromium from the operating system's packages, driven by Playwright."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tests.servers.process import unavailable

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_FLAGS = (
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@contextmanager
def chromium() -> Iterator["Browser"]:
    """A browser without a window."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or unavailable("chromium", "apt-get install chromium")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=list(_FLAGS))
        yield browser
        browser.close()
