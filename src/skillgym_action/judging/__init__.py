"""How sessions are judged: assertions, and the judge, a model that grades."""
