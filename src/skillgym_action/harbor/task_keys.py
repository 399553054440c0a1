"""The keys of ``task.toml`` in its schema 1.4, and the older ones that Harbor still reads."""

from __future__ import annotations

TOP = frozenset(
    {
        *("schema_version", "version", "task", "metadata", "verifier", "agent", "environment", "solution", "source"),
        *("multi_step_reward_strategy", "steps", "artifacts"),
    }
)
PACKAGE = frozenset({"name", "version", "description", "authors", "keywords"})
_NETWORK = frozenset({"network_mode", "allowed_hosts"})
AGENT = _NETWORK | {"timeout_sec", "user"}
VERIFIER = _NETWORK | {"timeout_sec", "env", "user", "environment_mode", "environment", "collect"}
SOLUTION = frozenset({"env"})
ENVIRONMENT = _NETWORK | {
    *("build_timeout_sec", "docker_image", "os", "cpus", "memory_mb", "storage_mb", "memory", "storage", "gpus"),
    *("gpu_types", "tpu", "mcp_servers", "env", "skills_dir", "healthcheck", "workdir", "allow_internet"),
}
HEALTHCHECK = frozenset({"command", "interval_sec", "timeout_sec", "start_period_sec", "start_interval_sec", "retries"})
