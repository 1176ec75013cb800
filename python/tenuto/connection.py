"""Speaking to a running controller over HTTP or HTTPS: the part of the client that is not generated."""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any, Iterator, Mapping, Optional


class ServiceError(Exception):
    """An answer that says no. ``problem`` is the problem document (RFC 9457), refusals and mistakes in it."""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        self.status = status
        self.problem = problem
        super().__init__(f"{status}: {problem.get('detail') or problem.get('title') or 'no reason given'}")

    @property
    def is_refusal(self) -> bool:
        """Whether something is scarce, or in conflict: another request may be admitted."""
        return self.status == 409


class Connection:
    """Where a controller is, and the token that is shown to it.

    ``ca_file`` names who may vouch for it, where it speaks HTTPS; nobody else is believed then.
    """

    def __init__(
        self,
        base: str,
        token: str,
        *,
        ca_file: Optional[str] = None,
        timeout_s: float = 600.0,
    ) -> None:
        self._base = base.strip().rstrip("/")
        self._token = token
        self._timeout_s = timeout_s
        self._context: Optional[ssl.SSLContext] = None
        if self._base.startswith("https:"):
            self._context = ssl.create_default_context(cafile=ca_file)

    def _open(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any],
        headers: Mapping[str, Any],
        body: Any,
    ) -> Any:
        named = {key: _text(value) for key, value in query.items() if value is not None}
        url = self._base + path + ("?" + urllib.parse.urlencode(named) if named else "")
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url, data=data, method=method)
        request.add_header("Authorization", f"Bearer {self._token}")
        if data is not None:
            request.add_header("Content-Type", "application/json")
        for key, value in headers.items():
            if value is not None:
                request.add_header(key, _text(value))
        try:
            return urllib.request.urlopen(request, timeout=self._timeout_s, context=self._context)
        except urllib.error.HTTPError as error:
            with error:
                text = error.read()
            raise ServiceError(error.code, _problem(text)) from None

    def _json(self, *call: Any) -> Any:
        with self._open(*call) as answer:
            return json.load(answer)

    def _read(self, *call: Any) -> str:
        with self._open(*call) as answer:
            return answer.read().decode()

    def _events(self, *call: Any) -> Iterator[Any]:
        """Server-sent events, one by one, for as long as the service runs."""
        with self._open(*call) as answer:
            data: list[str] = []
            for raw in answer:
                line = raw.decode().rstrip("\r\n")
                if line.startswith("data:"):
                    data.append(line[5:].lstrip(" "))
                elif not line and data:
                    yield json.loads("\n".join(data))
                    data = []


def local_arguments(state: str) -> dict[str, Any]:
    """What a controller of this machine leaves in the folder of its state: address, token, who vouches for it."""
    folder = Path(state)
    authority = folder / "ca.pem"
    return {
        "base": (folder / "address").read_text().strip(),
        "token": (folder / "token").read_text().strip(),
        "ca_file": str(authority) if authority.exists() else None,
    }


def quoted(name: str) -> str:
    """A name as part of an address."""
    return urllib.parse.quote(name, safe="")


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _problem(text: bytes) -> Mapping[str, Any]:
    try:
        problem = json.loads(text)
    except ValueError:
        return {"detail": text.decode(errors="replace").strip()}
    return problem if isinstance(problem, dict) else {"detail": str(problem)}
