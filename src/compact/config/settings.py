"""Every setting, its default and its bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, cast

from pydantic import (
    Field,
    PositiveFloat,
    PositiveInt,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    field_validator,
    model_validator,
)

from compact.config.loading import first_with_fallbacks
from compact.errors import ConfigError
from compact.model.policy import Policy
from compact.model.problems import config_error, finding
from compact.model.settings import Settings
from compact.policies import preset as preset_policy

Name = Annotated[str, Field(min_length=1)]

_LARGEST_WINDOW = 10**12
_Section = Mapping[str, Any]


class SummarizerSettings(Settings):
    """Who writes summaries. Keys are named by the variable that holds them, never written down here."""

    name: Literal["auto", "extractive", "openai", "anthropic"] = Field(
        default="auto",
        description="auto: a fast model of the vendor whose key is configured, else extractive.",
    )
    model: str | None = Field(default=None, description="None: the vendor's fast model.")
    base_url: str | None = Field(default=None, description="Any server that speaks the vendor's wire format.")
    api_key_env: str | None = Field(default=None, description="The variable that holds the key.")
    timeout: PositiveFloat | None = Field(
        default=None,
        description="Seconds for one summary. None: 30 for a model's API, 120 for your own summarizer.",
    )
    reuse_prefix: Literal["auto", "on", "off"] = Field(
        default="auto",
        description="First append the request to the prompt that the provider has cached. auto: if the "
        "summarizer is the conversation's own model at the same address.",
    )
    fallback: Literal["embedded", "none"] = Field(
        default="embedded",
        description="What writes the summary if all of these fail: the embedded summarizer, or none "
        "(Compact then prunes without a summary).",
    )
    fallbacks: tuple[SummarizerSettings, ...] = Field(
        default=(), description="Tried in turn if this one fails or its summary is rejected."
    )


class ArchiveSettings(Settings):
    """Where transcripts go before anything is pruned."""

    adapter: Literal["none", "fs", "s3"] = "fs"
    path: Name = Field(default=".compact/archive", description="Folder of the fs adapter.")
    bucket: str | None = None
    prefix: str = "compact"
    region: str | None = None
    endpoint_url: str | None = None
    kms_key: str | None = Field(default=None, description="Encrypt with this KMS key.")
    on_failure: Literal["abort", "queue"] = Field(
        default="abort",
        description="abort: compact nothing; queue: keep the transcript on disk and send it later.",
    )
    spool: Name = Field(
        default=".compact/spool",
        description="Folder for queued transcripts, with a subfolder for each archive.",
    )

    @model_validator(mode="after")
    def _s3_needs_a_bucket(self) -> Self:
        if self.adapter == "s3" and not self.bucket:
            message = "archive.bucket must be set when archive.adapter is 's3'."
            raise finding(ConfigError(message, "archive.bucket"))
        return self


class StorageSettings(Settings):
    """Where sessions live."""

    url: str | None = Field(default=None, description="A database URL; None keeps sessions in memory.")


class RedactionSettings(Settings):
    """What is taken out of everything that leaves the process."""

    enabled: bool = True
    patterns: tuple[Name, ...] = Field(
        default=(), description="Regular expressions, added to the built-in ones."
    )
    pii: tuple[Literal["email", "phone", "card"], ...] = ()


class TracingSettings(Settings):
    """Where events go, besides the in-process stream."""

    console: bool = Field(default=False, description="Print a line per event to standard error.")
    jsonl: Name | None = Field(default=None, description="A file that gets one line of JSON per event.")
    ariadne_url: Name | None = Field(default=None, description="Post spans to `{url}/ingest`.")
    ariadne_timeout: Annotated[float, Field(gt=0.0, le=2.0)] = Field(default=2.0, description="Seconds.")
    ariadne_token_env: str | None = Field(
        default=None, description="The variable that holds the service's token."
    )
    otel: bool = Field(
        default=False, description="Send spans and metrics through your program's OpenTelemetry provider."
    )
    otlp_endpoint: Name | None = Field(
        default=None, description="Without a provider, send spans and metrics here."
    )
    queue_size: PositiveInt = Field(
        default=10_000, description="Events that may wait; beyond that, the oldest is dropped."
    )


class ModelLimits(Settings):
    """Limits of a model that the registry does not know, or knows wrongly."""

    window: PositiveInt
    max_output: PositiveInt | None = None


class CompactConfig(Settings):
    """All settings of Compact. `policy` may be a Policy or a mapping of changes to the preset."""

    model: Name = "gpt-4o"
    max_context_tokens: PositiveInt | None = Field(default=None, description="None: the model's own window.")
    preset: str = "budget"
    policy: Policy = Field(
        default=cast(Any, None), validate_default=True, description="None: the preset's own."
    )
    counter: Literal["auto", "tiktoken", "estimate", "chars4"] = "auto"
    enabled: bool = Field(default=True, description="False: send every prompt unchanged.")
    tenant: Name = Field(default="default", description="Tenants never share records.")
    strip_meta: bool = Field(default=False, description="Remove our `meta` from what preflight returns.")
    summarizer: SummarizerSettings = SummarizerSettings()
    archive: ArchiveSettings = ArchiveSettings()
    storage: StorageSettings = StorageSettings()
    redaction: RedactionSettings = RedactionSettings()
    tracing: TracingSettings = TracingSettings()
    models: dict[str, ModelLimits] = Field(default_factory=dict, description="Limits by model id.")

    if TYPE_CHECKING:
        # What may be passed, where the fields say what comes of it.
        def __init__(
            self,
            *,
            model: str = ...,
            max_context_tokens: int | None = ...,
            preset: str = ...,
            policy: Policy | Mapping[str, Any] | None = ...,
            counter: Literal["auto", "tiktoken", "estimate", "chars4"] = ...,
            enabled: bool = ...,
            tenant: str = ...,
            strip_meta: bool = ...,
            summarizer: str
            | SummarizerSettings
            | _Section
            | Sequence[str | SummarizerSettings | _Section] = ...,
            archive: ArchiveSettings | _Section = ...,
            storage: StorageSettings | _Section = ...,
            redaction: RedactionSettings | _Section = ...,
            tracing: TracingSettings | _Section = ...,
            models: Mapping[str, ModelLimits | _Section] = ...,
        ) -> None: ...
    else:

        def __init__(self, **settings: Any) -> None:
            try:
                super().__init__(**settings)
            except ValidationError as error:
                raise config_error(error, CompactConfig) from None

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy with these changes, checked; another preset brings its own policy, as in `for_model`."""
        if update and "preset" in update:
            update = {"policy": None, **update}
        return super().model_copy(update=update, deep=deep)

    @field_validator("summarizer", mode="before")
    @classmethod
    def _first_of_several(cls, value: Any) -> Any:
        given = value if isinstance(value, list | tuple) else (value,)
        if any(callable(one) or hasattr(one, "summarize") for one in given):
            message = (
                "summarizer must be settings, and got code. "
                "Pass functions and objects to the manager: CompactManager(config, summarizer=…)."
            )
            raise finding(ConfigError(message, "summarizer"))
        return first_with_fallbacks(value)

    @field_validator("max_context_tokens")
    @classmethod
    def _no_endless_window(cls, tokens: int | None) -> int | None:
        if tokens is not None and tokens > _LARGEST_WINDOW:
            path = "max_context_tokens"
            raise finding(ConfigError(f"{path} must be at most {_LARGEST_WINDOW:,}", path))
        return tokens

    @field_validator("preset")
    @classmethod
    def _known_preset(cls, name: str) -> str:
        try:
            preset_policy(name)
        except ConfigError as error:
            raise finding(error) from None
        return name

    @field_validator("policy", mode="wrap")
    @classmethod
    def _on_top_of_preset(
        cls, value: Any, check: ValidatorFunctionWrapHandler, info: ValidationInfo
    ) -> Policy:
        base = preset_policy(info.data.get("preset", "budget"))
        if value is None:
            return base
        try:
            policy: Policy = check(
                base.model_dump() | {str(key): one for key, one in value.items()}
                if isinstance(value, Mapping)
                else value
            )
        except ConfigError as error:
            # A policy reports its own findings; as pydantic errors they join those of the other settings.
            if isinstance(error.__context__, ValidationError):
                raise error.__context__ from None
            raise
        return policy

    @classmethod
    def load(
        cls,
        path: str | PathLike[str] | None = None,
        environ: Mapping[str, str] | None = None,
        overrides: Mapping[str, Any] | None = None,
    ) -> Self:
        """Read a YAML or JSON file, then `COMPACT_*` variables, then `overrides`; later ones win.

        Without a path, `COMPACT_CONFIG` or the first of compact.yaml, compact.yml and compact.json in the
        working directory is read, if there is one. Unknown variables give a `ConfigWarning`.
        """
        from compact.config.loading import load

        return load(cls, path, environ, overrides or {})
