"""The judge, a model that graders ask: questions, the protocols of model services, and the client."""
