"""A headless Chromium, driven over a pair of pipes: one JSON message after the other, each ended by a zero byte."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
PATIENCE = 60  # seconds without an answer


class Browser:
    """A browser of its own profile; use it as a context."""

    def __init__(self, profile: Path) -> None:
        from_here, self._write = os.pipe()
        self._read, to_here = os.pipe()
        there, back = (fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (from_here, to_here))
        os.close(from_here)
        os.close(to_here)
        flags = (
            "--headless=new --no-sandbox --disable-gpu --hide-scrollbars --no-first-run --disable-extensions "
            "--disable-background-networking --disable-component-update --disable-sync --remote-debugging-pipe "
            f"--user-data-dir={profile} about:blank"
        )
        self._process = subprocess.Popen(
            ["bash", "-c", f'exec "$0" "$@" 3<&{there} 4>&{back}', str(CHROMIUM), *flags.split()],
            pass_fds=(there, back),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(there)
        os.close(back)
        self._left = b""
        self._number = 0
        self._tabs: dict[str, Tab] = {}

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(Exception):
            self.call("Browser.close")
        with suppress(OSError):
            os.close(self._write)
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._read)

    def call(self, method: str, session: str | None = None, /, **params: Any) -> dict[str, Any]:
        """The answer to a command; events that come before it are kept by their tabs."""
        self._number += 1
        number = self._number
        message: dict[str, Any] = {"id": number, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self._keep(answer)

    def wait(self, found: Callable[[], bool]) -> None:
        """Take events until something was found."""
        while not found():
            self._keep(self._next())

    def _keep(self, event: dict[str, Any]) -> None:
        tab = self._tabs.get(event.get("sessionId", ""))
        if tab is not None and "method" in event:
            tab.events.append(event)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._left:
            ready, _, _ = select.select([self._read], [], [], PATIENCE)
            part = os.read(self._read, 1 << 20) if ready else b""
            if not part:
                raise RuntimeError("the browser does not answer")
            self._left += part
        message, self._left = self._left.split(b"\0", 1)
        return json.loads(message)

    def open(
        self, path: Path, *, width: int = 1100, height: int = 900, dark: bool = False, scripts: bool = True
    ) -> Tab:
        """A tab with a page from disk, when it is loaded."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        tab = self._tabs[session] = Tab(self, session)
        for domain in ("Page", "Runtime", "Network", "Log", "DOM"):
            tab.call(f"{domain}.enable")
        tab.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        tab.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        tab.call("Emulation.setEmulatedMedia", features=[scheme])
        tab.call("Page.navigate", url=path.resolve().as_uri())
        self.wait(lambda: any(event["method"] == "Page.loadEventFired" for event in tab.events))
        return tab


@dataclass
class Tab:
    """A page, and what was heard of it."""

    browser: Browser
    session: str
    events: list[dict[str, Any]] = field(default_factory=list)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """A command to this page."""
        return self.browser.call(method, self.session, **params)

    def of(self, method: str) -> list[dict[str, Any]]:
        """What was heard of one kind so far."""
        self.call("Runtime.evaluate", expression="0")  # what was under way has arrived by then
        return [event["params"] for event in self.events if event["method"] == method]

    @property
    def complaints(self) -> list[str]:
        """Errors and warnings, of scripts and of the browser."""
        said = [f"{each['type']}: {each['args']}" for each in self.of("Runtime.consoleAPICalled")]
        said += [each["entry"]["text"] for each in self.of("Log.entryAdded")]
        return said + [each["exceptionDetails"]["text"] for each in self.of("Runtime.exceptionThrown")]

    @property
    def requests(self) -> list[str]:
        """Addresses that were asked for."""
        return [each["request"]["url"] for each in self.of("Network.requestWillBeSent")]

    def value(self, expression: str) -> Any:
        """The value of an expression of JavaScript."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def move(self, x: float, y: float) -> None:
        """The pointer goes there."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def press(self, key: str) -> None:
        """A key, pressed and let go."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    def picture(self, *, whole: bool = True) -> bytes:
        """A PNG of the page."""
        answer = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        return base64.b64decode(answer["data"])

    def printed(self) -> bytes:
        """The page as PDF."""
        return base64.b64decode(self.call("Page.printToPDF", preferCSSPageSize=True, printBackground=False)["data"])
