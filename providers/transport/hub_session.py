"""One conversation with the Hub about one repository: a deadline for all of it, limits on sizes, and failures as `Refusal`s."""
from __future__ import annotations

import re
import time
from typing import Any
from urllib.parse import quote, urlsplit

from planning.errors import Refusal
from planning.resolve import json_object

_COMMIT = re.compile(r"^[0-9a-f]{40}$")


class Failed(Exception):
    """The Hub said no, or nothing, or something that cannot be used. Carries the `refusal`."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.code)
        self.refusal = refusal


class Session:
    """`name`: what the repository is called after redirects; `commit`: 40 hex digits once the summary is read."""

    def __init__(self, model: str, revision: str, *, token: str | None, endpoint: str | None, timeout: float) -> None:
        from huggingface_hub import constants, get_token
        from huggingface_hub.utils import HFValidationError, validate_repo_id

        self.model, self.revision, self.timeout = model, revision, timeout
        self.name, self.commit = model, None
        self.endpoint = (endpoint or constants.ENDPOINT).rstrip("/")
        self._until = time.monotonic() + timeout
        token = (token or "").strip() or None
        if token and not re.fullmatch(r"[!-~]+", token):
            raise Failed(self._refusal("the token cannot be used", "blanks, line breaks or other characters that no token has", "hf_…",
                                       "set amd-vllm:hfToken again, the token only"))
        try:
            validate_repo_id(model)
        except HFValidationError:
            raise Failed(self._refusal("that is no name of a repository", "letters, digits or marks that the Hub does not allow", "ORG/NAME",
                                       "correct `model`")) from None
        token = token or (None if constants.HF_HUB_DISABLE_IMPLICIT_TOKEN else get_token())
        # Not `build_hf_headers`: to name its caller, it asks the Hub for a list of coding agents first.
        self._headers = {"User-Agent": "amd-vllm", **({"Authorization": f"Bearer {token}"} if token else {})}
        self._has_token = token is not None

    def summary(self, limit: int) -> dict[str, Any]:
        """What the Hub's API says about the repository, files with sizes included. Raises Failed."""
        url = f"{self.endpoint}/api/models/{quote(self.model)}/revision/{quote(self.revision, safe='')}"
        content = self._get(url, limit, params={"blobs": "true"})
        try:
            value = json_object.parse(content)
        except ValueError:
            value = {}
        if not isinstance(value.get("siblings"), list):
            raise Failed(self._unusable("an answer that is not the Hub's (a proxy's or a login page?)"))
        name, commit = value.get("id") or value.get("modelId"), value.get("sha")
        self.name = name if isinstance(name, str) and re.fullmatch(r"[\w.\-]+(/[\w.\-]+)?", name) else self.model
        self.commit = commit if isinstance(commit, str) and _COMMIT.match(commit) else None
        return value

    def file(self, path: str, limit: int, first_bytes: int | None = None) -> bytes:
        """A file at the pinned commit; `first_bytes`: only its beginning, whether the server heeds the range or not. Raises Failed."""
        from huggingface_hub import hf_hub_url

        url = hf_hub_url(self.name, path, revision=self.commit or self.revision, endpoint=self.endpoint)
        return self._get(url, limit, first_bytes=first_bytes)

    def _get(self, url: str, limit: int, *, params: dict[str, str] | None = None, first_bytes: int | None = None) -> bytes:
        import httpx2
        from huggingface_hub.errors import OfflineModeIsEnabled
        from huggingface_hub.utils import get_session

        headers = {**self._headers, **({"Range": f"bytes=0-{first_bytes - 1}", "Accept-Encoding": "identity"} if first_bytes else {})}
        try:
            with get_session().stream("GET", url, headers=headers, params=params, timeout=self._left()) as response:
                if response.status_code >= 400:
                    raise Failed(self._said_no(response))
                return self._body(response, url, limit, first_bytes)
        except OfflineModeIsEnabled:
            raise Failed(self._refusal("the Hub may not be asked, offline mode is on", "HF_HUB_OFFLINE (or TRANSFORMERS_OFFLINE) is set",
                                       "metadata of the model", "unset HF_HUB_OFFLINE, or give a model directory instead of a name")) from None
        except httpx2.TimeoutException:
            raise Failed(self._silent()) from None
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError) as error:
            raise Failed(self._refusal(f"the Hub cannot be reached at {self._place()}", type(error).__name__, "an answer of the Hub",
                                       "check the network of this machine, HF_ENDPOINT and HTTPS_PROXY")) from None

    def _body(self, response: Any, url: str, limit: int, first_bytes: int | None) -> bytes:
        content = bytearray()
        for chunk in response.iter_bytes():
            content += chunk
            if first_bytes and len(content) >= first_bytes:
                return bytes(content[:first_bytes])
            if len(content) > limit:
                raise Failed(self._unusable(f"more than {limit} bytes for {urlsplit(url).path.rsplit('/', 1)[-1]}"))
            self._left()
        return bytes(content)

    def _left(self) -> float:
        left = self._until - time.monotonic()
        if left <= 0:
            raise Failed(self._silent())
        return left

    def _said_no(self, response: Any) -> Refusal:
        """The Hub's status and its X-Error-Code, as huggingface_hub reads them."""
        code, status = response.headers.get("X-Error-Code", ""), response.status_code
        message = response.headers.get("X-Error-Message", "")
        if code == "GatedRepo" or (status == 403 and not code and "disabled" not in message):
            return self._gated(status)
        if "Invalid credentials" in message or (status == 401 and self._has_token and not code):
            return self._refusal("the Hub does not accept the token", f"{status}: the token is invalid or expired", "a valid token",
                                 "make a new token at https://huggingface.co/settings/tokens and set amd-vllm:hfToken (or HF_TOKEN)")
        if code == "RevisionNotFound":
            return self._refusal(f"revision {self.revision} does not exist", f"revision: {self.revision}", "a branch, tag or commit",
                                 f"choose one of https://huggingface.co/{self.name}/commits/main, or leave `revision` out")
        if code == "RepoNotFound" or (status in (401, 404) and code != "EntryNotFound"):
            return self._missing(status)
        if status == 429:
            return self._refusal("the Hub limits how often it is asked", "429 Too Many Requests", "an answer of the Hub",
                                 "wait some minutes" + ("" if self._has_token else ", or set amd-vllm:hfToken: accounts have a higher limit"))
        return self._refusal("the Hub answered with an error", f"HTTP {status}" + (f", {code}" if code else ""), "an answer of the Hub",
                             "try again later; https://status.huggingface.co says whether the Hub has a problem")

    def _gated(self, status: int) -> Refusal:
        page = f"https://huggingface.co/{self.name}"
        if not self._has_token:
            return Refusal("gated", f"{self.model} is gated, and no token was given", f"{status} without a token",
                           "a token of an account that accepted the model's licence",
                           f"accept the licence at {page}, then `pulumi config set --secret amd-vllm:hfToken …`, or set HF_TOKEN")
        return Refusal("gated", f"{self.model} is gated, and the token's account has no access to it", f"{status} with a token",
                       "an account that accepted the licence and was let in", f"accept the licence at {page} with that account; some models "
                       "are released by hand, and a fine-grained token needs the permission to read gated repositories")

    def _missing(self, status: int) -> Refusal:
        who = "the token's account cannot see it" if self._has_token else "it cannot be seen without a token"
        return self._refusal("there is no such repository, or it is private", f"{status}: it does not exist, or {who}",
                             "the name of a repository that can be read", "check the spelling (ORG/NAME, capitals count); if it is private, "
                             "set amd-vllm:hfToken to a token of an account that may read it")

    def _silent(self) -> Refusal:
        return self._refusal(f"the Hub did not answer in {self.timeout:g} s", f"no complete answer from {self._place()}", "an answer of the Hub",
                             "check the network of this machine, HF_ENDPOINT and HTTPS_PROXY; then try again")

    def _unusable(self, found: str) -> Refusal:
        return self._refusal(f"the answer of {self._place()} cannot be used", found, "the metadata of the model",
                             "check HF_ENDPOINT and the proxy; then try again")

    def _refusal(self, what: str, found: str, needed: str, do: str) -> Refusal:
        return Refusal("metadata-missing", f"{self.model}: {what}", found, needed, do)

    def _place(self) -> str:
        """The endpoint without what may be a password in it."""
        parts = urlsplit(self.endpoint)
        return f"{parts.scheme}://{parts.hostname or ''}" + (f":{parts.port}" if parts.port else "")
