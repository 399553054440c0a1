"""Connections to services, and the proxies and certificates they use."""
